# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of telemetry on a pipe, as one process heard them (host/gui/cell/record_pipe.h has the
other end): the time of reception in ns, then source, topic and body, each behind its length. Big
endian."""

import os
import re
import select
import struct
from collections.abc import Sequence
from typing import Any

from . import telemetry

_TIME, _LENGTH = struct.Struct(">q"), struct.Struct(">I")


def packed(received_ns: int, source: str, topic: str, body: bytes) -> bytes:
    return _TIME.pack(received_ns) + b"".join(
        _LENGTH.pack(len(part)) + part for part in (source.encode(), topic.encode(), body)
    )


class Reader(telemetry.Reader):
    """The bytes that come on standard input, or stand in a file. `over`: its other end was
    closed."""

    def __init__(self, topics: Sequence[str], fd: int = 0) -> None:
        super().__init__({}, topics)
        self.over, self._waiting, self._fd = False, b"", fd

    def poll(self, timeout_s: float = 0.0) -> list[telemetry.Message]:
        if self.over or not select.select([self._fd], [], [], timeout_s)[0]:
            return []
        part = os.read(self._fd, 1 << 20)
        data, at, messages = self._waiting + part, 0, []
        self.over = not part
        while (found := _message(data, at)) is not None:
            at, (received_ns, source, *frames) = found
            # A group of messages in the file.
            name = re.sub(r"\W", "_", source.decode(errors="replace")) or "_"
            if (message := self.take(name, frames, received_ns)) is not None:
                messages.append(message)
        self._waiting = data[at:]
        return messages


def _message(data: bytes, at: int) -> tuple[int, list[Any]] | None:
    """(index after the message, its parts); None: the message is not complete."""
    try:
        parts: list[Any] = list(_TIME.unpack_from(data, at))
        at += _TIME.size
        for _ in range(3):
            begin = at + _LENGTH.size
            at = begin + _LENGTH.unpack_from(data, at)[0]
            parts.append(data[begin:at])
    except struct.error:
        return None
    return (at, parts) if at <= len(data) else None
