# SPDX-License-Identifier: Apache-2.0
"""Waits for the server of process ID argument 1, asks it for a completion and prints the answer."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

SERVER = "http://127.0.0.1:8000"
LONGEST = 1800  # seconds; the server's imports take minutes where its instructions are emulated


def wait(process: int) -> None:
    """Returns when the server says that it is healthy."""
    for _ in range(LONGEST):
        os.kill(process, 0)
        try:
            with urllib.request.urlopen(SERVER + "/health", timeout=60):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    sys.exit("the server did not become healthy")


def main() -> None:
    """Prints the server's answer as JSON, in one line."""
    wait(int(sys.argv[1]))
    asked = {"model": "tiny", "prompt": "after one", "max_tokens": 4, "temperature": 0}
    request = urllib.request.Request(
        SERVER + "/v1/completions",
        data=json.dumps(asked).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LONGEST) as answer:
        print(json.dumps(json.load(answer)))


if __name__ == "__main__":
    main()
