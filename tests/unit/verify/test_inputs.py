# SPDX-License-Identifier: Apache-2.0
"""What results depend on: a part moves exactly if what it stands for has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.files import write_files
from cannery.common.model import DeviceKind
from cannery.image.content_key import KeyInputs
from cannery.verify.inputs import checks_key, moved, result_inputs
from tests.unit.matrices import Checkout

CONFTEST = "import pytest\n\nNAME = 'a\\n\\nb'\n"
PROBE = 'print("""{\n\n}""")\n'
CHECKS = '''# SPDX-License-Identifier: Apache-2.0
"""Checks of torch."""

import pytest


def test_it_imports(host: object) -> None:
    """It imports."""
    assert host  # always


@pytest.mark.device
def test_it_multiplies(host: object) -> None:
    """It multiplies."""
    assert host
'''


def keys(
    checkout: Checkout, checks: str = CHECKS, conftest: str = CONFTEST, probe: str = PROBE
) -> tuple[str, str]:
    """Those of the checks of ``full``, without a device and with a simulated one."""
    folder = checkout.project.root / "tests" / "image"
    files = {"torch/test_torch.py": checks, "conftest.py": conftest, "probes/facts.py": probe}
    write_files({folder / name: text for name, text in files.items()})
    target = checkout.matrix.targets["full"]
    assert "torch" in target.components
    bare, device = (
        checks_key(checkout.project, target, kind)
        for kind in (DeviceKind.NONE, DeviceKind.SIMULATED)
    )
    return bare, device


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # always", ""),
        ("# SPDX", "# Another comment.\n# SPDX"),
        ('    """It imports."""\n', ""),
        ('"""Checks of torch."""', '"""Checks\n\nof torch.\n"""'),
        ("import pytest\n\n", "import pytest\n\n\n\n    # indented\n"),
    ],
)
def test_comments_docstrings_and_blank_lines_do_not_count(
    checkout: Checkout, old: str, new: str
) -> None:
    before = keys(checkout)
    assert CHECKS.count(old) == 1
    assert keys(checkout, CHECKS.replace(old, new)) == before


def test_a_check_counts_where_it_runs(checkout: Checkout) -> None:
    bare, device = keys(checkout)
    first, second = CHECKS.split("\n\n\n@")
    changed = keys(checkout, f"{first.replace('assert host', 'assert not host')}\n\n\n@{second}")
    assert (changed[0] != bare, changed[1] == device) == (True, True)
    changed = keys(checkout, f"{first}\n\n\n@{second.replace('assert host', 'assert not host')}")
    assert (changed[0] == bare, changed[1] != device) == (True, True)
    changed = keys(checkout, CHECKS.replace("import pytest", "import pytest, os"))
    assert (changed[0] != bare, changed[1] != device) == (True, True)


def test_checks_of_a_component_that_the_target_lacks_do_not_count(checkout: Checkout) -> None:
    before = keys(checkout)
    path = checkout.project.root / "tests" / "image" / "sglang" / "test_sglang.py"
    assert "sglang" not in checkout.matrix.targets["full"].components
    write_files({path: CHECKS})
    assert keys(checkout) == before


@pytest.mark.parametrize(
    "change",
    [
        {"conftest": CONFTEST.replace("'a", "'c")},
        # A blank line within a string is no layout.
        {"probe": PROBE.replace("\n\n", "\n")},
        {"probe": PROBE.replace("print", "exit")},
    ],
)
def test_what_all_checks_share_counts_for_each(checkout: Checkout, change: dict[str, str]) -> None:
    before = keys(checkout)
    after = keys(checkout, **change)
    assert before[0] != after[0]
    assert before[1] != after[1]


DOCKERFILE = """# full: PyTorch
FROM scratch
LABEL a="b" \\
      org.opencontainers.image.description="PyTorch" \\
      io.cannery.lock="sha256:1" \\
      c="d"
"""
LOCK = "torch==2.9.0 \\\n    --hash=sha256:1\n    # via vllm\n"
IMAGE = KeyInputs(
    files={
        "Dockerfile": DOCKERFILE,
        "requirements.lock": LOCK,
        "cannery/ascend-doctor": "zip",
        "cannery/seal-layer": "#",
    },
    artifacts={"simulator": "1" * 64, "apex": "2" * 64},
    bases={"BASE_IMAGE": "debian:12"},
    simulate=True,
)


def with_file(name: str, text: str) -> KeyInputs:
    return replace(IMAGE, files={**IMAGE.files, name: text})


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        (IMAGE, ()),
        (with_file("cannery/ascend-doctor", "ZIP"), ("doctor",)),
        (with_file("Dockerfile", DOCKERFILE.replace("scratch", "debian")), ("contents",)),
        (with_file("Dockerfile", DOCKERFILE.replace('"d"', '"e"')), ("contents",)),
        (with_file("Dockerfile", DOCKERFILE.replace("PyTorch", "PyTorch for 910B")), ()),
        (with_file("Dockerfile", DOCKERFILE.replace("sha256:1", "sha256:2")), ()),
        (with_file("requirements.lock", LOCK.replace("via", "wants")), ()),
        (with_file("requirements.lock", LOCK.replace("2.9.0", "2.9.1")), ("contents",)),
        (with_file("requirements.lock", LOCK.replace("sha256:1", "sha256:2")), ("contents",)),
        (with_file("cannery/seal-layer", "# a"), ("contents",)),
        (replace(IMAGE, artifacts={**IMAGE.artifacts, "simulator": "3" * 64}), ("device",)),
        (replace(IMAGE, artifacts={**IMAGE.artifacts, "apex": "3" * 64}), ("contents",)),
        (replace(IMAGE, bases={"BASE_IMAGE": "debian:13"}), ("contents",)),
        (
            replace(IMAGE, simulate=False, artifacts={"apex": "2" * 64}),
            ("contents", "device"),
        ),
    ],
)
def test_each_part_of_an_image_moves_alone(image: KeyInputs, parts: tuple[str, ...]) -> None:
    assert moved(result_inputs(IMAGE, "a"), result_inputs(image, "a")) == parts


def test_a_result_from_before_a_part_was_recorded_has_what_it_has() -> None:
    now = result_inputs(IMAGE, "a")
    assert moved({"contents": now["contents"]}, now) == ()
    assert moved(now, result_inputs(IMAGE, "b")) == ("checks",)
    assert moved(now, {}) == ("contents", "doctor", "checks", "device")
