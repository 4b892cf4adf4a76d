# SPDX-License-Identifier: Apache-2.0
"""Loads the guard into Pythons that do not have it: virtual environments, uv's, conda's.

The image's PYTHONPATH names this folder. Python loads one module of this name, so this one also
loads the next one on the path, such as that of the distribution.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

import cannery_guard


def load_next():
    own = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder) != own]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


load_next()
