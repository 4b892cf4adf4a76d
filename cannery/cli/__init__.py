# SPDX-License-Identifier: Apache-2.0
"""The command line: one file a command; errors become text and an exit code here."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cannery.cli import results
from cannery.cli.find_project import find_project, project_option
from cannery.cli.parser import DEFAULT, parse
from cannery.common.errors import INTERRUPTED, CanneryError, EngineError, FileError
from cannery.common.outside import printable
from cannery.common.tool import CHECKOUT, INSTALLED


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run the command that ``argv`` names and return the exit code; see docs/reference.md.

    ``root`` is the checkout that the command is about, unless ``argv`` has --project. Without both
    it is the project of the working directory.
    """
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt_again)
    sys.unraisablehook = _unraisable
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    results.begin()
    as_json = results.wanted(arguments)
    try:
        code = _run(arguments, root)
        sys.stdout.flush()
        return code
    except CanneryError as error:
        return _fail(error, as_json=as_json)
    except ImportError as error:
        if not error.name or error.name.partition(".")[0] == "cannery":
            raise
        what = f"{sys.executable} has no module {error.name!r}."
        if not isinstance(error, ModuleNotFoundError):
            reason = str(error).partition(" (")[0]
            what = f"{sys.executable} cannot use its module {error.name!r}: {reason}."
        fix = "Install cannery again, with what it needs."
        if not INSTALLED:
            fix = (
                "Install the requirements of build.py into a virtual environment, and use its "
                f"Python:\n    bash {CHECKOUT}/setup.sh --venv && . {CHECKOUT}/.venv/bin/activate"
            )
        return _fail(EngineError(f"{what} {fix}"), as_json=as_json)
    except KeyboardInterrupt:
        _tell("interrupted; what was running has been stopped.")
        return INTERRUPTED
    except OSError as error:
        if error.errno is None:
            raise
        is_unread = isinstance(error, BrokenPipeError) and _reader_has_gone()
        _drop_output()
        if is_unread:
            return 0
        place = f"{error.filename}: " if error.filename else ""
        reason = f"{place}{os.strerror(error.errno).lower()}."
        _tell(f"{reason} Check disk space and permissions, then retry.")
        return FileError.exit_code


def _fail(error: CanneryError, *, as_json: bool) -> int:
    """Say why the run fails: as text, and for programs as the only document of stdout."""
    for problem in error.problems:
        _tell(str(problem))
    if as_json:
        # A reader that has gone wants no document.
        with suppress(OSError):
            results.show_errors(error.problems, error.exit_code)
            sys.stdout.flush()
    return error.exit_code


def _run(arguments: list[str], root: Path | None) -> int:
    if sys.stdout is None:
        # Its number would be given to the next file that is opened, and written to.
        raise FileError("standard output is closed.")
    folder, arguments = project_option(arguments)
    if arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version"):
        arguments.insert(0, DEFAULT)
    try:
        command, given = parse(arguments)
    except SystemExit:
        # How argparse ends after --help and --version.
        return 0
    if command.without_project:
        return command.run(given, folder or root or Path.cwd())
    return command.run(given, find_project(folder) if folder or not root else root)


def _tell(message: str) -> None:
    # Imported here, because help does not need it.
    from cannery.common import console

    console.error(printable(message))


def _reader_has_gone() -> bool:
    """Whether nobody reads the output any more, as with 'build.py list | head'."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))


def _drop_output() -> None:
    """Drop the output that is not written yet, so that Python does not report it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _unraisable(dropped: sys.UnraisableHookArgs) -> None:
    """Interrupt again soon where Python drops an interrupt, as in callbacks of an import."""
    if dropped.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(dropped)


def _interrupt_again(_signal: int, _frame: object) -> None:
    # As a signal that can be held back while tags are put back.
    os.kill(os.getpid(), signal.SIGINT)
