# SPDX-License-Identifier: Apache-2.0
"""``ascend-sim install``: the torch and the torch_npu of a version, by pip.

On x86_64, most releases of torch_npu ask for torch ==X+cpu, which only PyTorch's own index has.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import UnusableError, UsageError, did_you_mean
from .facts import Facts

CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
"""PyTorch's index of wheels for the CPU (https://pytorch.org/get-started/locally)."""
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){2}")
_RELEASE = re.compile(rf"{_VERSION.pattern}(rc[0-9]+|\.post[0-9]+)?")
_TORCH = re.compile(r"torch\s*\(?==\s*([^)\s;]+?)(\.\*)?\)?\s*$")
_ABORTS_BESIDE_CUDA = {"2.10.0": 7, "2.11.0": 3, "2.12.0": 3}
"""The first .postN of a torch_npu that registers settings of PyTorch's allocator which a torch for
CUDA has registered (registerDeviceConfigParserHook of c10/core/AllocatorConfig.h): its import ends
in an abort. From 2.13 on all releases do."""
_ALL_ABORT_FROM = (2, 13)
_BUILT_FOR_NUMPY_2 = (2, 3)
"""The first torch that is. torch_npu imports numpy and yaml; its old releases ask for neither."""


@dataclass(frozen=True)
class Installation:
    """``torch_npu`` is "" for the newest; ``wheels`` is an index of CPU wheels, or a folder."""

    torch: str
    torch_npu: str
    wheels: str


@dataclass(frozen=True)
class _Found:
    """What pip would install."""

    version: str
    requires: tuple[str, ...]


def installation(torch: str, torch_npu: str, wheels: str, facts: Facts) -> Installation:
    """What the options ask for.

    Raises:
        UsageError: with every mistake in them.
    """
    problems = []
    known = [match[0] for each in facts.cann_of_torch_npu if (match := _VERSION.match(each))]
    if not _VERSION.fullmatch(torch):
        problems.append(f"--torch {torch!r} is not a version. {did_you_mean(torch, known)}")
    if torch_npu and not _RELEASE.fullmatch(torch_npu):
        hint = did_you_mean(torch_npu, facts.cann_of_torch_npu)
        problems.append(f"--torch-npu {torch_npu!r} is not a version. {hint}")
    elif torch_npu and not problems and not torch_npu.startswith(torch):
        problems.append(f"torch_npu {torch_npu} is not for torch {torch}.")
    if "://" not in wheels and not Path(wheels).is_dir():
        problems.append(f"--wheels {wheels!r} is neither a folder nor the address of an index.")
    if problems:
        raise UsageError(*problems)
    return Installation(torch, torch_npu, wheels)


def install(asked: Installation) -> None:
    """Install both into this Python, and say where they are from if that is unexpected.

    Raises:
        UnusableError: pip is missing or too old, or cannot find or install them.
    """
    if find_spec("pip") is None:
        raise UnusableError(f"{sys.executable} has no pip: run 'python -m ensurepip' first.")
    npu = _found(f"torch_npu=={asked.torch_npu or asked.torch + '.*'}")
    torch, others = _needs(npu, asked.torch)
    alone, more = _places(asked.wheels)
    try:
        cpu = _found(f"torch=={torch}", *alone, "--retries=1", "--timeout=15")
    except UnusableError as error:
        _say(f"PyTorch's CPU wheels at {_shown(asked.wheels)} cannot be used: {error}")
        _install_from_index(_beside_cuda(npu, asked), asked.torch)
    else:
        _say(f"pip installs torch {cpu.version}, for the CPU, and torch_npu {npu.version}")
        _pip("install", *more, f"torch=={cpu.version}", f"torch_npu=={npu.version}", *others)


def _needs(npu: _Found, torch: str) -> tuple[str, list[str]]:
    """The torch that a torch_npu asks for, and the other requirements."""
    asks_for = [match[1] for each in npu.requires if (match := _TORCH.match(each))]
    others = [each for each in npu.requires if not _TORCH.match(each) and "extra ==" not in each]
    others += ["numpy<2" if _minor(torch) < _BUILT_FOR_NUMPY_2 else "numpy", "pyyaml"]
    return [*asks_for, torch][0], others


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def _beside_cuda(npu: _Found, asked: Installation) -> _Found:
    """The torch_npu to install beside a torch for CUDA: that one, or the newest that can be.

    Raises:
        UnusableError: it aborts there.
    """
    first = _ABORTS_BESIDE_CUDA.get(asked.torch)
    _, _, post = npu.version.partition(".post")
    if _minor(asked.torch) < _ALL_ABORT_FROM and (first is None or int(post or 0) < first):
        return npu
    aborts = (
        f"torch_npu {npu.version} aborts when it is imported beside a torch for CUDA, "
        "which is what the package index has."
    )
    if first is None or asked.torch_npu:
        raise UnusableError(
            f"{aborts} Give the torch {asked.torch} for the CPU, in a folder or an index, "
            "with --wheels."
        )
    older = _found(f"torch_npu=={asked.torch}.*,<{asked.torch}.post{first}")
    _say(f"{aborts} pip installs torch_npu {older.version} in its place.")
    return older


def _install_from_index(npu: _Found, asked_torch: str) -> None:
    """Without PyTorch's own index."""
    torch, others = _needs(npu, asked_torch)
    release = f"torch_npu=={npu.version}"
    public = torch.partition("+")[0]
    _say(
        f"pip installs torch {public} of the package index instead. On x86_64, and from torch 2.11 "
        "on aarch64 too, it is for CUDA and has GBs of libraries; it works without a GPU."
    )
    if public == torch:
        _pip("install", f"torch=={public}", release, *others)
        return
    _pip("install", f"torch=={public}", *others)
    _say(
        f"pip installs {release} with --no-deps, since it asks for torch {torch}. "
        "'pip check' will report that; the two work together."
    )
    _pip("install", "--no-deps", release)


def _places(wheels: str) -> tuple[list[str], list[str]]:
    """The options of pip to look nowhere else, and there too."""
    if "://" in wheels:
        return ["--index-url", wheels], ["--extra-index-url", wheels]
    folder = str(Path(wheels).resolve())
    return ["--no-index", "--find-links", folder], ["--find-links", folder]


def _shown(wheels: str) -> str:
    """Without the password of an address."""
    return re.sub(r"//[^/@]*@", "//", wheels)


def _say(text: str) -> None:
    print(f"ascend-sim: {text}", file=sys.stderr, flush=True)


def _found(requirement: str, *options: str) -> _Found:
    """What pip would install for ``requirement`` alone.

    Raises:
        UnusableError: nothing, with what pip said.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]
    command += ["--ignore-installed", "--no-deps", *options, requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no such option" in done.stderr:
        raise UnusableError(
            f"{sys.executable} has a pip before 22.2: run 'python -m pip install --upgrade pip'."
        )
    if done.returncode:
        errors = re.findall(r"^ERROR: (.+?)\.?$", done.stderr, re.MULTILINE) or ["pip has failed"]
        nowhere = "No matching distribution" in done.stderr
        said = "the index has none, or cannot be reached" if nowhere else errors[0]
        here = f"Python {platform.python_version()} on {platform.machine()}"
        raise UnusableError(f"no {requirement} for {here}: {_shown(said)}.")
    metadata: dict[str, Any] = json.loads(done.stdout)["install"][0]["metadata"]
    return _Found(metadata["version"], tuple(metadata.get("requires_dist", ())))


def _pip(*words: str) -> None:
    """Raises UnusableError if it fails; what it says is shown."""
    if subprocess.run([sys.executable, "-m", "pip", *words], check=False).returncode:
        raise UnusableError("pip cannot install them: see above.")
