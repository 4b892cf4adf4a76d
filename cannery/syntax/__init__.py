# SPDX-License-Identifier: Apache-2.0
"""How versions, requirements and YAML files are read, with the line of every value."""
