# SPDX-License-Identifier: Apache-2.0
"""The options of ``completion``."""

from __future__ import annotations

from dataclasses import dataclass, field

from cannery.options.option import OptionSet, option


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(OptionSet):
    """The shell that is to complete words."""

    shell: str = field(
        metadata=option(
            positional=True, metavar="SHELL", choices=("bash", "zsh"), help="bash or zsh"
        )
    )
