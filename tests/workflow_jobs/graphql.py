# SPDX-License-Identifier: Apache-2.0
"""Answers to the GraphQL requests of ``gh``, as far as the jobs make them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_ADDRESS = "https://github.com/someone/cannery/pull"
Variables = dict[str, Any]


@dataclass
class PullRequests:
    """The open pull requests, each as the arguments that it was made or last edited with."""

    opened: list[Variables] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def answer(self, query: str, variables: Variables) -> Variables:
        """The data that a request is answered with.

        Raises:
            KeyError: no job has made such a request before.
        """
        [operation] = re.findall(r"\b(?:query|mutation) (\w+)", query)
        self.calls.append(operation)
        return self._operations()[operation](variables)

    def _operations(self) -> dict[str, Callable[[Variables], Variables]]:
        return {
            "RepositoryInfo": lambda _: {"repository": _REPOSITORY},
            "PullRequestForBranch": lambda given: {"repository": self._of(given["headRefName"])},
            "PullRequestList": lambda given: {"repository": self._of(given["headBranch"])},
            "PullRequestCreate": self._create,
        }

    def _of(self, branch: str) -> Variables:
        nodes = [_node(n, each) for n, each in enumerate(self.opened, 1)]
        return {"pullRequests": _nodes([n for n in nodes if n["headRefName"] == branch])}

    def _create(self, given: Variables) -> Variables:
        self.opened.append(given["input"])
        node = _node(len(self.opened), given["input"])
        return {"createPullRequest": {"pullRequest": node}}

    def edit(self, number: int, changes: Mapping[str, Any]) -> Variables:
        """Change an open pull request, as the REST API does."""
        self.calls.append("PATCH pulls")
        self.opened[number - 1] |= changes
        return {"number": number}


_REPOSITORY = {
    "id": "R_1",
    "name": "cannery",
    "owner": {"login": "someone"},
    "hasIssuesEnabled": True,
    "description": "",
    "hasWikiEnabled": False,
    "viewerPermission": "WRITE",
    "defaultBranchRef": {"name": "main"},
    "mergeCommitAllowed": True,
    "rebaseMergeAllowed": True,
    "squashMergeAllowed": True,
}


def _nodes(nodes: list[Variables]) -> Variables:
    return {"totalCount": len(nodes), "nodes": nodes, "pageInfo": {"hasNextPage": False}}


def _node(number: int, given: Variables) -> Variables:
    return {
        "id": f"PR_{number}",
        "number": number,
        "url": f"{_ADDRESS}/{number}",
        "state": "OPEN",
        "title": given["title"],
        "body": given["body"],
        "headRefName": given["headRefName"],
        "baseRefName": given["baseRefName"],
        "isCrossRepository": False,
        "headRepositoryOwner": {"login": "someone"},
    }
