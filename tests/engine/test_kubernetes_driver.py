# SPDX-License-Identifier: Apache-2.0
"""What buildx asks of a cluster for the pool of docs/platform-teams.md.

No API server could be had, so one that only records stands in for it: it accepts the deployment,
says that all pods are ready, and refuses to run commands in them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from .conftest import ROOT

CONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: secret}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""

POOL = "/apis/apps/v1/namespaces/buildkit/deployments"
PODS = "/api/v1/namespaces/buildkit/pods"
TEMPLATE = {"metadata": {"labels": {"app": "pool0"}}, "spec": {"containers": [{"name": "b"}]}}
READY = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "pool0", "namespace": "buildkit"},
    "spec": {"selector": {"matchLabels": {"app": "pool0"}}, "template": TEMPLATE},
    "status": {"readyReplicas": 4},
}
POD = {"metadata": {"name": "pool0-1", "namespace": "buildkit"}, "status": {"phase": "Running"}}


class _Api(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]]
    sent: ClassVar[list[bytes]]

    def do_GET(self) -> None:
        self._hear()
        if PODS in self.path:
            self._answer(200, {"apiVersion": "v1", "kind": "PodList", "items": [POD]})
        elif self.sent:
            self._answer(200, READY)
        else:
            self._answer(404, {"kind": "Status", "apiVersion": "v1", "reason": "NotFound"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._hear()
        if self.path == POOL:
            self.sent.append(body)
            self._answer(201, READY)
        else:
            self._answer(403, {"kind": "Status", "apiVersion": "v1", "reason": "Forbidden"})

    def do_DELETE(self) -> None:
        self._hear()
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _hear(self) -> None:
        self.asked.append(f"{self.command} {self.path.partition('?')[0]}")

    def _answer(self, code: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Silent."""


def fields(message: bytes) -> dict[int, list[bytes]]:
    """Field number to values of a protobuf message; a number is the bytes of its text."""
    found: dict[int, list[bytes]] = {}
    while message:
        tag, message = _number(message)
        value, message = _number(message)
        own = str(value).encode()
        if tag & 7 == 2:
            own, message = message[:value], message[value:]
        found.setdefault(tag >> 3, []).append(own)
    return found


def _number(message: bytes) -> tuple[int, bytes]:
    end = next(place for place, byte in enumerate(message) if byte < 128) + 1
    return sum((byte & 127) << 7 * place for place, byte in enumerate(message[:end])), message[end:]


def at(message: bytes, *path: int) -> list[bytes]:
    """The values of the field that the numbers of ``path`` lead to."""
    found = [message]
    for number in path:
        found = [value for each in found for value in fields(each).get(number, [])]
    return found


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Api]]:
    recorder = type("Recorder", (_Api,), {"asked": [], "sent": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), recorder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    config = tmp_path / "kubeconfig"
    config.write_text(CONFIG.format(port=server.server_address[1]), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(config))
    monkeypatch.setenv("BUILDX_CONFIG", str(tmp_path / "buildx"))
    yield recorder
    server.shutdown()
    server.server_close()
    thread.join()


def documented(word: str) -> str:
    """The command of docs/platform-teams.md that begins with ``word``."""
    text = (ROOT / "docs" / "platform-teams.md").read_text(encoding="utf-8").replace("\\\n", "")
    match = re.search(rf"^ +({word} .*)$", text, re.MULTILINE)
    assert match, word
    return match[1]


def _run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], env={**os.environ}, capture_output=True, text=True, check=False
    )


def test_the_documented_pool_is_the_deployment_that_is_asked_for(api: type[_Api]) -> None:
    assert _run(documented("docker buildx create")).returncode == 0
    booted = _run(documented("docker buildx inspect"))
    assert booted.returncode == 0, booted.stderr
    [sent] = api.sent
    deployment = at(sent.removeprefix(b"k8s\0"), 2)[0]
    spec, pod = (2,), (2, 3, 2)
    container = (*pod, 2)
    assert at(deployment, *spec, 1) == [b"4"]
    assert at(deployment, *container, 2) == [b"moby/buildkit:buildx-stable-1"]
    assert [at(each, 1) + at(each, 2) for each in at(deployment, *pod, 7)] == [
        [b"kubernetes.io/arch", b"arm64"]
    ]
    requests = {at(each, 1)[0]: at(each, 2, 1)[0] for each in at(deployment, *container, 8, 2)}
    assert requests == {b"cpu": b"4", b"memory": b"8Gi"}
    assert at(deployment, *container, 15, 2) == [b"1"]  # privileged
    assert f"GET {PODS}" in api.asked
    assert _run("docker buildx rm pool").returncode == 0
    assert api.asked[-1] == f"DELETE {POOL}/pool0"
