# SPDX-License-Identifier: Apache-2.0
"""Keeps the versions that work with this image's CANN, and explains a conflict with them.

cannery_guard.pth and sitecustomize.py load this module into every Python process of the image, so it
must be fast:

- pip: a message about a conflict ends with the held versions, the reasons, and how to change them.
- pip's isolated builds of sdists: they have their own versions, so PIP_CONSTRAINT does not apply.
- ``import torch`` and so on, and the end of pip: warns if the version is not the image's, also in a
  virtual environment, which pip's and uv's constraints may not have reached; and if there are two.
- a user without an account: has a home directory that it can write to.
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
cannery: {name} {found} is not the {name} of this image ({own}), which fits its CANN. It is in
  {site}
Undefined symbols or wrong results are likely. Install {name}=={own} again; in a virtual environment
use the image's ('--system-site-packages'). To hide this warning, set CANNERY_GUARD=off.
"""

TWICE = """\
cannery: {name} is installed twice, as {versions}: one wheel was unpacked over another, or an upgrade
left the older one's metadata. Crashes or wrong results are likely if files of both are in
  {site}
Install {name}=={own} again:
  rm -r {site}/{name} {site}/{name}-*.dist-info
  pip install --force-reinstall --no-deps {name}=={own}
To hide this warning, set CANNERY_GUARD=off.
"""

NOT_FOUND = "Could not find a version "

WATCHED = {
    "torch": ("torch",),
    "torch_npu": ("torch", "torch_npu"),
    "mindspore": ("mindspore",),
}
"""A module to the packages that are compared when it is imported."""

SWITCH = "CANNERY_GUARD"

RUNNER = b"__pip-runner__.py"

compared = set()


def words_of_this_process():
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return stream.read().split(b"\0")[:8]
    except OSError:
        return []


def is_isolated_build(words):
    """Whether pip has started this process to install the build requirements of an sdist.

    pip starts the same program for another Python (--python, PIP_PYTHON), with the user's words.
    """
    return (
        any(os.path.basename(word) == RUNNER for word in words[:4])
        and b"--ignore-installed" in words
        and any(b"/pip-build-env-" in word for word in words)
    )


def is_pip(words):
    """Whether this process is 'pip ...', 'python -m pip ...' or one that pip has started."""
    names = [os.path.basename(word) for word in words[:4]]
    return any(name in (b"pip", RUNNER) or name.startswith(b"pip3") for name in names)


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
            # With --quiet only the first of the two is left. The last is that of pip before 21.
            if "(constraint)" in message or message.startswith(("Cannot install ", NOT_FOUND)):
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
        if chosen or (held and not text.startswith(NOT_FOUND)):
            lines = [
                "  %s%s" % (r, " (%s)" % why if why else "") for r, why in chosen or held.values()
            ]
            sys.stderr.write(HINT.format(file=path, held="\n".join(lines)))

    logging.getLogger("pip._internal.resolution.resolvelib.factory").addFilter(Hint())
    atexit.register(explain)


def image_version(name):
    """The version of a package in the image's constraints, or nothing."""
    for requirement, _ in held_versions(CONSTRAINTS).values():
        package, _, version = requirement.partition("==")
        if package.replace("-", "_").lower() == name:
            return version
    return ""


def warn_of(name):
    """Warn once if this Python imports a package in two versions, or another than the image's."""
    from importlib.machinery import PathFinder

    if name in compared or os.environ.get(SWITCH):
        return
    compared.add(name)
    own = image_version(name)
    # Other finders are not asked: that of pip 26.3 refuses all imports after an installation.
    spec = PathFinder.find_spec(name) if own else None
    if spec is None or not spec.submodule_search_locations:
        return
    site = os.path.dirname(next(iter(spec.submodule_search_locations)))
    names = [n for n in os.listdir(site) if n.startswith(name + "-") and n.endswith(".dist-info")]
    found = sorted(n[len(name) + 1 : -len(".dist-info")] for n in names) or [own]
    # A build for another device has the same version without "+cpu", or with another one.
    is_own = found[0] == own or ("+" not in own and found[0].partition("+")[0] == own)
    if len(found) > 1 or not is_own:
        text = TWICE if len(found) > 1 else WARNING
        versions = " and ".join(found)
        sys.stderr.write(
            text.format(name=name, found=found[0], versions=versions, own=own, site=site)
        )
        os.environ[SWITCH] = "warned"  # so that no process that this one starts repeats it


def warn_after_pip():
    import importlib

    importlib.invalidate_caches()
    for name in WATCHED:
        warn_of(name)


class Watch:
    """Compares the packages with the image's when one of them is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        for each in WATCHED.get(name, ()):
            warn_of(each)


def give_home():
    """Replace the home directory '/', which a container has for a user without an account."""
    user = os.getuid()
    if user and os.environ.get("HOME", "/") == "/":
        os.environ["HOME"] = "/tmp"
        os.environ.setdefault("USER", "user%d" % user)


def main():
    give_home()
    words = words_of_this_process()
    if is_isolated_build(words):
        os.environ.pop("PIP_CONSTRAINT", None)
    elif is_pip(words):
        import atexit

        atexit.register(warn_after_pip)
        add_hint()
    else:
        sys.meta_path.insert(0, Watch)


main()
