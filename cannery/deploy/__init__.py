# SPDX-License-Identifier: Apache-2.0
"""From a target to all that runs its image: docker, Compose, Kubernetes and Volcano."""
