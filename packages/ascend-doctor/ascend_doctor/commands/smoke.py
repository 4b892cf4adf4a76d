# SPDX-License-Identifier: Apache-2.0
"""``build.py smoke``: a short test of the cards of a host, and a comparison with other hosts."""

from __future__ import annotations

from collections.abc import Sequence

from cannery.cli.common import read, read_files
from cannery.common.errors import Problem, UsageError, VerificationError
from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.smoke import SmokeOptions
from cannery.smoke.compare import compare
from cannery.smoke.model import Document, parse_document, to_json
from cannery.smoke.report import to_comparison, to_text
from cannery.smoke.run import smoke_container, smoke_image


def run(given: Given, project: Project) -> int:
    """Test the cards, or compare what earlier tests wrote.

    Raises:
        UsageError: neither an image, a container, nor two files are named; or --json, but no test.
        EngineError: there is no result.
        FileError, MatrixError: a file of --compare cannot be read; nothing is run then.
        VerificationError: a check failed.
    """
    options = read(SmokeOptions, given, project)
    others = read_files(options.compare, parse_document)
    if not options.image and not options.container:
        if len(others) < 2:
            what = "smoke needs an image, a container, or two files to compare."
            raise UsageError(Problem(what=what, fix="Add --image, --container, or --compare A B."))
        if options.json:
            what = "--json has the results of a test, and a comparison of files runs none."
            raise UsageError(Problem(what=what, fix="Remove it, or add --image or --container."))
        _print_comparisons(others[0], others[1:])
        return 0
    document = smoke_image(project, options) if options.image else smoke_container(options)
    print(to_text(document), end="")
    if options.json:
        write_files({options.json: to_json(document)})
    _print_comparisons(document, others)
    if document.failures:
        names = ", ".join(each.name for each in document.failures)
        raise VerificationError(f"{document.where}: failed checks: {names}.")
    return 0


def _print_comparisons(first: Document, others: Sequence[Document]) -> None:
    for other in others:
        print("\n" + to_comparison(first, other, compare(first, other)), end="")
