# SPDX-License-Identifier: Apache-2.0
"""``build.py update``: what the package index has that the project does not know yet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

from cannery.building.packages import update_packages
from cannery.cli import results
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console, program
from cannery.common.console import fold
from cannery.common.errors import MatrixError, OutOfSyncError, Problem, counted
from cannery.common.files import now, read_text
from cannery.common.option import flag, option
from cannery.common.package_index import PackageIndex
from cannery.engine.base import building_architecture
from cannery.lock.index_versions import KEYS, ask, is_whole, questions
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.matrix.text import VersionChange, find_uses, rewrite
from cannery.options import FORMAT, INDEX_URL, IndexOptions, TargetOptions
from cannery.update.absences import absence_questions, arrived
from cannery.update.base_updates import update_bases
from cannery.update.new_applications import application_questions
from cannery.update.new_pairs import propose_pairs
from cannery.update.updates import UpdateNotice, compare


@dataclass(frozen=True, kw_only=True)
class UpdateOptions(IndexOptions, TargetOptions):
    """What becomes of newer versions."""

    write: bool = flag(
        "write versions into matrix.yaml that compat.yaml knows to work; nothing else "
        "in the file changes"
    )
    deepspeed: bool = flag("update DeepSpeed, too, where a target has the newest one in use")
    bases: bool = flag(
        "instead, ask the registries for the digests of the bases that have none; "
        "--write adds them",
        conflicts=("check", "deepspeed"),
    )
    packages: bool = flag(
        "instead, compare the packages that apt resolves now with those in packages.lock of each "
        "target; --write records them there",
        conflicts=("deepspeed", "bases"),
    )
    new: bool = flag(
        "instead, propose whole targets for new pairs of torch and CANN, and for new releases of "
        "applications on their chips; --write adds them to matrix.yaml",
        conflicts=("deepspeed", "bases", "packages", "targets", "where"),
    )
    table: tuple[str, ...] = option(
        "with --new, the table of torch_npu (COMPATIBILITY.md) or of vllm-ascend "
        "(versioning_policy.md), or the catalogue of gpustack's images (runner.py.json), as a "
        "file or an https address; --write adds its new rows to cannery/data/compat.yaml",
        default=(),
        metavar="FILE",
        conflicts=("deepspeed", "bases", "packages", "targets", "where"),
    )
    check: bool = flag(
        "write nothing; exit with code 4 if something is newer (versions on which sources "
        "disagree do not count)",
        conflicts=("write",),
    )
    index_url: str = INDEX_URL.field(
        help="the package index", default_text="UV_DEFAULT_INDEX or PIP_INDEX_URL, else pip's"
    )
    format: str = FORMAT.field(conflicts=("packages",))


COMMAND = Command(
    description="Asks the package index for torch_npu, DeepSpeed, msprobe, Mooncake and "
    "Ray, and shows which versions are newer than those in matrix.yaml and compat.yaml, and "
    "which targets they would change; and what has come that compat.yaml calls absent. No index "
    "names the CANN that a torch_npu needs: where compat.yaml has no row for it, you are asked to "
    "add one. --new proposes whole targets.",
    reads="matrix.yaml, compat.yaml, and the package index; with --table a makers' table",
    writes="with --write matrix.yaml and cannery/data/; with --packages images/",
    example="update --check",
    options=UpdateOptions,
)


def run(options: UpdateOptions, project: Project) -> None:
    """Print what is new and what it would change; with --write change matrix.yaml."""
    if options.bases:
        building = building_architecture()
        images = update_bases(project, building=building, write=options.write, ca=options.ca)
        if options.format == "json":
            results.show({"bases": images})
        else:
            print("".join(f"{name}: {image}\n" for name, image in images.items()), end="")
        return
    source = options.index
    if not (options.ca or os.environ.get("SSL_CERT_FILE")):
        # pip takes other certificates by itself.
        source = replace(source, ca=None)
    if options.packages or options.new or options.table:
        (_update_packages if options.packages else _propose)(project, options, source)
        return
    matrix, compat = project.matrix(), project.compat()
    chosen = [target.id for target in selected(options, project)]
    text = read_text(project.matrix_file)
    uses = find_uses(text, matrix, KEYS, project.catalogue)
    # Those who keep compat.yaml can enter it there.
    looks = project.is_checkout and is_whole(uses, chosen)
    absent = absence_questions(compat) if looks else []
    answers = ask([*questions(uses, chosen, compat), *absent], source)
    news = [*compare(uses, chosen, compat, answers), *arrived(compat, answers)]
    _show(news, as_json=options.format == "json")
    count = sum(not notice.remark for notice in news)
    if not count:
        console.say("the package index has nothing newer that calls for a change")
        return
    if options.check:
        things = "1 thing is" if count == 1 else f"{count} things are"
        what = f"{things} newer than matrix.yaml and compat.yaml."
        raise OutOfSyncError(Problem(what=what, fix="The change for each is named above."))
    moves = [
        move
        for notice in news
        for move in notice.moves
        if options.deepspeed or move.use.key != "deepspeed"
    ]
    if not moves:
        console.say("there is nothing in it that --write would put into matrix.yaml")
    elif not options.write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
    else:
        _write(project, text, matrix, moves)


def _show(news: Sequence[UpdateNotice], *, as_json: bool) -> None:
    if as_json:
        facts = ("what", "change", "targets", "remark")
        results.show({"news": [{key: getattr(each, key) for key in facts} for each in news]})
        return
    for change, group in groupby(news, key=lambda notice: notice.change):
        lines = []
        for notice in group:
            lines += [notice.what, *(f"    {name}" for name in notice.targets)]
        block = [*lines, program.text(f"  -> {change}"), ""]
        print(*fold(block, console.reading_width()), sep="\n")


def _propose(project: Project, options: UpdateOptions, source: PackageIndex) -> None:
    answers = ask(application_questions(project.matrix()), source)
    new = propose_pairs(project, source, options.table, now()[:10], answers)
    if options.format == "json":
        rows = [asdict(row) for row in new.rows]
        results.show({"targets": [*new.targets], "rows": rows, "text": new.text})
    elif new.text:
        print(program.text(new.text))
    for line in new.unread:
        console.say(f"left out: {line}")
    summary = f"{counted(len(new.targets), 'new target')}, {counted(len(new.rows), 'new row')}"
    if options.check and new.text:
        what = f"matrix.yaml and compat.yaml lack {summary}."
        raise OutOfSyncError(Problem(what=what, fix="The change for each is named above."))
    if not new.files:
        console.say("there is nothing new that --write would add")
    elif not options.write:
        console.say(f"{summary}; nothing was written; add --write to add them")
    else:
        project.replace(new.files, new.before)
        console.say(f"{summary} added, with locks; now run: python build.py sync")


def _update_packages(project: Project, options: UpdateOptions, source: PackageIndex) -> None:
    targets = selected(options, project)
    count = update_packages(project, targets, source, write=options.write)
    if not count:
        console.say("apt resolves what is recorded")
    elif options.check:
        what = f"apt resolves other packages than those recorded for {counted(count, 'target')}."
        fix = "Run 'python build.py update --packages --write'."
        raise OutOfSyncError(Problem(what=what, fix=fix))
    elif options.write:
        console.say(f"recorded for {counted(count, 'target')}; now run: python build.py render")
    else:
        console.say("nothing was written; add --write to record them")


def _write(project: Project, text: str, matrix: Matrix, moves: Sequence[VersionChange]) -> None:
    path, after = project.matrix_file, rewrite(text, moves)
    wanted = {name: {**target.components} for name, target in matrix.targets.items()}
    for move in moves:
        for target in move.use.targets:
            wanted[target.id][move.use.key] = move.version
    changed = parse_matrix(after, path.name, project.compat(), project.files()).targets
    if {name: target.components for name, target in changed.items()} != wanted:
        what = "matrix.yaml cannot be changed by program: more would change than the versions."
        raise MatrixError(Problem(what=what, fix="Write the versions there that are listed above."))
    project.replace({path: after}, {path: text})
    for move in moves:
        where, old = move.use.where, move.use.version
        console.say(f"{where}: {move.use.key} {old} is now {move.version}")
    console.say("now run: python build.py sync")
