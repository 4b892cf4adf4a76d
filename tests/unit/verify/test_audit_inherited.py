# SPDX-License-Identifier: Apache-2.0
"""What an image that was made FROM one of cannery's must still have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.verify.audit.contents import judge_inherited
from cannery.verify.audit.facts import Origin, config_of
from cannery.verify.audit.report import Standing
from tests.unit.audits import DERIVED, FOREIGN, OURS, TARGET, dists, found_with


def standings(**changes: Any) -> dict[str, Standing]:
    every = judge_inherited(found_with(**changes), DERIVED)
    return {each.check: each.standing for each in every if each.standing is not Standing.PASSED}


def test_everything_is_inherited() -> None:
    assert standings() == {}
    assert [*judge_inherited(found_with(), FOREIGN)] == []


@pytest.mark.parametrize("torch", ["2.4.0", None])
def test_another_torch(torch: str | None) -> None:
    found = standings(distributions=dists(torch=torch))
    assert found == {
        "inherited/torch": Standing.BROKEN,
        "inherited/constraints": Standing.BROKEN,
    }


def test_a_version_that_the_image_holds() -> None:
    changed = standings(distributions=dists(numpy="2.1.0"))
    assert changed == {"inherited/constraints": Standing.BROKEN}


def test_the_guard_is_switched_off() -> None:
    assert standings(environment={"PIP_CONSTRAINT": ""}) == {"inherited/guard": Standing.NOTE}


def test_the_constraints_are_emptied() -> None:
    assert standings(constraints="") == {"inherited/guard": Standing.BROKEN}


def test_a_path_may_be_extended_but_not_replaced() -> None:
    path = found_with().environment["LD_LIBRARY_PATH"]
    assert standings(environment={"LD_LIBRARY_PATH": f"/opt/mine:{path}"}) == {}
    replaced = standings(environment={"LD_LIBRARY_PATH": "/opt/mine"})
    assert replaced == {"inherited/environment": Standing.BROKEN}


def test_another_python_comes_first() -> None:
    python = {"path": "/opt/conda/bin/python3.11", "version": "3.11.7"}
    assert standings(python=python) == {"inherited/python": Standing.BROKEN}


def test_the_record_was_deleted() -> None:
    assert standings(own_record=[]) == {"inherited/record": Standing.NOT_OURS}


def test_whose_an_image_is() -> None:
    assert [each.origin for each in (OURS, DERIVED, FOREIGN)] == [*Origin]
    assert DERIVED.later_steps == (
        "WORKDIR /app",
        "RUN /bin/sh -c pip install transformers # buildkit",
    )


def test_a_history_that_was_flattened_is_no_proof_of_an_own_image() -> None:
    assert replace(OURS, history=()).origin is Origin.DERIVED
    other = "LABEL org.opencontainers.image.title=theirs"
    assert replace(OURS, history=(other, *OURS.history)).later_steps == (other,)


def test_the_engine_s_words_about_an_image() -> None:
    inspected = {
        "Id": "sha256:9",
        "Architecture": "arm64",
        "Size": 5,
        "Config": {
            "Env": ["PATH=/bin", "A=b=c"],
            "User": "1000:100",
            "Entrypoint": None,
            "Cmd": ["/bin/bash"],
            "Labels": {"io.cannery.target": TARGET},
            "ExposedPorts": {"8888/tcp": {}, "22/tcp": {}},
        },
    }
    config = config_of("mine:1", inspected, ["RUN x"])
    assert config.environment == {"PATH": "/bin", "A": "b=c"}
    assert (config.ports, config.user, config.entrypoint) == ((22, 8888), "1000:100", ())
    assert config_of("mine:1", {"Id": "x", "Config": None}, []).labels == {}
