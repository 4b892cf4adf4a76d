# SPDX-License-Identifier: Apache-2.0
"""The commands that the page gives are run: they pull and start a simulated image.

Needs the image that 'nox -s image' builds.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cannery.common.package_index import package_index
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine.simulator import simulate
from cannery.matrix.project import Project
from tests.browser.site import PUBLISHED, ROOT, Site, make_site
from tests.browser.test_page_copy import LEAVE, pasted
from tests.engine.engines import registry
from tests.unit.catalogues import BARE, SIMULATED, release

pytestmark = pytest.mark.engine

# What the image does when it is started: it can only be right on a device.
CHECK = (
    "import torch, torch_npu; x = torch.ones(3, 3).npu(); "
    "print('on', x.device, int((x @ x).sum()), torch.npu.device_count())"
)


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@dataclass(frozen=True, kw_only=True)
class Pushed:
    site: Site
    reference: str


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    """A simulated image in a registry, no longer on this machine, and a page that has it."""
    project = Project(root=ROOT)
    target = project.matrix().targets[PUBLISHED]
    image = image_name(target.id, simulate=True)
    if not engine.image_id(image):
        pytest.fail(f"{image} is not here; 'nox -s image' builds it")
    simulate(project, target, package_index(None, ""), project.artifacts)
    folder = tmp_path_factory.mktemp("pushed")
    with registry(folder) as address:
        name = f"{address}/ascend:{PUBLISHED}-0123456789ab-sim"
        (folder / "Dockerfile").write_text(f'FROM {image}\nCMD ["python3", "-c", "{CHECK}"]\n')
        options = ["--platform", "linux/arm64", "--provenance", "false", "--output"]
        docker("buildx", "build", "--quiet", *options, f"type=docker,name={name}", str(folder))
        docker("push", "--quiet", name)
        [reference] = [
            each
            for each in docker("inspect", "--format", '{{join .RepoDigests "\\n"}}', name).split()
            if each.startswith(address)
        ]
        docker("image", "rm", name)
        record = replace(
            release(target, tag=name.rpartition(":")[2], tags=(f"{PUBLISHED}-sim",)),
            registry=address,
            digest=reference.partition("@")[2],
            simulated=True,
            verified=(BARE, SIMULATED),
        )
        try:
            yield Pushed(site=make_site(folder, lambda _: record), reference=reference)
        finally:
            subprocess.run(
                ["docker", "image", "rm", "--force", reference], check=False, capture_output=True
            )


def copied(page: Page, text: str) -> str:
    """What the clipboard holds after the button beside ``text`` on the image's card was used."""
    beside = page.locator(f'[id="{PUBLISHED}"] .copyable:visible', has_text=text)
    beside.get_by_role("button").click()
    expect(beside.locator(".done")).to_be_visible()
    return pasted(page)


def test_what_is_copied_pulls_and_runs(
    pushed: Pushed, open_site: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_site(pushed.site, permissions=LEAVE)
    page.locator('input[name="python"][value="3.9"]').check()
    page.locator('input[name="torch"][value="2.3.1"]').check()
    page.locator("#q").fill("deepspeed 0.15.0")
    assert page.locator("#list > .card").count() == 1

    assert not engine.image_id(pushed.reference)
    pull = copied(page, "docker pull")
    subprocess.run(["bash", "-euc", pull], check=True, capture_output=True, cwd=tmp_path)
    assert engine.image_id(pushed.reference)

    run = copied(page, "docker run")
    # With a terminal, which who pastes it has.
    terminal = ["script", "--quiet", "--return", "--command", run, "/dev/null"]
    done = subprocess.run(
        terminal,
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "on npu:0 27 1" in done.stdout
