# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fetch.child STORE KNOWN SHA256 URL...``: one fetch, to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from cannery.common.bases import Address, File
from cannery.common.errors import CanneryError
from cannery.fetch.fetcher import Terms
from tests.fetch.fetches import fetcher


def main() -> int:
    """Fetch the file; 5 if that fails."""
    store, known, sha256, *urls = sys.argv[1:]
    addresses = tuple(Address(url=url) for url in urls)
    file = File(name="toolkit.run", origin="", sha256=sha256, addresses=addresses)
    if known == "zip":
        file = File(name="toolkit.run", origin="", zip=file)
    try:
        fetcher(Path(store), terms=Terms(first_use=known == "first use")).fetch(file)
    except CanneryError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
