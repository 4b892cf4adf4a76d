# SPDX-License-Identifier: Apache-2.0
"""The contents of an image: wheels, Debian packages, and packages from the vendor's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from packaging.metadata import parse_email
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from cannery.model import Target
from cannery.publish.licenses import declared

RECORD = "/usr/local/share/cannery/target.json"
"""The file in an image that describes its target; see ``cannery.image.record``."""

_GONE = {"not-installed", "config-files"}
"""The last word of dpkg's Status for a package that is removed, perhaps except its settings."""


class Origin(StrEnum):
    """The source of a package in an image."""

    INDEX = "index"
    """A package index; the target's lock has its hashes."""
    BUILT = "built"
    """An sdist of a package index, from which the build made the wheel."""
    DEBIAN = "debian"
    """A Debian mirror."""
    VENDOR = "vendor"
    """A file from the vendor, which no package index serves."""
    CANN = "cann"
    """One of CANN's packages."""
    SIMULATOR = "simulator"
    """A stand-in of the software device for a vendor's file."""
    UNKNOWN = ""
    """Unknown: no input of the build names it."""


@dataclass(frozen=True, kw_only=True, order=True)
class Package:
    """One package. Every field except ``name`` may be empty if it is unknown.

    ``license`` is an SPDX expression or the package's own words. ``file`` is the name of the
    vendor's file that was installed, ``sha256`` its hash, and ``place`` where people get it. For a
    wheel that the build made they are about the sdist.
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
    """All packages of an image, sorted within each kind.

    ``vendor`` packages have the names of their components. ``distribution`` is as in ``debian-11``;
    ``simulated`` says whether stand-ins replace the vendor's files.
    """

    wheels: tuple[Package, ...]
    debian: tuple[Package, ...]
    vendor: tuple[Package, ...]
    distribution: str = ""
    simulated: bool = False

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Kind to name to version, as the record of a push has it."""
        return {
            kind: {package.name: package.version for package in packages}
            for kind, packages in (
                ("wheels", self.wheels),
                ("debian", self.debian),
                ("vendor", self.vendor),
            )
        }


def debian_packages(status: str) -> tuple[Package, ...]:
    """The installed packages, from the text of dpkg's ``status`` or a file in ``status.d``."""
    found = set()
    for fields in _paragraphs(status):
        # Images that another program than dpkg has made have no Status.
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
    """As in ``debian-11``, from the text of an os-release file; empty if it names none."""
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

    ``found`` are those in the interpreter's site-packages, ``of_cann`` those in CANN's packages,
    and ``locked`` maps the names in the target's lock to their versions.
    """
    stand_ins = target.artifacts.keys() - target.real_artifacts.keys() if simulated else ()
    vendors = {
        name: Origin.SIMULATOR if component in stand_ins else Origin.VENDOR
        for component, name in vendor_wheel_names(target).items()
    }

    built = {wheel.package: wheel.requirement for wheel in target.built_wheels.values()}

    def sourced(package: Package) -> Package:
        name = package.name
        if name in vendors:
            return replace(package, source=vendors[name])
        if locked.get(name) != package.version:
            return replace(package, source=Origin.UNKNOWN)
        if name not in built:
            return replace(package, source=Origin.INDEX)
        place = f"built from the sdist {built[name]} of a package index"
        return replace(package, source=Origin.BUILT, place=place)

    known = {sourced(each) for each in found}
    known |= {replace(each, source=Origin.CANN) for each in of_cann}
    return tuple(sorted(known))


def with_sdists(inventory: Inventory, hashes: Mapping[str, Sequence[str]]) -> Inventory:
    """``inventory`` with the sha256 of the sdists of its built wheels.

    ``hashes`` maps packages to those of the files that the lock allows; of several, it is unknown
    which one is the sdist's.
    """

    def hashed(package: Package) -> Package:
        allowed = hashes.get(package.name, ())
        is_known = package.source is Origin.BUILT and len(allowed) == 1
        return replace(package, sha256=allowed[0]) if is_known else package

    return replace(inventory, wheels=tuple(map(hashed, inventory.wheels)))


def vendor_wheel_names(target: Target) -> dict[str, str]:
    """Component to the normalized name of the distribution in its wheel from the vendor."""
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
    """The packages from the vendor's files, one for each component that has a file, sorted.

    ``components`` maps the components that the image names to their versions; ``hashes`` maps
    components to the sha256 of the files that it was built from, as far as they are known. Without
    one, a file has the published hash, which the build has enforced, and a stand-in has none.
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
    """The version of a file that is not a component; for a source, the file's name."""
    own = target.vendor_wheels.get(component)
    return own.version if own else target.artifacts[component].name
