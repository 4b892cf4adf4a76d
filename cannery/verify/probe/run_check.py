# SPDX-License-Identifier: Apache-2.0
"""Runs a command in a container, and measures it. Arguments: the command, and its time in seconds.

Python 3.5, standard library only.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time

MOST = 100000

start = time.time()
process = subprocess.Popen(
    ["/bin/sh", "-c", sys.argv[1]],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    preexec_fn=os.setsid,
)
late = False
try:
    output, _ = process.communicate(timeout=float(sys.argv[2]))
except subprocess.TimeoutExpired:
    late = True
    os.killpg(process.pid, signal.SIGKILL)
    output, _ = process.communicate()
answer = {
    "code": process.returncode,
    "output": output.decode("utf-8", "replace")[-MOST:],
    "seconds": time.time() - start,
    "timed_out": late,
    "peak_kib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
}
print("\ncannery-ran: " + json.dumps(answer))
