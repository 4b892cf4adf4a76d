# SPDX-License-Identifier: Apache-2.0
"""Requirements to locked wheels, and the versions that package indexes have."""
