# SPDX-License-Identifier: Apache-2.0
"""What the tests found, and the page that tells it: ``python -m tests.frameworks.results DIR``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from conformance import machine
from conformance.program import write_file

PAGE = Path(__file__).parents[2] / "conformance" / "frameworks.md"
HEAD = """# Frameworks on the software device

`nox -s frameworks` wrote this page, or its tests one by one. It makes a virtual environment
for each framework with the locked versions of the image that has it, installs the wheel
`ascend-sim` beside them, and trains tiny models of random weights through the frameworks' own
commands, in torch_npu's default mode, on `ascend-sim run`, which refuses what a 910B refuses.
Nothing is downloaded but packages; diffusers is in no image, and was put beside ms-swift. On x86_64
torch is the build for CUDA, which is the only one in the package index; it computes on the CPU.

A training passes if every loss is finite and the last is below 0.9 of the first. Where the page
gives a loss on the CPU, the same program was run on the CPU too, without ranks, and a training
passes if the loss falls and at each step differs from the one on the CPU by less than 0.001, or by
less than 0.02 where it computes in bfloat16. Models that generate must also give the same tokens as
on the CPU, and pipelines of diffusers draw the same image within 0.001.

verl 0.9.1 has trainers for PPO and GRPO only beside a server of vLLM, SGLang or TensorRT-LLM (the
table of `verl/workers/rollout/base.py`), which its image does not have.
"""
NAMED = (
    *("torch", "torch-npu", "transformers", "accelerate", "deepspeed", "trl", "diffusers"),
    *("llamafactory", "ms-swift", "verl", "vllm", "vllm-ascend"),
)


@dataclass
class Result:
    """One row of the page."""

    test: str
    what: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    ranks: int = 1
    losses: list[float] = field(default_factory=list)
    on_cpu: list[float] = field(default_factory=list)
    note: str = ""
    passed: bool = False


def write(result: Result, folder: Path) -> None:
    """Keeps one result as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = result.test.translate({ord(each): "-" for each in "[]/"})
    (folder / f"{name}.json").write_text(json.dumps(asdict(result)), encoding="utf-8")


def read(folder: Path) -> list[Result]:
    """All results of a session, by the names of their tests."""
    files = sorted(folder.glob("*.json"))
    return [Result(**json.loads(file.read_text(encoding="utf-8"))) for file in files]


def _row(result: Result) -> str:
    ends = f"{result.losses[0]:.4f} → {result.losses[-1]:.4f}" if result.losses else ""
    cpu = f"{result.on_cpu[-1]:.4f}" if result.on_cpu else ""
    outcome = "pass" if result.passed else "**fail**"
    note = result.note.replace("|", "\\|").replace("\n", " ")
    return f"| {result.what} | {result.ranks} | {ends} | {cpu} | {outcome} | {note} |"


def page(results: list[Result], described: str) -> str:
    """The page, with a table for each set of versions."""
    lines = [
        HEAD,
        f"Measured {described}. {sum(r.passed for r in results)} of {len(results)} pass.",
    ]
    sets = sorted({tuple(sorted(each.versions.items())) for each in results})
    for versions in sets:
        named = ", ".join(f"{name} {version}" for name, version in versions if name in NAMED)
        lines += ["", f"## With {named}", ""]
        lines += [
            "| what | ranks | loss, first → last | last on the CPU | | note |",
            "|--" * 6 + "|",
        ]
        lines += [_row(r) for r in results if tuple(sorted(r.versions.items())) == versions]
    return "\n".join([*lines, ""])


def main() -> int:
    """Writes the page from the results in the folder that is given."""
    measured = f"on {datetime.now(UTC).date().isoformat()} on {machine.described()}"
    write_file(PAGE, page(read(Path(sys.argv[1])), measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
