# SPDX-License-Identifier: Apache-2.0
"""Checks of a running container: one folder a component, run only where the target has it.

Started by ``build.py test`` with the plugin ``cannery.verify.pytest_report``; it names the
container, the record of the target and the kind of device. What an image holds does not depend on
a device, so a check without the marker ``device`` runs once, in the container without one.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from testinfra.backend.base import CommandResult
from testinfra.host import Host

from cannery.common.tool import tool_path
from cannery.deploy.user_options import TRUSTED
from cannery.verify.image_checks import ALWAYS, FITTING
from cannery.verify.pytest_report import leave_out
from cannery.verify.verification import LeftOut

Probe = Callable[..., dict[str, Any]]
Start = Callable[..., Future[dict[str, Any]]]
Wait = Callable[[], CommandResult]
Locked = Callable[[str], SpecifierSet]

ON_DEVICE = {"device": {"driver", "toolkit", "torch_npu"}, "train": {"deepspeed"}}
"""The probes that use the device, and the components whose checks ask them."""

PROBES = Path(__file__).parent / "probes"

FILE_LISTS = tool_path("cannery/image/context/file_lists.py")
"""The part of the probe ``facts`` that compares CANN with its lists of files."""

DEVLIB = "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$ASCEND_HOME_PATH/$(uname -m)-linux/devlib"
"""CANN's devlib has a stand-in for the driver, so that programs can be linked without one.

$ASCEND_HOME_PATH/devlib, the link to it, is in the newer layout only.
"""

TRUST = f"$(test ! -e {TRUSTED} || echo PIP_CERT={TRUSTED} SSL_CERT_FILE={TRUSTED})"
"""The variables that make a program in the container trust what the host trusts."""

SHARED = {"ascend-doctor": ["ascend_doctor.command"]}
"""The zipped Python programs that several checks run, and what one process imports of them for all.

Compiling them takes seconds under emulation, and no check is about how they start. pip is none of
them: the guard looks at how its process has started.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cannery")
    group.addoption("--record", type=Path, required=True, help="the target.json to compare with")
    group.addoption("--simulated", action="store_true", help="the image must hold stand-ins")
    group.addoption("--origin", choices=("ours", "derived", "foreign"), default="ours")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch: uses torch to look at something else")
    config.addinivalue_line("markers", "inherited: holds for images made FROM one of ours, too")
    config.addinivalue_line("markers", "any_image: holds for every image with the component")
    config.addinivalue_line("markers", "runs(command): a long command, begun before other checks")
    config.addinivalue_line("markers", "with_torch(program): Python that begins with torch")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    record = json.loads(config.getoption("--record").read_text(encoding="utf-8"))
    markers = FITTING.get(config.getoption("--origin"), ())
    if markers:
        items[:] = [item for item in items if any(map(item.get_closest_marker, markers))]
    for item in items:
        component = item.path.parent.name
        if component not in ALWAYS and component not in record["components"]:
            leave_out(item, LeftOut.COMPONENT, f"the target has no {component}")
        elif item.get_closest_marker("torch") and "torch" not in record["components"]:
            leave_out(item, LeftOut.COMPONENT, "the target has no torch")
    items.sort(key=_is_slow)


def _is_slow(item: pytest.Item) -> int:
    """Greater than 0 for a check that waits for what goes on while the other checks run."""
    names: list[str] = getattr(item, "fixturenames", [])
    return 2 if {"imported", "torch_alone"} & {*names} else int("ran" in names)


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config) -> dict[str, Any]:
    """What the image should hold: the target's target.json."""
    path: Path = pytestconfig.getoption("--record")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="session")
def locked(record: dict[str, Any]) -> Locked:
    """What an installed version of a package must fit: the version in its lock.

    ``==2.9.0`` admits the 2.9.0+cpu that torch calls itself, and ``==2.9.0+cpu`` no other build.
    ``test_packages`` compares all locked versions letter by letter.
    """
    vendor = {canonicalize_name(name): text for name, text in record["vendor_wheels"].items()}
    versions = {**vendor, **record["wheels"]}
    return lambda package: SpecifierSet(f"=={versions[package]}", prereleases=True)


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
def checked(request: pytest.FixtureRequest) -> frozenset[str]:
    """The components that are checked in this container."""
    items = (each for each in request.session.items if not each.get_closest_marker("skip"))
    return frozenset(each.path.parent.name for each in items)


@pytest.fixture(scope="session")
def devlib() -> str:
    """The variable with which a program that imports torch_npu starts without a driver."""
    return f"env {DEVLIB}"


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Runs what is begun before the check that asks for it."""
    with ThreadPoolExecutor(os.cpu_count()) as made:
        yield made


@pytest.fixture(scope="session")
def start(host: Host, pool: ThreadPoolExecutor) -> Start:
    """Starts ``probes/NAME.py`` in the container, once, and returns the JSON that it will print.

    The answer has what was said on stderr as ``stderr``.
    """

    def run(name: str, *arguments: str, env: str) -> dict[str, Any]:
        program = f"import base64; exec(base64.b64decode('{_encoded(name)}'))"
        result = host.run(
            (f"env {env} " if env else "") + "python3 -c %s" + " %s" * len(arguments),
            program,
            *arguments,
        )
        return _answer(name, result.rc, result.stdout, result.stderr)

    @functools.cache
    def submit(name: str, *arguments: str, env: str = "") -> Future[dict[str, Any]]:
        return pool.submit(run, name, *arguments, env=env)

    return submit


def _encoded(name: str) -> str:
    text = (PROBES / f"{name}.py").read_text(encoding="utf-8")
    if name == "facts":
        text = f"{FILE_LISTS.read_text(encoding='utf-8')}\n\n{text}"
    return _as_argument(text)


def _as_argument(program: str) -> str:
    return base64.b64encode(program.encode()).decode()


def _answer(name: str, code: int, stdout: str, stderr: str) -> dict[str, Any]:
    lines = stdout.splitlines()
    said = f"the probe {name} ended with {code} and said:\n{stdout}{stderr}"
    assert code == 0 and lines, said
    answer: dict[str, Any] = json.loads(lines[-1])
    return {**answer, "stderr": stderr}


@pytest.fixture(scope="session")
def begun(
    request: pytest.FixtureRequest,
    host: Host,
    pool: ThreadPoolExecutor,
    start: Start,
    record: dict[str, Any],
) -> dict[str, Wait]:
    """Begins what all markers ``runs`` and ``with_torch`` name; for each, what waits for it."""
    items = [item for item in request.session.items if not item.get_closest_marker("skip")]
    commands = dict.fromkeys(command for item in items for command in _commands(item, record))
    shared: dict[str, dict[str, Any]] = defaultdict(dict)
    waits: dict[str, Wait] = {}
    for command in commands:
        argv = shlex.split(command)
        if argv[0] in SHARED:
            shared[argv[0]][command] = {"argv": argv}
        else:
            waits[command] = pool.submit(host.run, command).result

    def result(answers: Future[dict[str, Any]], command: str) -> CommandResult:
        own = answers.result()[command]
        said = own["stdout"], own["stderr"]
        return CommandResult(host.backend, own["code"], command.encode(), *said)

    for name, programs in shared.items():
        asked = {"modules": SHARED[name], "places": [name], "programs": programs}
        answers = start("copies", json.dumps(asked))
        waits |= {command: functools.partial(result, answers, command) for command in programs}
    for program in (each for item in items for each in _programs(item)):
        answers = request.getfixturevalue("with_torch")
        waits[program] = functools.partial(result, answers, program)
    return waits


@pytest.fixture
def ran(
    request: pytest.FixtureRequest, begun: dict[str, Wait], record: dict[str, Any]
) -> CommandResult:
    """What came of the command or program that the check's marker names."""
    [asked] = [*_commands(request.node, record), *_programs(request.node)]
    return begun[asked]()


def _commands(item: pytest.Item, record: dict[str, Any]) -> list[str]:
    """The command of a check's marker ``runs``, if it has one.

    It may be a function of the record. ``{devlib}`` and ``{trust}`` in it stand for variables.
    """
    texts = (marker.kwargs["command"] for marker in item.iter_markers("runs"))
    commands = (text if isinstance(text, str) else text(record) for text in texts)
    return [each.format(devlib=f"env {DEVLIB}", trust=f"env {TRUST}") for each in commands]


def _programs(item: pytest.Item) -> list[str]:
    """The program of a check's marker ``with_torch``, if it has one."""
    return [marker.kwargs["program"] for marker in item.iter_markers("with_torch")]


@pytest.fixture(scope="session")
def with_torch(
    request: pytest.FixtureRequest, start: Start, imports: tuple[str, ...]
) -> Future[dict[str, Any]]:
    """Begins one process that imports torch, which alone takes seconds under emulation.

    Copies of it, of which none sees what another does, import the rest of ``imports`` and run the
    programs of all markers ``with_torch``: these import torch before all else in any case.
    """
    items = (item for item in request.session.items if not item.get_closest_marker("skip"))
    texts = [program for item in items for program in _programs(item)]
    programs = {text: {"code": _as_argument(text)} for text in texts}
    first = {"imports": {"code": _encoded("imports"), "argv": imports}}
    modules = ["torch"] if texts or "torch" in imports else []
    asked = {"modules": modules, "places": [], "programs": {**first, **programs}}
    return start("copies", json.dumps(asked), env=DEVLIB)


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
    request: pytest.FixtureRequest, device: str, start: Start, imports: tuple[str, ...]
) -> None:
    """Gather the facts before any check can leave something behind that would be one.

    No check of a foreign image reads them, and in one they may not be found at all. Imports take
    longest, and go on while other checks run; so do the commands of the marker ``runs``.
    """
    if device != "none":
        return
    if request.config.getoption("--origin") != "foreign":
        request.getfixturevalue("facts")
    if imports:
        request.getfixturevalue("with_torch")
    request.getfixturevalue("begun")


@pytest.fixture(scope="session")
def imports(record: dict[str, Any], checked: frozenset[str]) -> tuple[str, ...]:
    """The modules that ``imported`` is about: torch first, because what it loads is noted."""
    names: tuple[str, ...] = ()
    if "torch_npu" in record["components"] and checked & {"torch", "torch_npu", "nnal", "apex"}:
        names += ("torch", "torch_npu")
    if "apex" in checked:
        names += ("apex", "apex.amp")
    return names + ("te", "tbe", "hccl") * ("toolkit" in checked)


@pytest.fixture(scope="session")
def imported(with_torch: Future[dict[str, Any]]) -> dict[str, Any]:
    """What comes of importing torch_npu, and what goes with it, where there is no driver."""
    own = with_torch.result()["imports"]
    return _answer("imports", own["code"], own["stdout"], own["stderr"])


@pytest.fixture(scope="session")
def torch_alone(
    request: pytest.FixtureRequest, probe: Probe, record: dict[str, Any]
) -> dict[str, Any]:
    """What comes of importing torch where there is not even a stand-in for the driver.

    It is the same as with devlib in the path of libraries, if nothing of devlib was loaded.
    """
    if "torch_npu" in record["components"]:
        found: dict[str, Any] = request.getfixturevalue("imported")
        if not found["torch"]["error"] and not found["of_devlib"]:
            return found
    return probe("imports", "torch")


@pytest.fixture(scope="session")
def on_device(probe: Probe, checked: frozenset[str]) -> Callable[[str], dict[str, Any]]:
    """The answer of a probe that uses the device; all of them import torch_npu together."""
    names = [name for name, components in ON_DEVICE.items() if components & checked]
    probes = {each: {"code": _encoded(each)} for each in names}
    asked = {"modules": ["torch", "torch_npu"], "places": [], "programs": probes}

    def answer(name: str) -> dict[str, Any]:
        all_of_them = probe("copies", json.dumps(asked))
        own = all_of_them[name]
        return _answer(name, own["code"], own["stdout"], all_of_them["stderr"] + own["stderr"])

    return answer
