# SPDX-License-Identifier: Apache-2.0
"""Puts into the wheel what cannery reads of its checkout, beside its modules: pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ASCEND_SIM = "packages/ascend-sim"
PLACES = {
    "cannery": "cannery",
    "tests/image": "cannery/tool/tests/image",
    **{
        f"{ASCEND_SIM}/{name}": f"cannery/tool/{ASCEND_SIM}/{name}"
        for name in (
            *("Dockerfile", "Dockerfile.dockerignore", "LICENSE", "device"),
            *("ascend_sim/packages", "ascend_sim/cann_symbols.json"),
        )
    },
}
"""A file or folder of the checkout, to its place in the wheel."""


class BuildWithTool(build_py):
    """Copies the files of PLACES with their modes, which are part of content keys."""

    def run(self) -> None:
        """Build the modules, and add the files, except to an editable install, which has them."""
        super().run()
        if self.editable_mode:
            return
        for source, place in PLACES.items():
            top = Path(source)
            for path in (top, *top.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md":
                    target = Path(self.build_lib, place, path.relative_to(top))
                    self.mkpath(str(target.parent))
                    self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": BuildWithTool})
