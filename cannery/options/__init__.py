# SPDX-License-Identifier: Apache-2.0
"""The options of every command, each declared once, as a field of a dataclass.

A declaration gives the command line its flag, its values, its default and its help, the pipeline a
typed field, and ``--resume`` what to write down. Nothing here is slow to import.
"""
