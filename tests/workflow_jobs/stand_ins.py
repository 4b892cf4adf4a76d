# SPDX-License-Identifier: Apache-2.0
"""What is not as it would be on the services' machines, and why."""

from __future__ import annotations

ACTIONS = {
    "actions/checkout": (
        "clones the commit from a local server, which has the working tree of this checkout; "
        "`.venv` and `.cannery` are those of the first job"
    ),
    "actions/upload-artifact": (
        "copies files into a folder of the run; it leaves out hidden files and refuses a "
        "second artifact of the same name, as the action does"
    ),
    "actions/download-artifact": "copies files from that folder, and fails if there are none",
    "actions/upload-pages-artifact": "packs the site as a tar file into that folder",
    "actions/deploy-pages": "unpacks the site, and fails without an index.html",
    "actions/setup-python": "checks that the container has this Python",
    "sigstore/cosign-installer": "installs Debian's cosign",
}
"""Action to its stand-in in tests/workflow_jobs/actions."""

OTHERS = (
    (
        "github.com and api.github.com",
        (
            "a server on loopback with TLS: git over HTTP, and the API as far as `gh` calls "
            "it; it refuses a push or a call without the job's token"
        ),
        "GitHub cannot be reached",
    ),
    (
        "runners",
        (
            "containers of Debian 12 with the programs of the hosted runners that jobs use; "
            "the socket of this machine's engine is mounted"
        ),
        "native arm64 runners cannot be had; arm64 is emulated where it is not native",
    ),
    (
        "`/dev/davinci0`, `npu-smi`",
        ("a device node and a program of the tests, so that the step that looks for an NPU passes"),
        "there is no NPU",
    ),
    (
        "`build.py build`, `test` and `push` of the jobs with an NPU",
        (
            "the simulated device: a folder on `PYTHONPATH`, which only the session gives, "
            "has a sitecustomize.py that adds `--simulate`, and `--allow simulated` to `push`"
        ),
        "the vendor's files and an NPU cannot be had",
    ),
    (
        "`pytest` in `check`, `suite` and `page`",
        "a plugin keeps one file of each session: tests/workflow_jobs/sample.py",
        "the sessions run for every change; the jobs themselves are tried here",
    ),
    (
        "the matrix of `build`",
        (
            "the commit before differs in one target, which is the only one selected; the server "
            "says that its pipeline on GitLab was green"
        ),
        "all targets take hours",
    ),
    (
        "step `Create a builder that can write a cache`",
        ("skipped: the pull request comes from a fork, for which this is the workflow's own rule"),
        "ghcr.io cannot be reached, and the image of BuildKit cannot be pulled",
    ),
    (
        "the registry of `npu`, `release` and `publish`",
        "a docker-registry on loopback that wants a password",
        "the jobs push to a company's own",
    ),
    (
        "the images that `scan` finds in the registry, and the scanner",
        (
            "images of one small file, with the SBOM and the record of one; a program that "
            "imitates grype knows a made-up vulnerability"
        ),
        "an image of a target takes minutes to push, and no index has a scanner",
    ),
    (
        "GitLab's server and runner",
        "gitlab-ci-local, with its shell executor, in such a container",
        "gitlab-runner needs a server of GitLab, and neither is in Debian",
    ),
    (
        "permissions, environments, concurrency",
        "not simulated",
        "act and gitlab-ci-local know neither approvals nor scopes of tokens",
    ),
)
"""The rest: what is replaced, by what, and why."""
