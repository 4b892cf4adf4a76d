# SPDX-License-Identifier: Apache-2.0
"""Checks of a running container: one folder a component, run only where the target has it.

Started by ``build.py test`` with the plugin ``cannery.execute.engine.pytest_report``; it names the
container, the record of the target and the kind of device. What an image holds does not depend on
a device, so a check without the marker ``device`` runs once, in the container without one.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

Probe = Callable[..., dict[str, Any]]
Start = Callable[..., Future[dict[str, Any]]]

ALWAYS = {"os", "python", "driver", "guard"}
FITTING = {"derived": ("inherited", "any_image"), "foreign": ("any_image",)}
"""Origin of an image to the markers of the checks that fit it; all checks fit one of ours."""

PROBES = Path(__file__).parent / "probes"

DEVLIB = "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$ASCEND_HOME_PATH/devlib"
"""CANN's devlib has a stand-in for the driver, so that programs can be linked without one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cannery")
    group.addoption("--record", type=Path, required=True, help="the target.json to compare with")
    group.addoption("--simulated", action="store_true", help="the image must hold stand-ins")
    group.addoption("--origin", choices=("ours", "derived", "foreign"), default="ours")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch: uses torch to look at something else")
    config.addinivalue_line("markers", "inherited: holds for images made FROM one of ours, too")
    config.addinivalue_line("markers", "any_image: holds for every image with the component")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    record = json.loads(config.getoption("--record").read_text(encoding="utf-8"))
    markers = FITTING.get(config.getoption("--origin"), ())
    if markers:
        items[:] = [item for item in items if any(map(item.get_closest_marker, markers))]
    for item in items:
        component = item.path.parent.name
        if component not in ALWAYS and component not in record["components"]:
            item.add_marker(pytest.mark.skip(reason=f"the target has no {component}"), append=False)
        elif item.get_closest_marker("torch") and "torch" not in record["components"]:
            item.add_marker(pytest.mark.skip(reason="the target has no torch"), append=False)


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config) -> dict[str, Any]:
    """What the image should hold: the target's target.json."""
    path: Path = pytestconfig.getoption("--record")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    """What the container runs on: none, simulated or npu."""
    return str(pytestconfig.getoption("--device"))


@pytest.fixture(scope="session")
def simulated(pytestconfig: pytest.Config) -> bool:
    """Whether the image is a simulated one, on whatever it runs."""
    return bool(pytestconfig.getoption("--simulated"))


@pytest.fixture(scope="session")
def host(request: pytest.FixtureRequest) -> Host:
    """The container. One for the whole session, so that a probe runs once."""
    from testinfra.host import get_host

    hosts: str = request.config.getoption("--hosts")
    return get_host(hosts)


@pytest.fixture(scope="session")
def trust(host: Host) -> str:
    """The variables that make a program in the container trust what the host trusts."""
    path = "/run/cannery-ca.crt"
    return f"PIP_CERT={path} SSL_CERT_FILE={path}" if host.file(path).exists else ""


@pytest.fixture(scope="session")
def devlib() -> str:
    """The variable with which a program that imports torch_npu starts without a driver."""
    return f"env {DEVLIB}"


@pytest.fixture(scope="session")
def start(host: Host) -> Iterator[Start]:
    """Starts ``probes/NAME.py`` in the container, once, and returns the JSON that it will print.

    The answer has what was said on stderr as ``stderr``.
    """

    def run(name: str, *arguments: str, env: str) -> dict[str, Any]:
        code = base64.b64encode((PROBES / f"{name}.py").read_bytes()).decode()
        program = f"import base64; exec(base64.b64decode('{code}'))"
        result = host.run(
            (f"env {env} " if env else "") + "python3 -c %s" + " %s" * len(arguments),
            program,
            *arguments,
        )
        lines = result.stdout.splitlines()
        assert result.rc == 0 and lines, (
            f"the probe {name} ended with {result.rc} and said:\n{result.stdout}{result.stderr}"
        )
        answer: dict[str, Any] = json.loads(lines[-1])
        return {**answer, "stderr": result.stderr}

    with ThreadPoolExecutor() as pool:

        @functools.cache
        def submit(name: str, *arguments: str, env: str = "") -> Future[dict[str, Any]]:
            return pool.submit(run, name, *arguments, env=env)

        yield submit


@pytest.fixture(scope="session")
def probe(start: Start) -> Probe:
    """As ``start``, but returns the answer."""
    return lambda *words, **options: start(*words, **options).result()


@pytest.fixture(scope="session")
def facts(probe: Probe, record: dict[str, Any]) -> dict[str, Any]:
    """Everything about the container that one look can tell."""
    return probe("facts", json.dumps(record))


@pytest.fixture(scope="session", autouse=True)
def _look_before_touching(
    request: pytest.FixtureRequest, device: str, start: Start, record: dict[str, Any]
) -> None:
    """Gather the facts before any check can leave something behind that would be one.

    No check of a foreign image reads them, and in one they may not be found at all. Imports take
    longest, and go on while other checks run.
    """
    if device != "none":
        return
    if request.config.getoption("--origin") != "foreign":
        request.getfixturevalue("facts")
    items = [each for each in request.session.items if not each.get_closest_marker("skip")]
    components = {each.path.parent.name for each in items}
    if "torch_npu" in components:
        start("imports", *_imports(record), env=DEVLIB)
    if "torch" in components:
        start("imports", "torch")


@pytest.fixture(scope="session")
def imported(probe: Probe, record: dict[str, Any]) -> dict[str, Any]:
    """What comes of importing torch_npu, and what goes with it, where there is no driver."""
    return probe("imports", *_imports(record), env=DEVLIB)


def _imports(record: dict[str, Any]) -> list[str]:
    names = ["torch", "torch_npu"]
    return names + ["apex", "apex.amp"] * ("apex" in record["components"])
