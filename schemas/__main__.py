# SPDX-License-Identifier: Apache-2.0
"""``python -m schemas`` writes the schemas of the YAML files beside this module."""

from __future__ import annotations

import sys
from pathlib import Path

from cannery.common.errors import CanneryError
from cannery.common.files import write_files
from schemas.files import FOLDER, schema_files


def main(folder: Path = FOLDER) -> int:
    """Write every schema into ``folder``; return the exit code, as docs/reference.md has it."""
    try:
        write_files(schema_files(folder))
    except CanneryError as error:
        for problem in error.problems:
            print(f"schemas: {problem}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
