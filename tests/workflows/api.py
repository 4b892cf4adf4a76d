# SPDX-License-Identifier: Apache-2.0
"""A server on this machine that answers, of GitHub's and GitLab's API, which runs were green."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

RUNS = "/repos/somebody/cannery/actions/workflows/ci.yml/runs"
DEPLOYMENTS = "/projects/7/deployments"


@dataclass
class Api:
    """``runs`` and ``deployments`` are as the services keep them, newest first."""

    address: str = ""
    runs: list[dict[str, str]] = field(default_factory=list)
    deployments: list[dict[str, str]] = field(default_factory=list)
    broken: bytes = b""

    def ran(self, commit: str, conclusion: str, event: str = "push") -> None:
        """A run of the branch main has ended, on both services."""
        run = {"head_sha": commit, "conclusion": conclusion, "event": event, "branch": "main"}
        self.runs.insert(0, run)
        status = "success" if conclusion == "success" else "canceled"
        self.deployments.insert(0, {"sha": commit, "status": status, "ref": "main"})

    def answer(self, path: str, query: Mapping[str, str], token: str) -> Any:
        """What the service would say, or None for 404."""
        if (path, token) == (RUNS, "token x"):
            wanted = {"branch": query["branch"], "conclusion": query["status"]}
            rows = [run for run in self.runs if wanted.items() <= run.items()]
            return {"total_count": len(rows), "workflow_runs": rows[: int(query["per_page"])]}
        if (path, token) == (DEPLOYMENTS, "x"):
            assert (query["environment"], query["sort"]) == ("green", "desc")
            return [item for item in self.deployments if item["status"] == query["status"]]
        return None

    @property
    def of_github(self) -> dict[str, str]:
        """The variables of a job of a push to main."""
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.address,
            "GITHUB_REPOSITORY": "somebody/cannery",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_REF_NAME": "main",
            "GH_TOKEN": "x",
        }

    @property
    def of_gitlab(self) -> dict[str, str]:
        """The variables of a job of a push to main."""
        return {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": self.address,
            "CI_PROJECT_ID": "7",
            "CI_PIPELINE_SOURCE": "push",
            "CI_COMMIT_BRANCH": "main",
            "CI_JOB_TOKEN": "x",
        }


@contextmanager
def serving() -> Iterator[Api]:
    """An API without runs."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Silent."""

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            token = self.headers.get("Authorization") or self.headers.get("JOB-TOKEN") or ""
            result = api.answer(asked.path, query, token)
            self.send_response(404 if result is None else 200)
            self.end_headers()
            self.wfile.write(api.broken or json.dumps(result).encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        api.address = f"http://127.0.0.1:{server.server_port}"
        yield api
        server.shutdown()
