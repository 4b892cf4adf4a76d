# SPDX-License-Identifier: Apache-2.0
"""Measures what a choice on a page of the catalogue takes: python -m tests.browser.clicks PAGE."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import launched

CLICK = """async (each) => {
  const start = performance.now();
  each.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
"""Milliseconds from a click until the next frame is drawn."""


def main(file: Path) -> None:
    """Choose each value of each row, then none, and both languages; print the times until drawn."""
    with sync_playwright() as playwright:
        page = launched(playwright).new_page()
        page.goto(file.resolve().as_uri())
        cards, elements = page.locator(".card").count(), page.locator("*").count()
        print(f"{cards} images, {elements} elements, {file.stat().st_size:,} bytes")
        rows = [row.locator("input").all() for row in page.locator("#rows fieldset").all()]
        choices = [value for row in rows for value in (*row[1:], row[0])]
        languages = 10 * [page.locator(f"#language-{name}") for name in ("zh", "en")]
        for what, values in (("choices", choices), ("languages", languages)):
            times = [float(value.evaluate(CLICK)) for value in values]
            median = statistics.median(times)
            print(f"{len(times)} {what}: median {median:.0f} ms, {max(times):.0f} at most")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
