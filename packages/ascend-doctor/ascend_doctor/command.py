# SPDX-License-Identifier: Apache-2.0
"""The command line of ``ascend-doctor``: its subcommands, and the checks that need none."""

from __future__ import annotations

import argparse
import os
import sys
from types import ModuleType
from typing import Any, Mapping, Sequence

from . import __version__
from .commands import align, nan_hunt, ranktable, smoke, stuck
from .examine import describe, examine
from .explain import explain, near
from .fixes import FIXES
from .host import Host
from .log_report import examine_logs
from .machine import IMAGE, Machine
from .nodes import NodeError, compare_nodes, read_node
from .packed import LogError
from .partners import packed_facts
from .plain_text import printable
from .problems import Problem, ProblemError, UsageError, did_you_mean
from .report import as_json, as_text, exit_code, log_text, summary
from .table import filled_in, load_table

WRONG_USE = 2
UNREADABLE = 9
REFUSED = 1
INTERRUPTED = 130

COMMANDS: dict[str, ModuleType] = {
    "align": align,
    "nan-hunt": nan_hunt,
    "stuck": stuck,
    "smoke": smoke,
    "ranktable": ranktable,
}
"""The subcommands that have options of their own."""

_OPTIONS = ("log", "nodes", "fix")
_CHECK, _EXPLAIN = "check", "explain"
"""Words for what needs no subcommand: the checks of a host or a log, and ``--explain``."""


def main(
    argv: Sequence[str] | None = None,
    host: Host | None = None,
    facts: Mapping[str, Any] | None = None,
) -> int:
    """Do what ``argv`` asks for, and return the exit code."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    try:
        if words and words[0] in COMMANDS:
            code: int = COMMANDS[words[0]].main(words[1:])
        else:
            options = _parser().parse_args(_without_command(words))
            code = run(options, host or Host(), packed_facts() if facts is None else facts)
        sys.stdout.flush()
        return code
    except (NodeError, LogError) as error:
        print(f"ascend-doctor: {error}", file=sys.stderr)
        return UNREADABLE
    except ProblemError as error:
        for problem in error.problems:
            print(printable(f"ascend-doctor: {problem}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python writes the rest at its end, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _without_command(words: list[str]) -> list[str]:
    """The options that ``words`` stand for where they begin with ``check`` or ``explain``.

    Raises:
        UsageError: they begin with a word that is no command.
    """
    if not words or words[0].startswith("-"):
        return words
    if words[0] == _CHECK:
        return words[1:]
    if words[0] == _EXPLAIN:
        return ["--explain", *words[1:]]
    hint = did_you_mean(words[0], [*COMMANDS, _CHECK, _EXPLAIN])
    if words[0] in _OPTIONS:
        hint = f"It is an option: --{words[0]}."
    raise UsageError(Problem(f"unknown command {words[0]!r}.", hint))


def run(options: argparse.Namespace, host: Host, facts: Mapping[str, Any]) -> int:
    """Do what the options ask for, and return the exit code.

    Raises:
        NodeError, LogError: a file cannot be used.
    """
    if options.explain:
        return _explain(options.explain, as_document=options.json)
    if options.log:
        return _log(options.log, options.target, as_document=options.json)
    if options.nodes:
        return _nodes(options.nodes, as_document=options.json)
    machine = Machine(host, facts, options.cann)
    if options.fix:
        return _fix(options.fix, machine, agreed=options.yes)
    table = load_table()
    findings = [filled_in(table[each.id], each.values) for each in examine(machine)]
    _show(findings, as_document=options.json, host=describe(machine))
    return exit_code(findings)


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {each.SUMMARY}" for name, each in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="ascend-doctor",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [check] [OPTION ...] | %(prog)s COMMAND ...",
        description="Finds what is wrong with an Ascend host, a container, or a failed run.\n\n"
        "commands, each with --help:\n"
        + "\n".join([f"  {_CHECK:{width}}  the checks of this host, which need no word", *lines]),
        epilog="Exit code: 0 nothing or notes, 1 warnings, 8 errors or a run that failed, 2 wrong "
        "use, 9 unreadable file. Without --fix, nothing is changed.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version="ascend-doctor " + __version__)
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument(
        "--cann", default="", metavar="VERSION", help="the CANN to judge the driver for"
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--explain", metavar="CODE", help="explain an error code, a message, a symbol or a library"
    )
    chosen.add_argument(
        "--log",
        metavar="FILE",
        action="append",
        help="say why a run failed; several times for several logs, a folder of logs, or - for "
        "standard input",
    )
    chosen.add_argument("--nodes", metavar="FILE", nargs="+", help="compare reports of --json")
    chosen.add_argument("--fix", metavar="NAME", choices=FIXES, help="; ".join(_fix_help()))
    parser.add_argument(
        "--target",
        metavar="FILE",
        default=IMAGE if os.path.isfile(IMAGE) else "",
        help="with --log: target.json of the image of the run, whose versions are then shown",
    )
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask")
    return parser


def _fix_help() -> list[str]:
    return [f"{name}: {fix.summary}" for name, fix in FIXES.items()]


def _show(findings: list[dict[str, Any]], *, as_document: bool, **parts: Any) -> None:
    if as_document:
        print(as_json(**parts, findings=findings))
        return
    if findings:
        print(as_text(findings))
        print()
    print(f"ascend-doctor: {summary(findings)}.")


def _explain(code: str, *, as_document: bool) -> int:
    table = load_table()
    rows = explain(code, table)
    if not rows:
        names = near(code, table)
        hint = " Did you mean {}?".format(", ".join(repr(name) for name in names)) if names else ""
        print(f"ascend-doctor: {code!r} is unknown.{hint}", file=sys.stderr)
        return WRONG_USE
    print(as_json(findings=rows) if as_document else as_text(rows))
    return 0


def _log(paths: list[str], target: str, *, as_document: bool) -> int:
    report = examine_logs(paths, target)
    print(as_json(**report) if as_document else log_text(report))
    return exit_code(report["findings"])


def _nodes(paths: Sequence[str], *, as_document: bool) -> int:
    table = load_table()
    nodes = [read_node(path) for path in paths]
    findings = [filled_in(table[each.id], each.values) for each in compare_nodes(nodes)]
    _show(findings, as_document=as_document, nodes=[name for name, _ in nodes])
    return exit_code(findings)


def _fix(name: str, machine: Machine, *, agreed: bool) -> int:
    steps = FIXES[name].plan(machine)
    if not steps:
        print(f"ascend-doctor: nothing to do for {name}.")
        return 0
    print(f"--fix {name} will:")
    for step in steps:
        print(f"  {step.what}")
    sys.stdout.flush()
    if not agreed and not _confirmed():
        print("ascend-doctor: nothing was changed; confirm with --yes.", file=sys.stderr)
        return REFUSED
    failed = 0
    for step in steps:
        try:
            step.do()
        except OSError as error:
            failed += 1
            print(f"ascend-doctor: {step.what}: {error.strerror}", file=sys.stderr)
    print(f"ascend-doctor: {len(steps) - failed} of {len(steps)} done.")
    return UNREADABLE if failed else 0


def _confirmed() -> bool:
    if not sys.stdin or not sys.stdin.isatty():
        return False
    try:
        return input("Proceed? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
