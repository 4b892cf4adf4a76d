# SPDX-License-Identifier: Apache-2.0
"""``build.py test`` with something that answers as an engine; no container is ever started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.cli.standin_engine import standin_engine

TARGET = "py39-torch231-cann8t39"
LABEL = {"io.cannery.simulated": "true"}
FALSE_LABEL = {"io.cannery.simulated": "false"}
MARKERS = "/usr/local/Ascend/simulated"
SIMULATED = (
    "cannery:{name} is a simulated image (label io.cannery.simulated=true) and needs --simulate. "
    "Check it on the simulated device: "
    "python build.py test --target {name} --image cannery:{name} --simulate"
)
APEX = "/usr/local/lib/python3.9/dist-packages/apex/SIMULATED"


@pytest.mark.parametrize("name", [f"cannery:{TARGET}", "mine:1"])
@pytest.mark.parametrize(
    ("labels", "file", "sign"),
    [
        (LABEL, "", "label io.cannery.simulated=true"),
        ({}, MARKERS, MARKERS),
        (FALSE_LABEL, MARKERS, MARKERS),
        (FALSE_LABEL, APEX, APEX),
    ],
    ids=["label", "no label", "false label", "apex alone"],
)
def test_a_simulated_image_needs_simulate(
    checkout: Checkout, tmp_path: Path, name: str, labels: dict[str, str], file: str, sign: str
) -> None:
    report = checkout.root / ".cannery" / "reports" / f"{name.replace(':', '_')}.json"
    report.parent.mkdir(parents=True)
    report.write_text("an earlier report", encoding="utf-8")
    files = [file] if file else []
    with standin_engine(tmp_path, images={name: "arm64"}, labels=labels, files=files) as address:
        result = checkout.run(
            "test", "--target", TARGET, "--image", name, env={"DOCKER_HOST": address}
        )
    result.refused(
        8,
        f"{name} is a simulated image ({sign}) and needs --simulate. Check it on"
        f" the simulated device: python build.py test --target {TARGET} --image {name} --simulate",
    )
    assert [path.name for path in report.parent.iterdir()] == [report.name]
    assert report.read_text(encoding="utf-8") == "an earlier report"


def test_every_target_is_tested_though_one_fails(checkout: Checkout, tmp_path: Path) -> None:
    others = ("py311-torch271-cann910-a3", "py39-torch210-cann8rc2")
    images = {f"cannery:{name}": "arm64" for name in (TARGET, others[1])}
    words = [word for name in (TARGET, *others) for word in ("--target", name)]
    with standin_engine(tmp_path, images=images, labels=LABEL) as address:
        result = checkout.run("test", *words, env={"DOCKER_HOST": address})
    assert result.code == 1
    assert sorted(result.err.splitlines()) == sorted(
        f"build.py: [{name}] {why}"
        for name, why in {
            TARGET: SIMULATED.format(name=TARGET),
            others[0]: f"there is no image cannery:{others[0]} here. "
            f"Build it: python build.py --target {others[0]}",
            others[1]: SIMULATED.format(name=others[1]),
        }.items()
    )
