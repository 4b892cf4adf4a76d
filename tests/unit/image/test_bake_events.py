# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cannery.image.bake_events import Event, EventKind, Events, short
from tests.unit.rawjson import ERROR, compact, done, log, spread, started, status, vertex

Style = Callable[[Iterable[dict[str, Any]]], str]


def told(events: Events, text: str) -> list[Event]:
    return [event for line in text.splitlines(keepends=True) for event in events.feed(line)]


@pytest.fixture(params=[compact, spread])
def style(request: pytest.FixtureRequest) -> Style:
    found: Style = request.param
    return found


def test_the_life_of_steps_of_two_targets(style: Style) -> None:
    events = Events(["a", "b-1"])
    said = [
        started("[internal] load local bake definitions"),
        vertex("[a os 1/2] FROM x", "base"),
        vertex("[a os 2/2] RUN y", "y"),
        done("[a os 1/2] FROM x", "base", cached=True),
        started("[a os 2/2] RUN y", "y"),
        started("[b-1 os 2/2] RUN y", "y"),
        {},
        log("y", "ünö\nzwo"),
        done("[a os 2/2] RUN y", "y"),
        vertex("[b-1 os 2/2] RUN y", "y", error=ERROR),
        done("[a] exporting to image", "e"),
    ]
    found = told(events, style(said))
    assert found == [
        Event(kind=EventKind.CACHED, target="a", step="[os 1/2] FROM x", seconds=2.25),
        Event(kind=EventKind.STARTED, target="a", step="[os 2/2] RUN y"),
        Event(kind=EventKind.STARTED, target="b-1", step="[os 2/2] RUN y"),
        Event(kind=EventKind.OUTPUT, target="a", step="[os 2/2] RUN y", text="ünö\nzwo"),
        Event(kind=EventKind.OUTPUT, target="b-1", step="[os 2/2] RUN y", text="ünö\nzwo"),
        Event(kind=EventKind.DONE, target="a", step="[os 2/2] RUN y", seconds=2.25),
        Event(kind=EventKind.FAILED, target="b-1", step="[os 2/2] RUN y", text=ERROR),
        Event(kind=EventKind.DONE, target="a", step="exporting to image", seconds=2.25),
    ]
    assert events.steps("a") == (3, 3)
    assert events.steps("b-1") == (1, 1)


def test_the_only_target_is_in_no_name(style: Style) -> None:
    said = [
        done("[internal] load local bake definitions"),
        done("[os 1/1] RUN x"),
        done("exporting to image"),
    ]
    found = told(Events(["only"]), style(said))
    assert [(event.target, event.step) for event in found] == [
        ("only", "[os 1/1] RUN x"),
        ("only", "exporting to image"),
    ]


def test_repeated_events_are_reported_once(style: Style) -> None:
    said = [started("[a os 1/1] RUN x"), done("[a os 1/1] RUN x")] * 2
    found = told(Events(["a", "b"]), style(said))
    assert [event.kind for event in found] == [EventKind.STARTED, EventKind.DONE]


def test_a_written_image_is_an_event(style: Style) -> None:
    digest = f"sha256:{7:064}"
    said = [
        started("[a] exporting to image", "e"),
        status("e", "exporting layers", completed=True),
        status("e", f"exporting config {digest}"),
        status("e", f"exporting config {digest}", completed=True),
        status("x", f"writing image {digest}", completed=True),
        status("e", "writing image of another kind", completed=True),
    ]
    [_, wrote] = told(Events(["a", "b"]), style(said))
    step = "exporting to image"
    assert wrote == Event(kind=EventKind.WROTE, target="a", step=step, text=digest)


def test_several_events_in_one_object_are_read(style: Style) -> None:
    """BuildKit may put all that it knows of a step into one object."""
    digest = f"sha256:{7:064}"
    parts = [
        done("[a] exporting to image", "e"),
        status("e", f"writing image {digest}", completed=True),
        log("e", "said"),
    ]
    said = {kind: value for part in parts for kind, value in part.items()}
    found = told(Events(["a", "b"]), style([said]))
    assert [each.kind for each in found] == [EventKind.WROTE, EventKind.OUTPUT, EventKind.DONE]


@pytest.mark.parametrize("error", ["context canceled", "rpc error: Canceled: context canceled"])
def test_a_canceled_step_has_not_failed(error: str) -> None:
    said = [started("[a os 1/1] RUN x"), vertex("[a os 1/1] RUN x", error=error)]
    assert [e.kind for e in told(Events(["a", "b"]), compact(said))] == [EventKind.STARTED]


def test_a_missing_cache_is_no_failure() -> None:
    name = "importing cache manifest from r.test/cache:a"
    said = [vertex(f"[a] {name}", error="r.test/cache:a: not found")]
    assert [e.kind for e in told(Events(["a", "b"]), compact(said))] == [EventKind.DONE]


@pytest.mark.parametrize("name", ["load metadata for r.test/x", "load build definition from D"])
def test_a_failed_internal_step_is_reported(name: str) -> None:
    said = [vertex(f"[b internal] {name}", error="not found")]
    [event] = told(Events(["a", "b"]), compact(said))
    assert (event.kind, event.target, event.text) == (EventKind.FAILED, "b", "not found")


def test_buildx_itself_may_say_something(style: Style) -> None:
    text = "WARN: odd\n" + style([started("[a os 1/1] RUN x")]) + "ERROR: target b: failed\n"
    found = told(Events(["a", "b"]), text)
    assert [(e.kind, e.target, e.text) for e in found] == [
        (EventKind.OUTPUT, "", "WARN: odd\n"),
        (EventKind.STARTED, "a", ""),
        (EventKind.OUTPUT, "", "ERROR: target b: failed\n"),
    ]


def test_midnight() -> None:
    said = vertex("x", started="2026-11-21T23:59:59.5Z", completed="2026-11-22T00:00:01Z")
    [event] = told(Events(["a"]), compact([said]))
    assert event.seconds == 1.5


ODD = [
    "{\n",
    "}\n",
    "{}}\n",
    "{]\n}\n",
    '{"vertexes": null, "logs": null}\n',
    '{"logs": [{"vertex": "sha256:x", "data": "?"}]}\n',
    '{"vertexes": [{}]}\n',
]


@pytest.mark.parametrize("text", ODD)
def test_odd_lines_do_no_harm(text: str) -> None:
    events = Events(["a", "b"])
    told(events, text)
    if text != "{\n":
        after = told(events, compact([started("[a os 1/1] RUN x")]))
        assert [e.target for e in after if e.kind is EventKind.STARTED] == ["a"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("[os 1/2] RUN --mount=x y;  z", "os 1/2 RUN"),
        ("[context artifacts] load from client", "context artifacts load"),
        ("exporting to image", "exporting to image"),
        ("", ""),
        ("odd\nlines", "odd"),
    ],
)
def test_a_short_name(step: str, said: str) -> None:
    assert short(step) == said
