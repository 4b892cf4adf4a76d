# SPDX-License-Identifier: Apache-2.0
"""``build.py new``: propose a target that is known to work, and with --write add it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import takewhile

from cannery.cli import results
from cannery.cli.command import Command
from cannery.common import console
from cannery.common.files import now
from cannery.common.model import Target
from cannery.common.option import flag
from cannery.compat.files import load_archives
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from cannery.matrix.text import MatrixText
from cannery.options import FORMAT, NewOptions
from cannery.update.new_target import Choice, choose, judged, propose, warnings


@dataclass(frozen=True, kw_only=True)
class TypedNewOptions(NewOptions):
    """A new target, and whether to write it."""

    write: bool = flag("add it to matrix.yaml; nothing else in the file changes")
    format: str = FORMAT.field()


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
    with project.editing() if options.write else nullcontext():
        _add(options, project)


def _add(options: TypedNewOptions, project: Project) -> None:
    targets = load_matrix(project.matrix_file).targets
    before, compat = project.files(), project.compat()
    matrix = MatrixText(before)
    choice = choose(options, compat, matrix)
    if not options.id and (existing := _existing(options, choice, targets)):
        name, torch_npu, python = existing.id, existing.torch_npu, existing.python
        if options.format == "json":
            results.show({"id": name, "exists": True, "lines": "", "written": []})
        else:
            print(f"you have it: {name} ({existing.summary})")
        origin = f"that of {python.base}" if python.base else "of an archive"
        console.say(f"it is for {existing.platform}, with Python {python.version}, {origin}")
        if torch_npu != (newer := choice.combination.torch_npu):
            console.say(f"it has torch_npu {torch_npu}, and {newer} is the newest for it")
        console.say(f"build it: python build.py build {name}; or add another one with --id NAME")
        return
    proposal = propose(options, compat, matrix, load_archives(), targets)
    for where, lines in proposal.entries:
        matrix.add(where, lines)
    new = judged(matrix.files, compat).targets[proposal.id]
    for line in (*proposal.notes, *warnings(new, compat, now()[:10])):
        console.say(line)
    if not options.write:
        text = "".join(f"{line}\n" for line in _lines(proposal.entries))
        if options.format == "json":
            results.show({"id": proposal.id, "exists": False, "lines": text, "written": []})
        else:
            print(text, end="")
        console.say("nothing was written; add --write to put this into matrix.yaml")
        return
    changed = {name: text for name, text in matrix.files.items() if text != before[name]}
    project.write({project.root / name: text for name, text in changed.items()})
    if options.format == "json":
        results.show({"id": proposal.id, "exists": False, "lines": "", "written": [*changed]})
    console.say(f"added {proposal.id} to {' and '.join(changed)}")
    console.say(f"now run: python build.py sync, and then: python build.py build {proposal.id}")


def _lines(entries: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[str]:
    """``entries`` below the sections that they belong to, as they would be in matrix.yaml."""
    opened: Sequence[str] = ()
    for where, entry in entries:
        pairs = zip(opened, where, strict=False)
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        for depth in range(shared, len(where)):
            yield "  " * depth + where[depth] + ":"
        yield from ("  " * len(where) + line for line in entry)
        opened = where


def _existing(
    options: TypedNewOptions, choice: Choice, targets: Mapping[str, Target]
) -> Target | None:
    """The target without an application that has all that was asked for, and what was chosen.

    Those with the torch_npu and the DeepSpeed that would be added go first.
    """
    known = choice.combination
    same = [
        target
        for target in targets.values()
        if (target.python.minor, target.torch, target.chip, target.platform)
        == (known.python, known.torch, options.chip, options.platform)
        and options.python in (target.python.minor, target.python.version)
        and target.cann.version in (choice.cann, str(known.cann))
        and not (target.application or target.requirements or target.without_compiler)
        and bool(target.apex) >= options.apex
        and (not options.deepspeed or target.deepspeed == choice.deepspeed)
    ]

    def differs(target: Target) -> tuple[bool, bool]:
        return target.torch_npu != known.torch_npu, target.deepspeed != choice.deepspeed

    return min(same, key=differs, default=None)
