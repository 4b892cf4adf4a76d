# SPDX-License-Identifier: Apache-2.0
"""The two sides on the bench's engine: ours through build.py, and the baseline."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import baseline
from bench.engine import Engine, hand_over
from bench.steps import reused
from bench.timing import Timed, timed
from cannery import console
from cannery.deploy.run_spec import no_device, simulated_device
from cannery.errors import BuildError, CanneryError, EngineError
from cannery.execute.engine import client as docker
from cannery.execute.engine.base import building_architecture, ensure_base
from cannery.execute.engine.buildx import PackageIndex
from cannery.execute.engine.simulator import Simulated, simulate
from cannery.execute.process import run
from cannery.image.artifacts import check_artifacts
from cannery.image.names import image_name
from cannery.matrix.project import Project
from cannery.model import Base, Target


@dataclass(kw_only=True)
class Session:
    """Builds of both sides. ``folder`` is for temporary files, ``logs`` for what stays."""

    project: Project
    engine: Engine
    source: PackageIndex
    folder: Path
    logs: Path
    bases: dict[str, str] = field(default_factory=dict)
    made: dict[str, Simulated] = field(default_factory=dict)
    failed: int = 0
    """How many cold builds have failed and were measured once more."""
    _warm: set[str] = field(default_factory=set)
    _compared: set[str] = field(default_factory=set)

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make what is part of neither side: the bases and the simulated packages.

        Raises:
            CanneryError: it cannot be had.
        """
        for target in targets:
            for base, architecture in self._asked(target).values():
                self._base(base, architecture)
            if target.id not in self.made:
                artifacts = self.project.artifacts
                self.made[target.id] = simulate(self.project, target, self.source, artifacts)

    def _asked(self, target: Target) -> dict[str, tuple[Base, str]]:
        """Build argument to the base, and the architecture of it, that our Dockerfile asks for."""
        text = (self.project.images / target.id / "Dockerfile").read_text(encoding="utf-8")
        bases = {base.image: base for base in (target.base, target.build_base)}
        return {
            name: (bases[image], building_architecture() if native else target.docker_arch)
            for name, (image, native) in base_arguments(text).items()
            if image in bases
        }

    def _base(self, base: Base, architecture: str) -> str:
        """The reference of a base on the bench's engine."""
        key = f"{base.name}-{architecture}"
        if key not in self.bases:
            hand_over(self.engine, base.bootstrap_tag(architecture))
            self.bases[key] = ensure_base(base, architecture)
        return self.bases[key]

    def cool(self) -> None:
        """Forget everything but the bases."""
        console.say("emptying the bench's engine")
        self.engine.reset(tuple(self.bases.values()))
        self._warm.clear()

    def ours(self, *targets: Target, root: Path | None = None) -> Timed:
        """One build of ``targets`` through build.py, of this checkout or of the one at ``root``.

        Raises:
            CanneryError: it failed.
        """
        argv = [sys.executable, str((root or self.project.root) / "build.py"), "build"]
        argv += [word for target in targets for word in ("--target", target.id)]
        argv += ["--simulate", "--no-test"]
        logs = self._emptied_logs(root or self.project.root)
        done = timed(argv, self._log(f"ours-{targets[0].id if len(targets) == 1 else 'all'}"))
        if root is None:
            self._warm |= {target.id for target in targets}
        return replace(done, logs=tuple(sorted(logs.glob("*.log"))))

    def _emptied_logs(self, root: Path) -> Path:
        """Where build.py writes its logs; a build that is skipped writes none."""
        logs = Project(root=root).state / "logs"
        for log in logs.glob("*.log"):
            log.unlink()
        return logs

    def ours_cold(self, *targets: Target) -> Timed:
        """One build of ``targets`` on an empty engine.

        Raises:
            EngineError: it was not cold after all.
            CanneryError: it failed.
        """
        done = self._cooled(lambda: self.ours(*targets))
        # Of several targets, one finds what another has made.
        return _require_cold(done) if len(targets) == 1 else done

    def ours_warm(self, *targets: Target) -> None:
        """See that ``targets`` have been built on this engine."""
        if missing := [target for target in targets if target.id not in self._warm]:
            self.ours(*missing)

    def baseline(self, target: Target, lock: str = "") -> Timed:
        """One build of the baseline, with ``lock`` in place of the target's own.

        Raises:
            CanneryError: it failed.
        """
        text = lock or self.project.lock(target).read_text(encoding="utf-8")
        context = self.folder / f"baseline-{target.id}"
        baseline.write(context, target, text, self.made[target.id].artifacts)
        name = self.baseline_name(target)
        base = self._base(target.base, target.docker_arch)
        extra = ["--build-arg", f"BASE_IMAGE={base}"]
        argv = self.buildx(target, context / "Dockerfile", context, tag=name, extra=extra)
        done = timed(argv, self._log(f"baseline-{target.id}"))
        if not lock:
            self._warm.add(name)
        return done

    def baseline_cold(self, target: Target) -> Timed:
        """As ``ours_cold``, for the baseline."""
        return _require_cold(self._cooled(lambda: self.baseline(target)))

    def _cooled(self, build: Callable[[], Timed]) -> Timed:
        """``build`` on an empty engine; once more where it fails, as when a download breaks off."""
        self.cool()
        try:
            return build()
        except CanneryError as error:
            console.say(f"a build failed, and is measured once more: {error}")
            self.failed += 1
        self.cool()
        return build()

    def baseline_warm(self, target: Target) -> None:
        """See that the baseline of ``target`` has been built on this engine."""
        if self.baseline_name(target) not in self._warm:
            self.baseline(target)

    def bare(self, target: Target) -> Timed:
        """A bare ``docker buildx build`` of our own Dockerfile, with what build.py gives it.

        Raises:
            CanneryError: it failed.
        """
        images = self.project.images / target.id
        artifacts = self.made[target.id].artifacts
        extra = ["--build-context", f"artifacts={artifacts}"]
        for name, (base, architecture) in self._asked(target).items():
            extra += ["--build-arg", f"{name}={self._base(base, architecture)}"]
        for component, digest in check_artifacts(target, artifacts, target.artifacts).items():
            extra += ["--build-arg", f"{component.upper()}_SHA256={digest}"]
        argv = self.buildx(target, images / "Dockerfile", images, tag="bench:bare", extra=extra)
        return timed(argv, self._log(f"bare-{target.id}"))

    def buildx(
        self,
        target: Target,
        dockerfile: Path,
        context: Path,
        *,
        tag: str,
        extra: Sequence[str],
    ) -> list[str]:
        """A ``docker buildx build``, as a user would type it."""
        argv = ["docker", "buildx", "build", "--platform", target.platform, "--progress", "plain"]
        argv += ["--file", str(dockerfile), "--provenance", "false", "--output", "type=docker"]
        argv += ["--tag", tag, *extra]
        if self.source.ca:
            argv += ["--secret", f"id=ca,src={self.source.ca}"]
        if self.source.index_url:
            index = self.folder / "index"
            index.write_text(self.source.index_url, encoding="utf-8")
            argv += ["--secret", f"id=index,src={index}"]
        return [*argv, str(context)]

    def require_comparable(self, target: Target) -> None:
        """Both images must be able to import what they are for, on the simulated device.

        Raises:
            BuildError: one is not.
        """
        spec = simulated_device(self.made[target.id].host)
        for name in (self.ours_name(target), self.baseline_name(target)):
            if name in self._compared or not docker.image_id(name):
                continue
            console.say(f"{name}: {baseline.CHECK}")
            command = ["python3", "-c", baseline.CHECK]
            code, said = run(spec.docker_argv(name, target.platform, command), capture=True)
            if code:
                what = f"{name} cannot '{baseline.CHECK}', so it is nothing to compare:\n{said}"
                raise BuildError(what)
            self._compared.add(name)

    def require_version(self, target: Target, image: str, package: str, version: str) -> None:
        """``image`` must hold this version, or what was timed was not the change.

        Raises:
            BuildError: it does not.
        """
        local_images = f"import importlib.metadata as m; print(m.version({package!r}))"
        spec = no_device()
        code, said = run(
            spec.docker_argv(image, target.platform, ["python3", "-c", local_images]), capture=True
        )
        if code or said.strip() != version:
            what = f"{image} should hold {package} {version} and says:\n{said}"
            raise BuildError(what)

    def ours_name(self, target: Target) -> str:
        return image_name(target.id, simulate=True)

    def baseline_name(self, target: Target) -> str:
        return f"bench/baseline:{target.id}"

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"


def base_arguments(dockerfile: str) -> dict[str, tuple[str, bool]]:
    """Build argument to the image that it defaults to, and whether that runs on this machine."""
    found = {}
    for name, image in re.findall(r"^ARG (\w+)=(\S+@sha256:\S+)$", dockerfile, re.MULTILINE):
        native = f"FROM --platform=$BUILDPLATFORM ${{{name}}}" in dockerfile
        found[name] = (image, native)
    return found


def _require_cold(done: Timed) -> Timed:
    if found := reused(done.steps):
        names = "\n".join(found)
        raise EngineError(f"a build that should be cold took these from a cache:\n{names}")
    if not done.steps:
        raise EngineError("a build that should be cold has said nothing of its steps.")
    return done
