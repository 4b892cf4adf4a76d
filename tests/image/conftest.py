# SPDX-License-Identifier: Apache-2.0
"""Checks of a running container: one folder a component, run only where the target has it.

Started by ``build.py test``, which names the container, the target's record and the device kind.
What an image holds does not depend on a device, so a check without a marker runs once, in the
container without one.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

Probe = Callable[..., dict[str, Any]]

ALWAYS = {"os", "python", "driver", "guard"}
PROBES = Path(__file__).parent / "probes"

DEVLIB = "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$ASCEND_HOME_PATH/devlib"
"""CANN's devlib has a stand-in for the driver, so that programs can be linked without one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cannery")
    group.addoption("--record", type=Path, required=True, help="the target.json to compare with")
    group.addoption("--device", choices=("none", "simulated", "npu"), required=True)
    group.addoption("--simulated", action="store_true", help="the image must hold stand-ins")
    group.addoption("--report", type=Path, required=True, help="where the JSON report goes")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "device: needs a device")
    config.addinivalue_line("markers", "torch: uses torch to look at something else")
    config.pluginmanager.register(Report(config.getoption("--report")), "cannery-report")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    record = json.loads(config.getoption("--record").read_text(encoding="utf-8"))
    has_device = config.getoption("--device") != "none"
    for item in items:
        component = item.path.parent.name
        if component not in ALWAYS and component not in record["components"]:
            item.add_marker(pytest.mark.skip(reason=f"the target has no {component}"))
        elif item.get_closest_marker("torch") and "torch" not in record["components"]:
            item.add_marker(pytest.mark.skip(reason="the target has no torch"))
        elif item.get_closest_marker("device") and not has_device:
            item.add_marker(pytest.mark.skip(reason="needs a device, and this run has none"))
        elif has_device and not item.get_closest_marker("device"):
            item.add_marker(pytest.mark.skip(reason="is checked in a container without a device"))


class Report:
    """Writes what became of every check."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checks: dict[str, dict[str, str]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        outcome = yield
        result: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
        if result.when != "call" and result.passed:
            return
        doc = (getattr(item, "obj", None).__doc__ or item.name).strip().splitlines()[0]
        check = {"title": doc, "outcome": result.outcome, "why": ""}
        if result.skipped and isinstance(result.longrepr, tuple):
            check |= {"outcome": "not run", "why": result.longrepr[2].removeprefix("Skipped: ")}
        elif result.failed:
            check["why"] = result.longreprtext
        self.checks[item.nodeid.split("tests/image/")[-1]] = check

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.checks, indent=1), encoding="utf-8")


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
def probe(host: Host) -> Probe:
    """Runs ``probes/NAME.py`` in the container, once, and returns the JSON that it prints.

    The answer has what was said on stderr as ``stderr``.
    """

    @functools.cache
    def run(name: str, *arguments: str, env: str = "") -> dict[str, Any]:
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

    return run


@pytest.fixture(scope="session")
def facts(probe: Probe, record: dict[str, Any]) -> dict[str, Any]:
    """Everything about the container that one look can tell."""
    return probe("facts", json.dumps(record))


@pytest.fixture(scope="session", autouse=True)
def _look_before_touching(request: pytest.FixtureRequest, device: str) -> None:
    """Gather the facts before any check can leave something behind that would be one."""
    if device == "none":
        request.getfixturevalue("facts")


@pytest.fixture(scope="session")
def imported(probe: Probe, record: dict[str, Any]) -> dict[str, Any]:
    """What comes of importing torch_npu, and what goes with it, where there is no driver."""
    names = ["torch", "torch_npu"]
    if "apex" in record["components"]:
        names += ["apex", "apex.amp"]
    return probe("imports", *names, env=DEVLIB)
