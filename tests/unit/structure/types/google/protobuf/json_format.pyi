# SPDX-License-Identifier: GPL-3.0-or-later
from typing import Any, TypeVar

from .message import Message

_M = TypeVar("_M", bound=Message)

def MessageToDict(
    message: Message,
    including_default_value_fields: bool = ...,
    preserving_proto_field_name: bool = ...,
) -> dict[str, Any]: ...
def MessageToJson(message: Message, *, indent: int | None = ..., **more: Any) -> str: ...
def ParseDict(js_dict: Any, message: _M, ignore_unknown_fields: bool = ...) -> _M: ...
