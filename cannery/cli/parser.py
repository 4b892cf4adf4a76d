# SPDX-License-Identifier: Apache-2.0
"""What can be typed. Nothing heavy is imported until a command runs, so that help is quick."""

from __future__ import annotations

import argparse
from typing import NoReturn

from cannery import __version__
from cannery.cli.build_options import add_build_options
from cannery.cli.catalog_options import add_catalog_options
from cannery.cli.ci_options import add_ci_options
from cannery.cli.publish_options import add_promote_options, add_prune_options, add_push_options
from cannery.cli.run_options import add_run_options
from cannery.errors import UsageError, did_you_mean

_EPILOG = """\
examples:
  python build.py --target py39-torch231-cann8t39 --simulate   build and check on a software device
  python build.py --target 'py39-*' --artifacts /data/cann     build from vendor files
  python build.py --all --plan                                 show what would be built, and why
  python build.py --resume                                     go on with what was interrupted
  python build.py push --target ID --registry registry.example.com   publish an image
  python build.py list                                         show the targets

exit codes:
  0 done  2 wrong use  3 matrix or lock  4 out of sync or out of date  5 vendor files
  6 engine, registry  7 build failed  8 a check failed  9 files  10 publishing refused
  130 interrupted
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message += "" if message.endswith(("?", ".")) else "."
        raise UsageError(f"{message} '{self.prog} --help' shows what there is.")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), [str(choice) for choice in action.choices])
            raise argparse.ArgumentError(action, f"there is no {value!r}. {hint}".rstrip())


def make_parser() -> argparse.ArgumentParser:
    """The parser; every command sets ``run`` to a function that takes the parsed options."""
    parser = _Parser(
        prog="build.py",
        description="Builds and checks container images for Huawei Ascend NPUs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cannery {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _add_build(commands)
    _add_test(commands)
    _add_run(commands)
    _add_list(commands)
    _add_check(commands)
    _add_explain(commands)
    _add_new(commands)
    _add_render(commands)
    _add_lock(commands)
    _add_update(commands)
    _add_ci(commands)
    text = "write the table of all images, and a page to choose from"
    add_catalog_options(_command(commands, "catalog", text, "cmd_catalog"))
    _add_publishing(commands)
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def _command(commands: _Commands[_Parser], name: str, text: str, module: str) -> _Parser:
    def run(options: argparse.Namespace) -> int:
        from importlib import import_module

        code: int = import_module(f"cannery.cli.{module}").run(options)
        return code

    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def _add_targets(parser: _Parser, *, required: bool, otherwise: str = " (default: all)") -> None:
    parser.add_argument(
        "--target",
        action="append",
        required=required,
        default=None if required else [],
        metavar="ID",
        help="a target or a glob such as 'py39-*'; may be given several times"
        + ("" if required else otherwise),
    )
    parser.add_argument(
        "--where",
        action="extend",
        nargs="+",
        default=[],
        metavar="KEY=VERSION",
        help="of those, only targets with this: python=3.9, cann=8.0.RC2, torch=2.3.1, chip=910b",
    )


def _add_simulate(parser: _Parser) -> None:
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="take a software device in place of CANN and driver; the image's tag ends in -sim",
    )


def _add_verbose(parser: _Parser) -> None:
    parser.add_argument("--verbose", action="store_true", help="show the details, too")


def _add_ca(parser: _Parser) -> None:
    parser.add_argument(
        "--ca",
        default="",
        metavar="FILE",
        help="certificates to trust for downloads; never in an image (default: "
        "PIP_CERT, SSL_CERT_FILE or REQUESTS_CA_BUNDLE, else what this machine trusts)",
    )


def _add_build(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "build", "build images, check them, then name them", "cmd_build")
    parser.description = (
        "Builds all selected targets at once, what they share once, and checks and names each "
        "image. What is up to date is left alone. A target that fails does not stop the others."
    )
    _add_targets(parser, required=False, otherwise="")
    _add_simulate(parser)
    _add_ca(parser)
    _add_verbose(parser)
    add_build_options(parser)


def _add_test(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "test", "check images that are built already", "cmd_test")
    _add_targets(parser, required=True)
    _add_simulate(parser)
    parser.add_argument(
        "--image", default="", metavar="NAME", help="check this image in place of the target's own"
    )
    parser.add_argument(
        "--component",
        action="append",
        default=[],
        metavar="NAME",
        help="check this component only; may be given several times",
    )
    _add_ca(parser)
    _add_verbose(parser)
    parser.set_defaults(index_url="")


def _add_run(commands: _Commands[_Parser]) -> None:
    parser = _command(
        commands, "run", "start a container with what it needs of the host", "cmd_run"
    )
    _add_targets(parser, required=True)
    _add_simulate(parser)
    add_run_options(parser)


def _add_list(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "list", "show the targets", "cmd_list")
    _add_targets(parser, required=False)
    _add_verbose(parser)
    parser.add_argument(
        "--format",
        choices=("table", "json", "names"),
        default="table",
        help="for people, for programs, or one id a line (default: table)",
    )


def _add_check(commands: _Commands[_Parser]) -> None:
    parser = _command(
        commands, "check", "see whether the targets are known to work together", "cmd_check"
    )
    parser.description = (
        "Compares every target with what compat.yaml knows of torch, torch_npu, CANN, Python, "
        "NNAL, apex, DeepSpeed and their packages. Says what is wrong, why, by which source, and "
        "which known combinations are nearest. Builds nothing and needs no engine."
    )
    _add_targets(parser, required=False)


def _add_explain(commands: _Commands[_Parser]) -> None:
    parser = _command(
        commands, "explain", "show which source allows each part of a target", "cmd_explain"
    )
    parser.description = (
        "For each component of a target: the row of compat.yaml that allows it, with its source "
        "and date, and where sources disagree both sides."
    )
    parser.add_argument(
        "targets", nargs="+", metavar="TARGET", help="a target or a glob such as 'py39-*'"
    )


def _add_new(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "new", "propose a target that is known to work", "cmd_new")
    parser.description = (
        "Picks the newest CANN, torch and torch_npu that are known to fit what you ask for, with "
        "kernels, NNAL and DeepSpeed, and prints what matrix.yaml needs. Only --python must be "
        "given: python build.py new --python 3.10 --torch 2.6.0 --write"
    )
    parser.add_argument(
        "--python", required=True, metavar="X.Y", help="the Python, as 3.10 or 3.10.14"
    )
    parser.add_argument(
        "--torch", default="", metavar="VERSION", help="the torch, as 2.6.0 (default: the newest)"
    )
    parser.add_argument(
        "--cann", default="", metavar="VERSION", help="the CANN, as 8.3.RC1 (default: the newest)"
    )
    parser.add_argument(
        "--chip", default="910b", metavar="NAME", help="910b, a3, 910 or 310p (default: 910b)"
    )
    parser.add_argument(
        "--deepspeed",
        default="",
        metavar="VERSION",
        help="the DeepSpeed, or none (default: what is advised for that torch)",
    )
    parser.add_argument(
        "--apex", action="store_true", help="with apex, whose wheel you have to bring"
    )
    parser.add_argument(
        "--id", default="", metavar="ID", help="the target's name (default: made from the versions)"
    )
    parser.add_argument(
        "--write", action="store_true", help="put it into matrix.yaml; what is there stays as it is"
    )


def _add_render(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "render", "write images/ from matrix.yaml", "cmd_render")
    _add_targets(parser, required=False)
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if images/ is not what it would be",
    )


def _add_lock(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "lock", "resolve the wheels of targets and pin them", "cmd_lock")
    _add_targets(parser, required=False)
    parser.add_argument(
        "--upgrade",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="move this package to its newest version that fits; may be given several times",
    )


def _add_update(commands: _Commands[_Parser]) -> None:
    parser = _command(
        commands, "update", "show which newer versions the package index has", "cmd_update"
    )
    parser.description = (
        "Asks the package index for torch, torch_npu and DeepSpeed, and shows what is newer than "
        "matrix.yaml and compat.yaml know, and which targets it would change. No index tells "
        "which CANN a torch_npu is for: where compat.yaml has no row for it, you are asked for one."
    )
    _add_targets(parser, required=False)
    parser.add_argument(
        "--write",
        action="store_true",
        help="put into matrix.yaml what compat.yaml knows to work; all else there stays as it is",
    )
    parser.add_argument(
        "--deepspeed",
        action="store_true",
        help="move DeepSpeed too, where the newest one of these targets is used",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; end with code 4 if something is newer (a torch that no torch_npu "
        "exists for yet, and what sources disagree on, do not count)",
    )
    _add_ca(parser)
    parser.add_argument(
        "--index-url",
        default="",
        metavar="URL",
        help="package index to ask (default: UV_DEFAULT_INDEX or PIP_INDEX_URL, else what pip is "
        "set to)",
    )


def _add_ci(commands: _Commands[_Parser]) -> None:
    parser = _command(commands, "ci", "print the jobs of a CI run", "cmd_ci")
    _add_targets(parser, required=False)
    _add_simulate(parser)
    add_ci_options(parser)


def _add_publishing(commands: _Commands[_Parser]) -> None:
    push = _command(commands, "push", "publish images that are built and checked", "cmd_push")
    push.description = (
        "Uploads the selected images by digest, pulls them back, tries them out, writes a record "
        "below releases/, and only then moves tags. Whatever fails, no tag has moved. "
        "docs/publishing.md tells more."
    )
    _add_targets(push, required=True)
    _add_simulate(push)
    add_push_options(push)
    text = "copy a published image to another registry"
    add_promote_options(_command(commands, "promote", text, "cmd_promote"))
    text = "delete from a registry what nothing needs any more"
    add_prune_options(_command(commands, "prune", text, "cmd_prune"))
