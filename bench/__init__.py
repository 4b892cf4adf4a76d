# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that the README quotes: ``python -m bench --help``."""
