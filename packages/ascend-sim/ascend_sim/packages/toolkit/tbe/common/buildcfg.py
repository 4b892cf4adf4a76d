# SPDX-License-Identifier: Apache-2.0
"""Simulated: nothing is built."""

from __future__ import annotations

build_config: dict[str, object] = {}
