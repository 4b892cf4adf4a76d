# SPDX-License-Identifier: Apache-2.0
"""``build.py new``: propose a target that is known to work, and with --write add it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile

from cannery.cli.command import Command
from cannery.common import console
from cannery.common.files import write_files
from cannery.common.model import MACHINE_OF, USUAL_CHIP, Target, chip_named
from cannery.common.option import OptionSet, flag, matching, option
from cannery.compat.files import load_archives
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from cannery.matrix.text import MatrixText
from cannery.update.choice import Choice, NewOptions, choose, with_whole_versions
from cannery.update.propose import propose, target_id
from cannery.update.siblings import judged


@dataclass(frozen=True, kw_only=True)
class TypedNewOptions(NewOptions, OptionSet):
    """What a new target has; an empty field is for the newest version that fits.

    ``python`` may have a patch level. ``machine`` is the architecture, as ``uname -m`` names it.
    """

    python: str = option(
        "the Python version, as in 3.10 or 3.10.14",
        metavar="X.Y",
        parse=matching(r"3\.[0-9]+(\.[0-9]+)?", "Python version", "3.10 or 3.10.14"),
    )
    torch: str = option(
        "the torch version, as in 2.6.0, or a series of it, as in 2.6",
        default="",
        metavar="VERSION",
        parse=matching(r"([0-9]+\.[0-9]+(\.[0-9]+)?)?", "torch version", "2.7.1"),
        default_text="the newest that fits",
    )
    cann: str = option(
        "the CANN version, as in 8.3.RC1, or a series of it, as in 9.1",
        default="",
        metavar="VERSION",
        default_text="the newest that fits",
    )
    chip: str = option(
        "the chip by any of its names, as 910b, A2, Ascend910B1, A3, 910_93, A5, 950 or 310P",
        default=USUAL_CHIP,
        metavar="NAME",
        parse=chip_named,
    )
    platform: str = option(
        "the image's platform", default="linux/arm64", choices=("linux/arm64", "linux/amd64")
    )
    deepspeed: str = option(
        "the DeepSpeed version, or none",
        default="",
        metavar="VERSION",
        parse=matching(r"([0-9]+\.[0-9]+\.[0-9]+|none)?", "DeepSpeed version", "0.15.0, or none"),
        default_text="the version that is advised for this torch",
    )
    apex: bool = flag("add apex, whose wheel you have to provide")
    id: str = option(
        "the id of the target",
        default="",
        metavar="ID",
        parse=matching(r"([a-z0-9]+([._-][a-z0-9]+)*)?", "id", "py310-mine"),
        default_text="made from the versions",
    )
    write: bool = flag("add it to matrix.yaml; nothing else in the file changes")


COMMAND = Command(
    description="Picks the newest CANN, torch and torch_npu that are known to work with the "
    "given versions, with kernels, NNAL and DeepSpeed, and prints the lines for matrix.yaml. "
    "Only --python is required.",
    reads="matrix.yaml and compat.yaml",
    writes="with --write matrix.yaml",
    example="new --python 3.12 --torch 2.8.0 --write",
    options=TypedNewOptions,
    quick=True,
)


def run(options: TypedNewOptions, project: Project) -> None:
    """Print the YAML that matrix.yaml lacks; with --write put it there.

    The result is loaded and checked before it is shown or written: what is printed is valid.
    """
    options = replace(options, machine=MACHINE_OF[options.platform.split("/")[1]])
    with project.editing() if options.write else nullcontext():
        _add(options, project)


def _add(options: TypedNewOptions, project: Project) -> None:
    targets = load_matrix(project.matrix_file).targets
    before, compat = project.files(), project.compat()
    matrix = MatrixText(before)
    options = with_whole_versions(options, compat, matrix)
    choice = choose(options, compat, matrix)
    if not options.id and (existing := _existing(options, choice, targets)):
        name, torch_npu = existing.id, existing.torch_npu
        print(f"you have it: {name} ({existing.summary})")
        if torch_npu != (newer := choice.combination.torch_npu):
            console.say(f"it has torch_npu {torch_npu}, and {newer} is the newest for it")
        console.say(f"build it: python build.py build {name}; or add another one with --id NAME")
        return
    proposal = propose(options, compat, matrix, load_archives(), targets)
    for where, lines in proposal.entries:
        matrix.add(where, lines)
    judged(matrix.files, compat)
    for line in proposal.notes:
        console.say(line)
    if not options.write:
        opened: tuple[str, ...] = ()
        for where, entry in proposal.entries:
            # The sections that it belongs to, as they would be in matrix.yaml.
            pairs = zip(opened, where, strict=False)
            shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
            for depth in range(shared, len(where)):
                print("  " * depth + where[depth] + ":")
            for line in entry:
                print("  " * len(where) + line)
            opened = where
        console.say("nothing was written; add --write to put this into matrix.yaml")
        return
    changed = {name: text for name, text in matrix.files.items() if text != before[name]}
    write_files({project.root / name: text for name, text in changed.items()})
    console.say(f"added {proposal.id} to {' and '.join(changed)}")
    console.say(f"now run: python build.py sync, and then: python build.py build {proposal.id}")


def _existing(
    options: TypedNewOptions, choice: Choice, targets: Mapping[str, Target]
) -> Target | None:
    """The target without an application that is what ``choice`` would add, or has its id.

    One with the DeepSpeed that would be added goes first; any has what was asked for by name.
    """
    known = choice.combination
    same = [
        target
        for target in targets.values()
        if (target.python.minor, target.torch, target.torch_npu, target.chip, target.platform)
        == (known.python, known.torch, known.torch_npu, options.chip, options.platform)
        and options.python in (target.python.minor, target.python.version)
        and target.cann.version in (options.cann, str(known.cann))
        and not (target.application or target.requirements or target.without_compiler)
        and bool(target.apex) >= options.apex
        and (not options.deepspeed or target.deepspeed == choice.deepspeed)
    ]
    cann = options.cann or str(known.cann)
    same_id = targets.get(target_id(options.minor, known.torch, cann, options.chip))
    return min(same, key=lambda target: target.deepspeed != choice.deepspeed, default=same_id)
