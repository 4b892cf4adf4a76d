# SPDX-License-Identifier: Apache-2.0
"""What the stacks of a training run say: where its ranks stand, and what they wait for."""
