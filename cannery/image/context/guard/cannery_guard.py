# SPDX-License-Identifier: Apache-2.0
"""Explains pip's refusal to move what fits this image's CANN.

pip names the constraint that it obeys, and not the file that it comes from. This is loaded by every
Python of the image (cannery_guard.pth), so it does nothing at all unless the program is pip.
"""

import os

HINT = """
torch, torch_npu and numpy fit this image's CANN and are held by
{file}.
To move one of them on purpose, which may break the image: unset PIP_CONSTRAINT, and try again."""


def runs_pip():
    """Whether this process is 'pip ...' or 'python -m pip ...'."""
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            words = stream.read().split(b"\0")[:4]
    except OSError:
        return False
    names = [os.path.basename(word) for word in words]
    return any(name == b"pip" or name.startswith(b"pip3") for name in names)


def add_hint():
    """Let pip's message about a constraint end with where the constraint is."""
    import logging

    class Hint(logging.Filter):
        def filter(self, record):
            message = record.getMessage()
            if "(constraint)" in message:
                hint = HINT.format(file=os.environ.get("PIP_CONSTRAINT", "a constraints file"))
                record.msg, record.args = message + hint, ()
            return True

    logging.getLogger("pip._internal.resolution.resolvelib.factory").addFilter(Hint())


if runs_pip():
    add_hint()
