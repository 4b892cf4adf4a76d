# SPDX-License-Identifier: Apache-2.0
"""The packages in an image: wheels, those of the distribution, and those of the vendor's files.

The image is not run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.metadata import parse_email
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from cannery.common.errors import EngineError, MatrixError, Problem
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.engine import containers
from cannery.engine.containers import stand_ins_in
from cannery.engine.images import ImageFiles
from cannery.fetch.needs import CANN
from cannery.image.plan import plan_image
from cannery.image.vendor_image import LABEL
from cannery.lock.debs import DEBS, Deb, debs_of
from cannery.lock.lock_file import Lock, parse_lock

RECORD = "/usr/local/share/cannery/target.json"
"""The file in an image that describes its target; see ``ImagePlan.image_record``."""

LOCK = "/usr/local/share/cannery/requirements.lock"
"""The file in an image with the lock that its wheels were installed from."""

BASE_IMAGE = "the base image"
"""The place of a package of the distribution that no layer of ours has."""

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
    RPM = "rpm"
    """A mirror of a distribution with rpm."""
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

    ``license`` is an SPDX expression or the package's own words. ``file`` is the name of the file
    that was installed, ``sha256`` its hash, and ``place`` where people get it. For a
    wheel that the build made they are about the sdist. ``upstream`` is the source package that a
    package of Debian was made of if its name or version differs, as in ``glibc@2.31-13``.
    """

    name: str
    version: str = ""
    license: str = ""
    architecture: str = ""
    source: Origin = Origin.UNKNOWN
    file: str = ""
    sha256: str = ""
    place: str = ""
    upstream: str = ""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """All packages of an image, sorted within each kind.

    ``debian`` are those of the distribution, Debian or another one, and ``vendor`` packages have
    the names of their components. ``distribution`` is as in ``debian-11``; ``simulated`` says
    whether stand-ins replace the vendor's files. ``components`` maps the names of the target's
    components to their versions, and ``vendor_image`` is the reference of the image that CANN was
    taken from, if it was.
    """

    wheels: tuple[Package, ...]
    debian: tuple[Package, ...]
    vendor: tuple[Package, ...]
    distribution: str = ""
    simulated: bool = False
    vendor_image: str = ""
    components: Mapping[str, str] = field(default_factory=dict)

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


def debian_packages(status: str, debs: Iterable[Deb] = ()) -> tuple[Package, ...]:
    """The installed packages, from the text of dpkg's ``status`` or a file in ``status.d``.

    ``debs`` are the files that the layers were made from; without any, files are unknown. All other
    packages are those of the base image.
    """
    files = {(deb.name, deb.version, deb.architecture): deb for deb in debs}
    packages = set()
    for fields in _paragraphs(status):
        # Images that another program than dpkg has made have no Status.
        state = fields.get("status", "installed").split()
        if fields.get("package") and not _GONE & {*state[-1:]}:
            # As in "glibc (2.31-13)".
            source, _, source_version = fields.get("source", "").partition(" ")
            package = Package(
                name=fields["package"],
                version=fields.get("version", ""),
                architecture=fields.get("architecture", ""),
                source=Origin.DEBIAN,
                place=BASE_IMAGE if files else "",
                upstream=f"{source}@{source_version.strip('()')}" if source_version else source,
            )
            if deb := files.get((package.name, package.version, package.architecture)):
                package = replace(package, file=deb.file, sha256=deb.sha256, place="")
            packages.add(package)
    return tuple(sorted(packages))


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
    installed: Iterable[Package],
    of_cann: Iterable[Package],
    target: Target,
    lock: Lock,
    *,
    simulated: bool,
) -> tuple[Package, ...]:
    """The wheels of an image with their sources and files, sorted.

    ``installed`` are those in the interpreter's site-packages, ``of_cann`` those of CANN,
    and ``lock`` is the one that the image was made from.
    """
    locked = {wheel.name: wheel for wheel in lock.wheels}
    stand_ins = target.artifacts.keys() - target.real_artifacts.keys() if simulated else ()
    vendors: dict[str, Origin] = {}
    for component in target.vendor_wheels:
        try:
            name = parse_wheel_filename(target.artifacts[component].name)[0]
        except InvalidWheelFilename:
            name = canonicalize_name(component)
        vendors[name] = Origin.SIMULATOR if component in stand_ins else Origin.VENDOR
    built = {wheel.package: wheel.requirement for wheel in target.built_wheels.values()}
    versions = plan_image(target, lock).installed

    def with_source(package: Package) -> Package:
        if package.name in vendors:
            return replace(package, source=vendors[package.name])
        wheel = locked.get(package.name)
        if wheel is None or versions[package.name] != package.version:
            return package
        if sdist := built.get(package.name):
            place = f"built from the sdist {sdist} of a package index"
            package = replace(package, source=Origin.BUILT, place=place)
        else:
            package = replace(package, source=Origin.INDEX)
        file = wheel.file_for(target.machine)
        return replace(package, file=file.name, sha256=file.sha256) if file else package

    packages = {with_source(package) for package in installed}
    packages |= {replace(package, source=Origin.CANN) for package in of_cann}
    return tuple(sorted(packages))


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
    If CANN was taken from an image, its packages have no file, and the image is their place.
    """
    packages = []
    for component, file in target.artifacts.items():
        wheel = target.vendor_wheels.get(component)
        stand_in = simulated and component not in target.real_artifacts
        published = "" if stand_in else file.sha256
        taken = bool(target.vendor_image) and component in CANN
        package = Package(
            name=component,
            version=wheel.file_version
            if wheel
            # As in "8.0.T39 (910b)".
            else components.get(component, "").partition(" ")[0] or file.name,
            architecture=target.docker_arch,
            source=Origin.SIMULATOR if stand_in else Origin.VENDOR,
            file="" if taken else file.name,
            sha256="" if taken else hashes.get(component, "") or published,
            place=f"the image {target.vendor_image}" if taken else file.origin,
        )
        packages.append(package)
    return tuple(sorted(packages))


_CLASSIFIER = "License :: "

_WORDS = {
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "new bsd license": "BSD-3-Clause",
    "bsd 2-clause": "BSD-2-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "mit license": "MIT",
    "the mit license": "MIT",
    "isc license (iscl)": "ISC",
    "mpl 2.0": "MPL-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "zlib/libpng license": "Zlib",
    "the unlicense (unlicense)": "Unlicense",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "gnu lesser general public license v3 or later (lgplv3+)": "LGPL-3.0-or-later",
}
"""Words in metadata and trove classifiers that mean exactly one licence of SPDX's list. Words that
may mean several are not here: 'BSD License', 'Apache Software License' (PEP 639 lists them)."""

_NOTHING = {"", "unknown", "none", "proprietary", "license", "see license", "see license file"}


def expression(words: str) -> str:
    """``words`` as an SPDX licence expression; empty if they have no such meaning."""
    try:
        return str(canonicalize_license_expression(words))
    except InvalidLicenseExpression:
        return _WORDS.get(" ".join(words.lower().split()), "")


def declared(license_expression: str, words: str, classifiers: Sequence[str]) -> str:
    """The declared licence: an SPDX expression if there is one, else the package's own words.

    The arguments are its ``License-Expression``, ``License`` and ``Classifier`` fields (PEP 639);
    the more specific ones take precedence. It is empty if nothing is declared.
    """
    named = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith(_CLASSIFIER)]
    texts = [text.strip() for text in (license_expression, words, *named)]
    texts = [text for text in texts if text.lower() not in _NOTHING]
    return next(filter(None, map(expression, texts)), texts[0] if texts else "")


_DPKG = "/var/lib/dpkg"
_OS_RELEASE = "/usr/lib/os-release"


def image_inventory(
    image: str, platform: str, target: Target, hashes: Mapping[str, str] | None = None
) -> Inventory:
    """The packages in the local image ``image`` of ``target``.

    ``hashes`` maps components to the sha256 of the vendor's files that it was built from, if they
    are known. The image is not run, so this needs no emulation.
    """
    with containers.unstarted(image, platform) as container:
        reader = ImageFiles(container)
        record = _record(reader, image, target)
        config = container.attrs["Config"]
        vendor_image = str((config.get("Labels") or {}).get(LABEL, ""))
        target = replace(target, vendor_image=vendor_image)
        simulated = bool(stand_ins_in(container, target))
        site_packages = record["site_packages"]
        pairs = (pair.partition("=")[::2] for pair in config.get("Env") or [])
        path = next((value for name, value in pairs if name == "PYTHONPATH"), "")
        # PYTHONPATH has the folders of CANN's Python packages.
        of_cann = {*filter(None, path.split(":"))} - {site_packages}
        try:
            lock = parse_lock(reader.text(LOCK))
        except MatrixError as error:
            raise EngineError(f"the lock {LOCK} in {image} is invalid.") from error
        return Inventory(
            wheels=wheels(
                _wheels(reader, site_packages),
                (package for place in of_cann for package in _wheels(reader, place)),
                target,
                lock,
                simulated=simulated,
            ),
            debian=_rpms(reader) or _debian(reader),
            vendor=vendor_packages(target, record["components"], hashes or {}, simulated=simulated),
            distribution=distribution(reader.text(_OS_RELEASE)),
            simulated=simulated,
            vendor_image=vendor_image,
            components=record["components"],
        )


def _record(reader: ImageFiles, image: str, target: Target) -> dict[str, Any]:
    text = reader.text(RECORD)
    fix = f"Build it again: python build.py --target {target.id}"
    try:
        record: dict[str, Any] = parse_json(text)
        if record["id"] != target.id:
            what = f"{image} is an image of {record['id']}, not of {target.id}."
            raise EngineError(Problem(what=what, fix=fix))
        return {key: record[key] for key in ("site_packages", "components")}
    except (ValueError, KeyError, TypeError) as error:
        what = f"the record {RECORD} in {image} is missing or invalid."
        raise EngineError(Problem(what=what, fix=fix)) from error


def _wheels(reader: ImageFiles, place: str) -> Iterator[Package]:
    def is_metadata(path: str) -> bool:
        folder, _, name = path.partition("/")
        return folder.endswith(".dist-info") and name == "METADATA"

    # With the dot the engine follows a link in place of the folder.
    for path, content in reader.files(f"{place}/.", is_metadata):
        yield wheel(posixpath.dirname(path), content)


def _debian(reader: ImageFiles) -> tuple[Package, ...]:
    texts = [reader.text(f"{_DPKG}/status")]
    separate = reader.files(f"{_DPKG}/status.d/.", lambda path: not path.endswith(".md5sums"))
    texts += [content.decode("utf-8", errors="replace") for _, content in separate]
    lists = reader.files(f"{DEBS}/.", lambda path: path.endswith(".txt"))
    debs = [deb for _, content in lists for deb in debs_of(content.decode(errors="replace"))]
    return debian_packages("\n\n".join(texts), debs)


RPMS = "/usr/local/share/cannery/rpms"
"""The folder in an image with ``_INSTALLED`` and, for each layer with packages, ``sha256sum`` of
the files that dnf downloaded."""

_INSTALLED = "installed.txt"
"""All packages after the last layer with packages: name, version, architecture and licence."""


def _rpms(reader: ImageFiles) -> tuple[Package, ...]:
    """The packages of a base with rpm, sorted; none on another one."""
    files = dict(reader.files(f"{RPMS}/.", lambda path: path.endswith(".txt")))
    texts = {name: content.decode(errors="replace") for name, content in files.items()}
    lines = (line.partition("  ") for text in texts.values() for line in text.splitlines())
    hashes = {file: sha256 for sha256, _, file in lines if file.endswith(".rpm")}
    packages = set()
    for line in texts.get(_INSTALLED, "").splitlines():
        match line.split("\t"):
            case [name, version, architecture, license_]:
                file = f"{name}-{version.rpartition(':')[2]}.{architecture}.rpm"
                package = Package(
                    name=name,
                    version=version,
                    license=license_,
                    architecture=architecture,
                    source=Origin.RPM,
                    file=file if file in hashes else "",
                    sha256=hashes.get(file, ""),
                    place="" if file in hashes else BASE_IMAGE,
                )
                packages.add(package)
    return tuple(sorted(packages))
