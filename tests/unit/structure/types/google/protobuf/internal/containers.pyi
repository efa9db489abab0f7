# SPDX-License-Identifier: GPL-3.0-or-later
from typing import Any, TypeVar

from ..message import Message

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Message)
_K = TypeVar("_K")
_V = TypeVar("_V")

class RepeatedScalarFieldContainer(list[_T]): ...

class RepeatedCompositeFieldContainer(list[_M]):
    def add(self, **fields: Any) -> _M: ...

class ScalarMap(dict[_K, _V]): ...
class MessageMap(dict[_K, _V]): ...
