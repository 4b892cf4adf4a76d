# SPDX-License-Identifier: Apache-2.0
"""The program ``ascend-doctor``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
