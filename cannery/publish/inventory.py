# SPDX-License-Identifier: Apache-2.0
"""What an image holds: wheels, Debian packages, and what came from a vendor's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from packaging.metadata import parse_email
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from cannery.model import Target
from cannery.publish.licenses import declared

RECORD = "/usr/local/share/cannery/target.json"
"""Where an image says what it was built as; see ``render.target_record``."""

_GONE = {"not-installed", "config-files"}
"""The last word of dpkg's Status for a package of which nothing, or only settings, is there."""


class Origin(StrEnum):
    """Where a package of an image came from."""

    INDEX = "index"
    """A package index, by the hashes of the target's lock."""
    DEBIAN = "debian"
    """The mirror from which Debian packages were installed."""
    VENDOR = "vendor"
    """A file that no registry serves."""
    CANN = "cann"
    """One of CANN's packages brought it along."""
    SIMULATOR = "simulator"
    """The software device's stand-in for a vendor's file."""
    UNKNOWN = ""
    """Nothing that the image was built from names it."""


@dataclass(frozen=True, kw_only=True, order=True)
class Package:
    """One package. Every text but ``name`` may be empty where nobody says it.

    ``license`` is an SPDX expression or the package's own words. ``sha256`` is that of ``file``,
    which is the vendor's name of what was unpacked, and ``place`` is where people get that.
    """

    name: str
    version: str = ""
    license: str = ""
    architecture: str = ""
    source: Origin = Origin.UNKNOWN
    file: str = ""
    sha256: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Everything that is in an image, each kind sorted.

    ``vendor`` packages are named by the component that they are. ``distribution`` is as in
    ``debian-11``; ``simulated`` says whether stand-ins are in the place of the vendor's files.
    """

    wheels: tuple[Package, ...]
    debian: tuple[Package, ...]
    vendor: tuple[Package, ...]
    distribution: str = ""
    simulated: bool = False

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Kind to name to version, as a release's record keeps it."""
        return {
            kind: {package.name: package.version for package in packages}
            for kind, packages in (
                ("wheels", self.wheels),
                ("debian", self.debian),
                ("vendor", self.vendor),
            )
        }


def debian_packages(status: str) -> tuple[Package, ...]:
    """What the text of dpkg's ``status``, or of a file of ``status.d``, says is installed."""
    found = set()
    for fields in _paragraphs(status):
        # Images that were not made by dpkg itself have no Status.
        state = fields.get("status", "installed").split()
        if fields.get("package") and not _GONE & {*state[-1:]}:
            package = Package(
                name=fields["package"],
                version=fields.get("version", ""),
                architecture=fields.get("architecture", ""),
                source=Origin.DEBIAN,
            )
            found.add(package)
    return tuple(sorted(found))


def _paragraphs(text: str) -> Iterator[dict[str, str]]:
    """The first line of every field, by its name, of each paragraph (deb822)."""
    fields: dict[str, str] = {}
    # Only a line feed ends a line, whatever Unicode has of the kind.
    for line in [*text.split("\n"), ""]:
        if not line.strip(" \t\r"):
            if fields:
                yield fields
            fields = {}
        elif line[0] not in " \t":
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()


def distribution(os_release: str) -> str:
    """As in ``debian-11``, from the text of an os-release file; empty where it does not say."""
    pairs = (line.partition("=")[::2] for line in os_release.splitlines())
    values = {name.strip(): value.strip().strip("\"'") for name, value in pairs}
    return "-".join(values[name] for name in ("ID", "VERSION_ID") if values.get(name))


def wheel(folder: str, metadata: bytes) -> Package:
    """The installed distribution whose ``*.dist-info`` folder is ``folder``."""
    raw, _ = parse_email(metadata)
    name, _, version = folder.removesuffix(".dist-info").rpartition("-")
    return Package(
        name=canonicalize_name(raw.get("name") or name),
        version=raw.get("version") or version,
        license=declared(
            raw.get("license_expression") or "",
            raw.get("license") or "",
            raw.get("classifiers") or (),
        ),
    )


def wheels(
    found: Iterable[Package],
    of_cann: Iterable[Package],
    target: Target,
    locked: Mapping[str, str],
    *,
    simulated: bool,
) -> tuple[Package, ...]:
    """The wheels of an image with their sources, sorted.

    ``found`` are those where the interpreter looks first, ``of_cann`` those that CANN's packages
    hold, and ``locked`` maps the names in the target's lock to their versions.
    """
    stand_ins = target.artifacts.keys() - target.real_artifacts.keys() if simulated else ()
    vendors = {
        name: Origin.SIMULATOR if component in stand_ins else Origin.VENDOR
        for component, name in vendor_wheel_names(target).items()
    }

    def source(package: Package) -> Origin:
        if package.name in vendors:
            return vendors[package.name]
        same = locked.get(package.name) == package.version
        return Origin.INDEX if same else Origin.UNKNOWN

    known = {replace(each, source=source(each)) for each in found}
    known |= {replace(each, source=Origin.CANN) for each in of_cann}
    return tuple(sorted(known))


def vendor_wheel_names(target: Target) -> dict[str, str]:
    """Component to the name, as in a lock, of the distribution in the wheel that is its file."""
    names = {}
    for component in target.vendor_wheels:
        try:
            names[component] = str(parse_wheel_filename(target.artifacts[component].name)[0])
        except InvalidWheelFilename:
            names[component] = canonicalize_name(component)
    return names


def vendor_packages(
    target: Target,
    components: Mapping[str, str],
    hashes: Mapping[str, str],
    *,
    simulated: bool,
) -> tuple[Package, ...]:
    """What came from the vendor's files, one for each component that has one, sorted.

    ``components`` are those that the image names, with their versions; ``hashes`` maps components
    to the sha256 of the files that it was built from, where they are known. Without one a file has
    the hash that was published, which its build has enforced; a stand-in has none.
    """
    found = []
    for component, file in target.artifacts.items():
        stand_in = simulated and component not in target.real_artifacts
        published = "" if stand_in else file.sha256
        package = Package(
            name=component,
            # As in "8.0.T39 (910b)".
            version=components.get(component, "").partition(" ")[0] or _version(target, component),
            architecture=target.docker_arch,
            source=Origin.SIMULATOR if stand_in else Origin.VENDOR,
            file=file.name,
            sha256=hashes.get(component, "") or published,
            place=file.origin,
        )
        found.append(package)
    return tuple(sorted(found))


def _version(target: Target, component: str) -> str:
    """Of what is no component of its own; of a source nothing but its file's name tells it."""
    own = target.vendor_wheels.get(component)
    return own.version if own else target.artifacts[component].name
