# SPDX-License-Identifier: Apache-2.0
"""docker and buildx: bases, builds, containers. The only folder that talks to an engine."""
