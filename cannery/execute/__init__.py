# SPDX-License-Identifier: Apache-2.0
"""Everything that starts a process or talks to the engine."""
