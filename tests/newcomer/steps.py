# SPDX-License-Identifier: Apache-2.0
"""What is typed for each command of the pages for new users, and how it ends on a bare machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.first_use import printed
from tests.cli.documented import ROOT, Documented, commands

PAGES = (
    *("README.md", "docs/start.md", "docs/choose.md", "docs/build.md", "docs/run.md"),
    *("docs/platform-teams.md", "packages/ascend-doctor/README.md"),
)
"""The README, and the pages of an engineer, of a platform team, and of somebody whose run fails."""

MAIN = "py39-torch231-cann8t39"

LEFT_OUT = (
    (r" nox$", "runs all sessions; 'python -m bench --new-machine' does that on such a machine"),
    (r" fetch .*--accept-eula", "no test accepts Huawei's licence"),
    (r"build\.py --all *(#|$)", "asks the servers of all files of all targets"),
    (r"r\.example|\.\.\.", "needs a registry of the reader's own"),
    (r"^kubectl| pool\b", "needs a cluster"),
)
"""Commands that are not typed, and why."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """How commands that match end here, if not with 0.

    ``says`` is a part of what they say, ``typed`` is typed in the place of what matches, and
    ``before`` makes what the page takes for granted.
    """

    match: str
    code: int = 0
    says: str = ""
    typed: str = ""
    before: str = ""


_LOG = "echo 'RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB' >train.log"
_CONTAINER = (
    f"python build.py run {MAIN} --simulate -- sleep infinity >/dev/null 2>&1 </dev/null & "
    "until docker ps --quiet | grep -q .; do sleep 1; done"
)
CASES = (
    Case(match=r"python3 -c", says=printed((ROOT / "README.md").read_text(encoding="utf-8"))),
    Case(match=r"--accept-eula .*", typed="--plan", code=5, says="--trust-first-use"),
    Case(match=r"\bTARGET\b", typed=MAIN, code=5, says="wrote /root/cannery/report.txt"),
    Case(match=r"--source image", code=5, says="Add to cannery.toml"),
    Case(match=r"--plan", code=5, says="--accept-eula NAME --trust-first-use"),
    Case(match=r"NAME (?=ascend-doctor stuck)", typed="$(docker ps --quiet) ", code=2),
    Case(match=r"exec NAME", typed="exec $(docker ps --quiet)", before=_CONTAINER),
    Case(match=r"py run (?!.*--(simulate|elsewhere|format))", code=6, says="this host has no NPU"),
    Case(match=r"doctor --log", before=_LOG, code=8, says="out of memory"),
    Case(match=r"^ascend-doctor", says="No NPU was found"),
    Case(match=r"list --where", says="files of a real build"),
    Case(match=r"list .*--verbose", says="recommended for training"),
    Case(match=r"explain", says="compat.yaml:"),
    Case(match=r"--out DIR", says="DIR/index.html"),
    Case(match=r"new (?!.*--write)", says="torch_npu: 2.8.0"),
    Case(match=r"--write", says="now run: python build.py sync"),
    Case(match=r"--elsewhere", says="--device /dev/davinci0"),
    Case(match=r"--format compose", says="/dev/davinci7"),
    Case(match=r"--format k8s", says="completions: "),
    Case(match=r"--format volcano", says="batch.volcano.sh"),
)
"""The first that matches says how a command ends. There is no NPU, and none of Huawei's files."""

_SHORT = re.compile(
    r"^python3.11|build\.py (list|explain|catalog|new|fetch|run|doctor) |--plan|^pip|^ascend-doctor"
    r"|--source image|--report"
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a page, and how it ends here."""

    documented: Documented
    case: Case

    @property
    def name(self) -> str:
        return f"{self.documented.page}: {self.documented.text}"

    @property
    def typed(self) -> str:
        text = self.documented.text
        return re.sub(self.case.match, self.case.typed, text) if self.case.typed else text

    @property
    def short(self) -> bool:
        """Whether it needs no engine, and seconds only."""
        return bool(_SHORT.search(self.typed)) and not re.search(
            "--simulate|--no-index|--write", self.typed
        )


def documented() -> list[Documented]:
    """The commands of all pages in their order, each once."""
    found: dict[str, Documented] = {}
    for each in (command for page in PAGES for command in commands(ROOT / page)):
        found.setdefault(each.text, each)
    return [*found.values()]


def steps() -> Iterator[Step]:
    """What is typed."""
    for each in documented():
        if not any(re.search(match, each.text) for match, _ in LEFT_OUT):
            case = next((c for c in CASES if re.search(c.match, each.text)), Case(match="$"))
            yield Step(documented=each, case=case)
