# SPDX-License-Identifier: Apache-2.0
"""Reads an image out of a registry: its config, and the files of its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cannery.common import console
from cannery.common.errors import Problem, UsageError, counted
from cannery.publish.layer_files import Entries
from cannery.publish.saved_layers import blob_layer
from cannery.registry.client import Repository
from cannery.registry.errors import RegistryError
from cannery.registry.oci import ATTESTED, Descriptor, Document, manifest_contents


@dataclass(frozen=True, kw_only=True)
class RegistryImage:
    """The image of one platform: its parsed config, and its layers as the registry stores them."""

    name: str
    repository: Repository
    config: Mapping[str, Any]
    layers: Sequence[Descriptor]

    def read_layers(self) -> list[tuple[str, Entries]]:
        """The digest of the uncompressed content of each layer, and its files.

        Raises:
            RegistryError: a layer is missing, is damaged, or is not a layer.
        """
        found = []
        for number, blob in enumerate(self.layers, 1):
            place = f"{self.name}, layer {number} of {len(self.layers)}"
            console.say(f"reading {place} ({blob.size / 1e6:,.1f} MB)")
            try:
                found.append(self.repository.read_blob(blob, blob_layer))
            except RegistryError as error:
                [said] = error.problems
                told = Problem(what=f"{place}: {said.what}", fix=said.fix)
                raise RegistryError(told, status=error.status) from error
            except ValueError as error:
                what = f"{place}: {blob.digest}: {error}."
                raise RegistryError(Problem(what=what)) from error
        return found


def read_image(repository: Repository, version: str) -> RegistryImage:
    """The image ``version``, a tag or a digest, which has to be for one platform.

    Raises:
        UsageError: it does not exist, or is for several platforms.
        RegistryError: the registry cannot be reached or denies access; or it is not an image.
    """
    name = repository.at(version)
    document = repository.manifest(version)
    if document is None:
        fix = "Check the reference; 'docker login HOST' stores a login."
        raise UsageError(Problem(what=f"{name} does not exist.", fix=fix))
    try:
        manifest = _manifest(repository, name, document)
        config, *layers = manifest_contents(manifest).blobs
        loaded = repository.read_config(config)
    except (ValueError, LookupError, TypeError) as error:
        fix = "Check the name; if it is right, push the image again."
        raise RegistryError(Problem(what=f"{name} is not an image.", fix=fix)) from error
    return RegistryImage(name=name, repository=repository, config=loaded, layers=layers)


def _manifest(repository: Repository, name: str, document: Document) -> Document:
    """The manifest of the only platform.

    Raises:
        UsageError: there are several platforms.
        ValueError, LookupError: this is not an image.
    """
    entries = [each for each in manifest_contents(document).manifests if each.platform != ATTESTED]
    if not entries:
        return document
    if len(entries) > 1:
        known = ", ".join(f"{repository.at(each.digest)} ({each.platform})" for each in entries)
        what = f"{name} has {counted(len(entries), 'image')}."
        raise UsageError(Problem(what=what, fix=f"Name one of them: {known}."))
    inner = repository.manifest(entries[0].digest)
    if inner is None:
        raise LookupError(entries[0].digest)
    return inner
