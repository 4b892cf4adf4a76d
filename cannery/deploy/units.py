# SPDX-License-Identifier: Apache-2.0
"""Files for podman's quadlet and for dev containers.

Sources: podman-systemd.unit(5) of podman 5.4 (ShmSize is from 4.7 on); systemd.syntax(7) and
systemd.service(5), for which '%' begins a specifier and '$' a variable; containers.dev,
json_reference, which replaces '${...}' in every text.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator

from cannery.deploy.run_spec import RunSpec, mount_option, tmpfs_option
from cannery.deploy.workload import IDLE, Workload, run_spec

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quadlet_text(workload: Workload) -> str:
    """A unit with one container, which systemd starts and restarts."""
    name = workload.asked.name or workload.name
    head = [
        workload.title,
        f"Save it as {name}.container in /etc/containers/systemd; then:",
        f"systemctl daemon-reload && systemctl start {name}",
        "Or without root in ~/.config/containers/systemd, and each time with 'systemctl --user'.",
        f"To open a shell in it: podman exec --interactive --tty {name} bash",
    ]
    lines = [
        *(f"# {line}" for line in head),
        "[Unit]",
        f"Description={_literal(workload.title)}",
        "",
        "[Container]",
        *(f"{key}={value}" for key, value in _container(workload, name)),
        "",
        "[Service]",
        "# The first start pulls the image.",
        "TimeoutStartSec=1800",
        "Restart=on-failure",
        "",
        "[Install]",
        "WantedBy=multi-user.target default.target",
    ]
    return "\n".join(lines) + "\n"


def _container(workload: Workload, name: str) -> Iterator[tuple[str, str]]:
    spec = run_spec(workload)
    yield "Image", workload.image
    yield "ContainerName", name
    yield "PodmanArgs", f"--platform {workload.target.platform}"
    yield "Exec", " ".join(map(_word, workload.command or IDLE))
    yield "RunInit", "true"
    yield "ShmSize", spec.shm_size
    if spec.asked.network:
        yield "Network", _literal(spec.asked.network)
    yield from _rights(spec)
    for device in spec.devices:
        yield "AddDevice", device
    for source, where in spec.mounts.items():
        yield "Mount", mount_option(source, where)
    for source, where in workload.volumes.items():
        # A volume with a name, because podman makes no folder.
        yield "Volume", f"{name}-{posixpath.basename(source)}:{where}"
    for source, where in workload.mounts.items():
        yield "Volume", f"{source}:{where}"
    for ports in spec.ports:
        yield "PublishPort", ports
    for variable, value in {**spec.environment, **spec.asked.environment}.items():
        yield "Environment", _word(f"{variable}={value}")


def _rights(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """The user, and the files that it may write."""
    user, _, group = spec.user.partition(":")
    if user:
        yield "User", user
    if group:
        yield "Group", group
    if spec.unprivileged:
        yield "DropCapability", "all"
        yield "NoNewPrivileges", "true"
    if spec.read_only:
        yield "ReadOnly", "true"
    for path in spec.tmpfs:
        yield "Tmpfs", tmpfs_option(path)
    if spec.folder:
        yield "WorkingDir", spec.folder


def _literal(value: str) -> str:
    """``value`` with escapes for the specifiers and variables of systemd."""
    return value.replace("%", "%%").replace("$", "$$")


def _word(value: str) -> str:
    """One word of a line of systemd."""
    quoted = "".join(_ESCAPES.get(letter, letter) for letter in _literal(value))
    return f'"{quoted}"'


def devcontainer_text(workload: Workload) -> str:
    """A devcontainer.json, whose container waits for an editor."""
    # The words between 'docker run --rm' and the image.
    options = run_spec(workload).docker_argv(workload.image, workload.target.platform, ())[3:-1]
    document = {
        "name": workload.title,
        "image": workload.image,
        "init": True,
        "overrideCommand": True,
        # Otherwise an image is built in which a user has another number.
        "updateRemoteUserUID": False,
        "runArgs": options,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
