# SPDX-License-Identifier: Apache-2.0
"""Makes build.py use the simulated device where a job has an NPU.

Python imports this module at its start if this folder is on PYTHONPATH. Only tests/workflow_jobs
puts it there, and the project has no option or variable that does the same.
"""

from __future__ import annotations

import sys

_WORDS = {
    "build": ["--simulate"],
    "ci": ["--simulate"],
    "test": ["--simulate"],
    "push": ["--simulate", "--allow", "simulated"],
}

if len(sys.argv) > 1 and sys.argv[0] == "build.py":
    sys.argv[2:2] = _WORDS.get(sys.argv[1], [])
