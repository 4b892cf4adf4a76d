# SPDX-License-Identifier: Apache-2.0
"""Builds both sides on the bench's engine: ours with build.py, and the baseline."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import baseline
from bench.engine import Engine, hand_over
from bench.timing import Timed, require_cold, timed
from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import BuildError, CanneryError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.common.process import run
from cannery.common.references import image_name
from cannery.deploy.run_spec import no_device, simulated_device
from cannery.engine import client as docker
from cannery.engine.base import BaseCache, Bases, building_architecture
from cannery.engine.builder import find_builder
from cannery.engine.simulator import Simulated, simulate
from cannery.matrix.project import Project


@dataclass(kw_only=True)
class Session:
    """Builds of both sides. ``folder`` is for temporary files, ``logs`` for logs that stay."""

    project: Project
    engine: Engine
    source: PackageIndex
    folder: Path
    logs: Path
    bases: dict[str, str] = field(default_factory=dict)
    made: dict[str, Simulated] = field(default_factory=dict)
    failed: int = 0
    """The number of cold builds that failed and were measured again."""
    _warm: set[str] = field(default_factory=set)
    _compared: set[str] = field(default_factory=set)

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make the base images and the simulated packages, which both sides use.

        Raises:
            CanneryError: one of them is not available.
        """
        for target in targets:
            for base, architecture in self._bases(target).values():
                self._base(base, architecture)
            if target.id not in self.made:
                artifacts = self.project.artifacts
                self.made[target.id] = simulate(self.project, target, self.source, artifacts)

    def _bases(self, target: Target) -> dict[str, tuple[Base, str]]:
        """Build argument to the base image in our Dockerfile, and its architecture."""
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
            notes = BaseCache(state=self.folder)
            found = Bases(builder=find_builder(""), notes=notes).find(base, architecture)
            self.bases[key] = found.reference
        return self.bases[key]

    def cool(self) -> None:
        """Remove all images and caches except the base images."""
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
        log = f"ours-{targets[0].id if len(targets) == 1 else 'all'}.log"
        done = timed(argv, self.logs / log)
        # Another checkout has built another image, which has the target's name now.
        built = {target.id for target in targets}
        self._warm = self._warm | built if root is None else self._warm - built
        return replace(done, logs=tuple(sorted(logs.glob("*.log"))))

    def _emptied_logs(self, root: Path) -> Path:
        """The folder of build.py's logs, emptied; a build that is skipped writes no log."""
        logs = Project(root=root).state / "logs"
        for log in logs.glob("*.log"):
            log.unlink()
        return logs

    def ours_cold(self, *targets: Target) -> Timed:
        """One build of ``targets`` on an empty engine.

        Raises:
            EngineError: a step came from a cache.
            CanneryError: it failed.
        """
        done = self._cooled(lambda: self.ours(*targets))
        # With several targets, one uses layers that another has built.
        return require_cold(done) if len(targets) == 1 else done

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
        done = timed(argv, self.logs / f"baseline-{target.id}.log")
        if not lock:
            self._warm.add(name)
        return done

    def baseline_cold(self, target: Target) -> Timed:
        """One build of the baseline on an empty engine. Raises as ``ours_cold``."""
        return require_cold(self._cooled(lambda: self.baseline(target)))

    def _cooled(self, build: Callable[[], Timed]) -> Timed:
        """Run ``build`` on an empty engine, and again if it fails."""
        self.cool()
        try:
            return build()
        except CanneryError as error:
            console.say(f"a build failed and is measured again: {error}")
            self.failed += 1
        self.cool()
        return build()

    def baseline_warm(self, target: Target) -> None:
        """Build the baseline of ``target`` unless this engine has it."""
        if self.baseline_name(target) not in self._warm:
            self.baseline(target)

    def buildx(
        self,
        target: Target,
        dockerfile: Path,
        context: Path,
        *,
        tag: str,
        extra: Sequence[str],
    ) -> list[str]:
        """The words of a ``docker buildx build``."""
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
        """Import torch and torch_npu in both images, on the simulated device.

        Raises:
            BuildError: an import fails.
        """
        spec = simulated_device(self.made[target.id].host)
        for name in (self.ours_name(target), self.baseline_name(target)):
            if name in self._compared or not docker.image_id(name):
                continue
            console.say(f"{name}: {baseline.CHECK}")
            command = ["python3", "-c", baseline.CHECK]
            code, said = run(spec.docker_argv(name, target.platform, command))
            if code:
                what = f"'{baseline.CHECK}' fails in {name}, so it cannot be compared:\n{said}"
                raise BuildError(what)
            self._compared.add(name)

    def require_version(self, target: Target, image: str, package: str, version: str) -> None:
        """Check that ``image`` has this version, so that the timed build was that of the update.

        Raises:
            BuildError: it has another one.
        """
        script = f"import importlib.metadata as m; print(m.version({package!r}))"
        spec = no_device()
        code, said = run(spec.docker_argv(image, target.platform, ["python3", "-c", script]))
        if code or said.strip() != version:
            what = f"{image} must have {package} {version}. It printed:\n{said}"
            raise BuildError(what)

    def ours_name(self, target: Target) -> str:
        return image_name(target.id, simulate=True)

    def baseline_name(self, target: Target) -> str:
        return f"bench/baseline:{target.id}"


def base_arguments(dockerfile: str) -> dict[str, tuple[str, bool]]:
    """Build argument to its default image, and whether that image is for this machine."""
    found = {}
    for name, image in re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", dockerfile, re.MULTILINE):
        native = f"FROM --platform=$BUILDPLATFORM ${{{name}}}" in dockerfile
        found[name] = (image, native)
    return found
