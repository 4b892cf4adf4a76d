# SPDX-License-Identifier: Apache-2.0
"""What platforms ask of an image, as data; and whether an image has it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from cannery.common.errors import MatrixError, Problem, UsageError, did_you_mean
from cannery.common.models import Model, SchemaVersion, Unique, read_yaml
from cannery.verify.audit.found import ImageConfig, ImageFacts, User
from cannery.verify.audit.result import Result, Standing

OWN_FILE = Path(__file__).with_name("profiles.yaml")
"""The profiles that cannery has."""

_INITS = ("tini", "dumb-init", "docker-init", "catatonit")
"""Programs that only start the command that they are given."""

Id = Annotated[int, Field(ge=0, lt=2**31)]


class WantedUser(Model):
    """A user that must exist."""

    name: str
    uid: Id | None = None
    gid: Id | None = None
    folder: str = Field(default="", alias="home")


class Profile(Model):
    """What a platform asks for.

    ``environment``: CANN's variables in ENV; ``entrypoint`` none: an ENTRYPOINT that changes
    nothing; ``run_as``: the user of the image; ``not_set``: variables that the platform sets.
    """

    name: SkipJsonSchema[str] = Field(default="", alias=":name")  # the key, which :name cannot be
    about: str
    source: str = ""
    environment: bool = False
    entrypoint: Literal["any", "none"] = "any"
    programs: Unique[str] = ()
    users: tuple[WantedUser, ...] = ()
    run_as: str = ""
    ports: Unique[Annotated[int, Field(ge=0, lt=1 << 16)]] = ()
    not_set: Unique[str] = ()


class ProfilesFile(Model):
    """Profiles: what platforms ask of images."""

    schema_: Annotated[str, SchemaVersion(1)] = Field(alias="schema")
    profiles: dict[str, Profile]

    @field_validator("profiles")
    @classmethod
    def _named(cls, profiles: dict[str, Profile]) -> dict[str, Profile]:
        return {
            name: profile.model_copy(update={"name": name}) for name, profile in profiles.items()
        }


Profiles = Mapping[str, Profile]


def read_profiles(path: Path) -> Profiles:
    """The profiles in the file ``path``, by name.

    Raises:
        FileError: it cannot be read.
        MatrixError: with every problem, each with its line.
    """
    return read_yaml(ProfilesFile, path).profiles


def own_profiles(path: Path) -> Profiles:
    """The profiles of a user's file."""
    try:
        return read_profiles(path)
    except MatrixError as error:
        raise UsageError(error.problems) from error


def select_profiles(names: Iterable[str], known: Profiles) -> tuple[Profile, ...]:
    """The profiles called ``names``."""
    wanted = [*dict.fromkeys(names)]
    problems = [
        Problem(what=f"there is no profile {name!r}.", fix=did_you_mean(name, known))
        for name in wanted
        if name not in known
    ]
    if problems:
        raise UsageError(problems)
    return tuple(known[name] for name in wanted)


def judge_profile(profile: Profile, found: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    """One result for each thing that ``profile`` asks for."""
    yield from _environment(profile, found)
    yield from _entrypoint(profile, config)
    for name in profile.programs:
        has = name in found.programs
        text = f"The image has {name}." if has else f"The image has no {name}."
        yield _result(profile, name, text, good=has, fix=f"Install {name}.")
    for user in profile.users:
        yield _user_result(profile, user, found.users)
    if profile.run_as:
        yield _run_as(profile, found, config)
    for port in profile.ports:
        has = port in config.ports
        text = f"The image exposes port {port}."
        if not has:
            text = f"The image does not expose port {port}. Whether its command listens there was "
            text += "not checked."
        fix = f"Let its command listen on port {port}, and add EXPOSE {port}."
        result = _result(profile, f"port-{port}", text, good=has, fix=fix)
        yield result if has else replace(result, standing=Standing.NOT_OURS)
    for name in profile.not_set:
        free = name not in config.environment
        text = f"{name} is left to the platform."
        if not free:
            text = f"ENV sets {name}={config.environment[name]}, which the platform sets itself."
        yield _result(profile, name, text, good=free, fix=f"Leave {name} out of ENV.")


def _result(
    profile: Profile,
    name: str,
    text: str,
    *,
    good: bool,
    fix: str,
) -> Result:
    return Result(
        check=f"profile/{profile.name}/{name}",
        standing=Standing.PASSED if good else Standing.BROKEN,
        text=text,
        fix="" if good else fix,
        sources=(profile.source,) if profile.source else (),
    )


def _environment(profile: Profile, found: ImageFacts) -> Iterator[Result]:
    if profile.environment and found.cann:
        good = bool(found.environment.get("ASCEND_HOME_PATH"))
        text = "CANN's variables are in ENV." if good else "CANN's variables are not in ENV."
        fix = "Set in the Dockerfile, with ENV, what set_env.sh sets."
        yield _result(profile, "environment", text, good=good, fix=fix)


def _entrypoint(profile: Profile, config: ImageConfig) -> Iterator[Result]:
    if profile.entrypoint == "any":
        return
    good = not config.entrypoint or posixpath.basename(config.entrypoint[0]) in _INITS
    good = good and all(word.startswith("-") for word in config.entrypoint[1:])
    text = "Its ENTRYPOINT leaves the command as it is."
    if not good:
        text = f"Its ENTRYPOINT is {' '.join(config.entrypoint)!r}; the platform starts a command "
        text += "of its own, with it or without it."
    fix = "Remove ENTRYPOINT, and set with ENV what it sets."
    yield _result(profile, "entrypoint", text, good=good, fix=fix)


def _user_result(profile: Profile, wanted: WantedUser, users: Iterable[User]) -> Result:
    user = next((each for each in users if each.name == wanted.name), None)
    wrong = []
    if user is None:
        wrong.append(f"there is no user {wanted.name}")
    else:
        if wanted.uid not in (None, user.uid):
            wrong.append(f"the uid of {user.name} is {user.uid}, not {wanted.uid}")
        if wanted.gid not in (None, user.gid):
            wrong.append(f"the gid of {user.name} is {user.gid}, not {wanted.gid}")
        if wanted.folder not in ("", user.folder):
            wrong.append(f"the home of {user.name} is {user.folder}, not {wanted.folder}")
    text = "; ".join(wrong) or f"there is the user {wanted.name}"
    options = f" --uid {wanted.uid}" if wanted.uid is not None else ""
    options += f" --gid {wanted.gid}" if wanted.gid is not None else ""
    options += f" --home-dir {wanted.folder}" if wanted.folder else ""
    fix = f"RUN useradd --create-home{options} {wanted.name}"
    name = f"user-{wanted.name}"
    return _result(profile, name, text[:1].upper() + text[1:] + ".", good=not wrong, fix=fix)


def _run_as(profile: Profile, found: ImageFacts, config: ImageConfig) -> Result:
    wanted, own = profile.run_as, config.user.partition(":")[0] or "root"
    names = {str(each.uid): each.name for each in found.users} | {"0": "root"}
    own = names.get(own, own)
    fix = f"USER {wanted}"
    return _result(profile, "user", f"The image runs as {own}.", good=own == wanted, fix=fix)
