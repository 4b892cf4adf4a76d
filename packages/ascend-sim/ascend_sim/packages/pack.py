# SPDX-License-Identifier: Apache-2.0
"""Packs a compiled software Ascend device the way the vendor packs CANN.

    python3 pack.py --spec SPEC.json --device DIR --out DIR

Standard library only, Python 3.9 or later. README.md beside this file describes the result.
"""

import runpy

runpy.run_module("packer", run_name="__main__")
