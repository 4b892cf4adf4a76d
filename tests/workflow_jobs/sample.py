# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that keeps one file of each session, to try the job and not the tests."""

from __future__ import annotations

import pytest

FILES = (
    "tests/unit/test_import_direction.py",
    "tests/campaign/test_campaign.py",
    "tests/fetch/test_fetch_terms.py",
    "tests/policy/test_policy_sources.py",
    "tests/workflows/test_workflow_policy.py",
    "tests/device/test_devices.py",
    "tests/simulated_packages/test_image_facts.py",
    "tests/engine/test_diff_of_images.py",
    "tests/publish/test_registry_client.py",
    "tests/test_page_data.py",
)
"""The files whose tests run."""

_KEPT = (*FILES, "tests/image/")
"""The tests of images are part of the build and not of a session."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of all other files."""
    kept = [each for each in items if each.nodeid.startswith(_KEPT)]
    config.hook.pytest_deselected(items=[each for each in items if each not in kept])
    items[:] = kept
