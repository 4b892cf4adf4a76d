# SPDX-License-Identifier: Apache-2.0
"""Keeps the versions that work with this image's CANN, and explains a conflict with them.

cannery_guard.pth loads this module into every Python process of the image, so it must be fast:

- pip: a message about a conflict ends with the held versions, the reasons, and how to change them.
- pip's isolated builds of sdists: they have their own versions, so PIP_CONSTRAINT does not apply.
- ``import torch_npu``: warns if the installed torch is not the image's.
"""

import os
import sys

CONSTRAINTS = "/usr/local/share/cannery/constraints.txt"

HINT = """
This image holds these versions, in {file}:
{held}
To change one of them anyway, which may break the image, unset PIP_CONSTRAINT and try again.
"""

WARNING = """\
cannery: torch {found} is not the torch of this image ({own}); torch_npu was compiled for the latter.
Undefined symbols or wrong results are likely. Install torch=={own} again."""


def words_of_this_process():
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return stream.read().split(b"\0")[:5]
    except OSError:
        return []


def is_isolated_build(words):
    """Whether pip has started this process to install the build requirements of an sdist."""
    return any(os.path.basename(word) == b"__pip-runner__.py" for word in words)


def is_pip(words):
    """Whether this process is 'pip ...' or 'python -m pip ...'."""
    names = [os.path.basename(word) for word in words[:4]]
    return any(name == b"pip" or name.startswith(b"pip3") for name in names)


def held_versions(path):
    """Name to (requirement, reason) of the lines of a constraints file."""
    import re

    found = {}
    try:
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return found
    for line in lines:
        requirement, _, reason = line.partition("  # ")
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name:
            found[name.group().lower()] = (requirement.strip(), reason)
    return found


def add_hint():
    """Make pip end with the constraints that caused a conflict."""
    import atexit
    import logging
    import re

    said = []

    class Hint(logging.Filter):
        def filter(self, record):
            message = record.getMessage()
            # With --quiet only the first of the two is left.
            if "(constraint)" in message or message.startswith("Cannot install "):
                said.append(message)
            return True

    def explain():
        path = os.environ.get("PIP_CONSTRAINT", "")
        if not said or not path:
            return
        text = " ".join(said)
        held = held_versions(path)
        named = re.findall(r"\(constraint\) ([A-Za-z0-9._-]+)", text) or re.findall(
            r"([A-Za-z0-9._-]+)(?:==|[<>~!])", text
        )
        chosen = [held[name.lower()] for name in dict.fromkeys(named) if name.lower() in held]
        if chosen or "(constraint)" in text or held:
            lines = ["  %s%s" % (r, " (%s)" % why if why else "") for r, why in chosen or held.values()]
            sys.stderr.write(HINT.format(file=path, held="\n".join(lines)))

    logging.getLogger("pip._internal.resolution.resolvelib.factory").addFilter(Hint())
    atexit.register(explain)


class TorchWatch:
    """Compares the installed torch with the image's when torch_npu is imported, once."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch_npu":
            sys.meta_path.remove(TorchWatch)
            compare_torch()


def compare_torch():
    import importlib.util

    own = held_versions(CONSTRAINTS).get("torch", ("", ""))[0].partition("==")[2]
    spec = importlib.util.find_spec("torch")
    if not own or spec is None or not spec.submodule_search_locations:
        return
    site = os.path.dirname(spec.submodule_search_locations[0])
    names = [n for n in os.listdir(site) if n.startswith("torch-") and n.endswith(".dist-info")]
    found = names[0][len("torch-") : -len(".dist-info")] if len(names) == 1 else own
    if found.partition("+")[0] != own.partition("+")[0]:
        sys.stderr.write(WARNING.format(found=found, own=own) + "\n")


def main():
    words = words_of_this_process()
    if is_isolated_build(words):
        os.environ.pop("PIP_CONSTRAINT", None)
    elif is_pip(words):
        add_hint()
    else:
        sys.meta_path.insert(0, TorchWatch)


main()
