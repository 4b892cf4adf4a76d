# SPDX-License-Identifier: Apache-2.0
"""transformers 4.28.1 with DeepSpeed 0.6.0, as LLaMA-13B was trained with FastChat."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]


def test_transformers(facts: Facts) -> None:
    """transformers is the version whose files the recipe replaces."""
    assert facts["distributions"]["transformers"]["version"] == "4.28.1"


def test_launcher_imports_the_plugin(host: Host) -> None:
    """The DeepSpeed launcher imports deepspeed_npu before anything else."""
    lines = host.file("/usr/local/bin/deepspeed").content_string.splitlines()
    assert lines[1] == "import deepspeed_npu"


def test_pdsh(host: Host) -> None:
    """pdsh, through which the launcher starts other hosts, is there."""
    assert host.run("pdsh -V").rc == 0
