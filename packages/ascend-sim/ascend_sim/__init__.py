# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel ``ascend-sim``: the software device and what needs it, without a container.

    python -m cannery.simulator.wheel --out dist

README.md is the wheel's own; ``../command`` is its command.
"""
