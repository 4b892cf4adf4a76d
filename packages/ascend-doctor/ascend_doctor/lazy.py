# SPDX-License-Identifier: Apache-2.0
"""Values that are computed once; functools has such a property from Python 3.8 on."""

from __future__ import annotations

import functools
from typing import Any, Callable, Generic, TypeVar

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """A property whose value is kept in the instance."""

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> _T:
        value = self._compute(instance)
        instance.__dict__[self._compute.__name__] = value
        return value


def once(function: Callable[[], _T]) -> Callable[[], _T]:
    """A function without arguments whose value is kept."""
    return functools.lru_cache(maxsize=1)(function)
