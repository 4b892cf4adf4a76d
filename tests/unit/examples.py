# SPDX-License-Identifier: Apache-2.0
"""How many examples property tests try: few each time, and many with a profile of Hypothesis.

nox -s unit -- --hypothesis-profile thorough
"""

from __future__ import annotations

from hypothesis import settings

# No deadline: what an example takes says more of the machine than of the code.
settings.register_profile("quick", max_examples=40, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("quick")


def times(factor: float) -> settings:
    """For tests whose examples are cheaper or dearer than most: so much of the profile's number."""
    return settings(max_examples=max(2, round(settings().max_examples * factor)))
