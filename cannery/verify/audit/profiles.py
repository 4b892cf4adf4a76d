# SPDX-License-Identifier: Apache-2.0
"""Profiles: the requirements of platforms on an image, as data; and their checks."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from cannery.common.errors import MatrixError, Problem, UsageError, did_you_mean
from cannery.common.models import NUMBER, Model, SchemaVersion, Unique, read_yaml
from cannery.verify.audit.facts import ImageConfig, ImageFacts, User
from cannery.verify.audit.report import Result, Standing

_INITS = ("tini", "dumb-init", "docker-init", "catatonit")
"""Programs that only start the command that they are given."""

Id = Annotated[int, Field(ge=0, lt=2**31), NUMBER]


class WantedUser(Model):
    """A user that must exist; -1 and "" stand for any."""

    name: str
    uid: Id = -1
    gid: Id = -1
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
    ports: Unique[Annotated[int, Field(ge=0, lt=1 << 16), NUMBER]] = ()
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


def read_profiles(user_file: Path | None = None) -> Profiles:
    """The profiles of cannery, and those of a user's file, by name."""
    builtin = Path(__file__).with_name("profiles.yaml")
    profiles = dict(read_yaml(ProfilesFile, builtin).profiles)
    if user_file:
        try:
            profiles |= read_yaml(ProfilesFile, user_file).profiles
        except MatrixError as error:
            raise UsageError(error.problems) from error
    return profiles


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


def judge_profile(profile: Profile, facts: ImageFacts, config: ImageConfig) -> Iterator[Result]:
    """One result for each requirement of ``profile``."""

    def result(name: str, good: bool, text: str, wrong: str, fix: str) -> Result:
        return Result(
            check=f"profile/{profile.name}/{name}",
            standing=Standing.PASSED if good else Standing.BROKEN,
            text=text if good else wrong,
            fix="" if good else fix,
            sources=(profile.source,) if profile.source else (),
        )

    if profile.environment and facts.cann:
        good = bool(facts.environment.get("ASCEND_HOME_PATH"))
        text, wrong = "CANN's variables are in ENV.", "CANN's variables are not in ENV."
        fix = "Set in the Dockerfile, with ENV, what set_env.sh sets."
        yield result("environment", good, text, wrong, fix)
    if profile.entrypoint == "none":
        good = not config.entrypoint or posixpath.basename(config.entrypoint[0]) in _INITS
        good = good and all(word.startswith("-") for word in config.entrypoint[1:])
        wrong = f"Its ENTRYPOINT is {' '.join(config.entrypoint)!r}; the platform starts a command "
        wrong += "of its own, with it or without it."
        fix = "Remove ENTRYPOINT, and set with ENV what it sets."
        yield result("entrypoint", good, "Its ENTRYPOINT leaves the command as it is.", wrong, fix)
    for name in profile.programs:
        text, wrong = f"The image has {name}.", f"The image has no {name}."
        yield result(name, name in facts.programs, text, wrong, f"Install {name}.")
    for user in profile.users:
        problems = _problems(user, facts.users)
        options = f" --uid {user.uid}" if user.uid >= 0 else ""
        options += f" --gid {user.gid}" if user.gid >= 0 else ""
        options += f" --home-dir {user.folder}" if user.folder else ""
        wrong = "; ".join(problems)
        wrong = f"{wrong[:1].upper()}{wrong[1:]}."
        fix = f"RUN useradd --create-home{options} {user.name}"
        text = f"There is the user {user.name}."
        yield result(f"user-{user.name}", not problems, text, wrong, fix)
    if profile.run_as:
        user_name = config.user.partition(":")[0] or "root"
        names = {str(user.uid): user.name for user in facts.users} | {"0": "root"}
        user_name = names.get(user_name, user_name)
        text, good = f"The image runs as {user_name}.", user_name == profile.run_as
        yield result("user", good, text, text, f"USER {profile.run_as}")
    for port in profile.ports:
        good = port in config.ports
        wrong = f"The image does not expose port {port}. Whether its command listens there was "
        wrong += "not checked."
        fix = f"Let its command listen on port {port}, and add EXPOSE {port}."
        exposed = result(f"port-{port}", good, f"The image exposes port {port}.", wrong, fix)
        yield exposed if good else replace(exposed, standing=Standing.NOT_OURS)
    for name in profile.not_set:
        wrong = f"ENV sets {name}={config.environment.get(name)}, which the platform sets itself."
        text, fix = f"{name} is left to the platform.", f"Leave {name} out of ENV."
        yield result(name, name not in config.environment, text, wrong, fix)


def _problems(wanted: WantedUser, users: Iterable[User]) -> list[str]:
    user = next((user for user in users if user.name == wanted.name), None)
    if user is None:
        return [f"there is no user {wanted.name}"]
    wrong = []
    if wanted.uid not in (-1, user.uid):
        wrong.append(f"the uid of {user.name} is {user.uid}, not {wanted.uid}")
    if wanted.gid not in (-1, user.gid):
        wrong.append(f"the gid of {user.name} is {user.gid}, not {wanted.gid}")
    if wanted.folder not in ("", user.folder):
        wrong.append(f"the home of {user.name} is {user.folder}, not {wanted.folder}")
    return wrong
