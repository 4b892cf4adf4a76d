# SPDX-License-Identifier: Apache-2.0
"""The licence in a wheel's metadata, as an SPDX expression where possible."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

_CLASSIFIER = "License :: "

_WORDS = {
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "new bsd license": "BSD-3-Clause",
    "bsd 2-clause": "BSD-2-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "mit license": "MIT",
    "the mit license": "MIT",
    "isc license (iscl)": "ISC",
    "mpl 2.0": "MPL-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "zlib/libpng license": "Zlib",
    "the unlicense (unlicense)": "Unlicense",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "gnu lesser general public license v3 or later (lgplv3+)": "LGPL-3.0-or-later",
}
"""Words in metadata and trove classifiers that mean exactly one licence of SPDX's list. Words that
may mean several are not here: 'BSD License', 'Apache Software License' (PEP 639 lists them)."""

_NOTHING = {"", "unknown", "none", "proprietary", "license", "see license", "see license file"}


def expression(words: str) -> str:
    """``words`` as an SPDX licence expression; empty if they have no such meaning."""
    try:
        return str(canonicalize_license_expression(words))
    except InvalidLicenseExpression:
        return _WORDS.get(" ".join(words.lower().split()), "")


def declared(own: str, words: str, classifiers: Sequence[str]) -> str:
    """The declared licence: an SPDX expression if there is one, else the package's own words.

    The arguments are its ``License-Expression``, ``License`` and ``Classifier`` fields (PEP 639);
    the more specific ones take precedence. It is empty if nothing is declared.
    """
    named = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith(_CLASSIFIER)]
    said = [each.strip() for each in (own, words, *named)]
    said = [each for each in said if each.lower() not in _NOTHING]
    found = (expression(each) for each in said)
    return next((each for each in found if each), said[0] if said else "")
