# SPDX-License-Identifier: Apache-2.0
"""Requirements to locked wheels, and proposals of newer versions."""
