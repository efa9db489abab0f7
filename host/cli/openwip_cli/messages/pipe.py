# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of telemetry on a pipe, as one process heard them (host/gui/cell/record_pipe.h has the other end). Little endian:

    u32 length of what follows   i64 time of reception, ns   u8 length of source   u8 length of topic   source topic body"""
import os
import re
import select
import struct
from collections.abc import Sequence
from typing import Any

from . import telemetry

_LENGTH, _HEAD = struct.Struct("<I"), struct.Struct("<qBB")


def packed(received_ns: int, source: str, topic: str, body: bytes) -> bytes:
    s, t = source.encode()[:255], topic.encode()[:255]
    return _LENGTH.pack(_HEAD.size + len(s) + len(t) + len(body)) + _HEAD.pack(received_ns, len(s), len(t)) + s + t + body


class Reader(telemetry.Reader):
    """What comes on standard input. `over`: its other end was closed."""

    def __init__(self, topics: Sequence[str]) -> None:
        super().__init__({}, topics)
        self.over, self._waiting = False, b""

    def poll(self, timeout_s: float = 0.0) -> Any:
        if self.over or not select.select([0], [], [], timeout_s)[0]:
            return []
        part = os.read(0, 1 << 20)
        self.over, data, at, messages = not part, self._waiting + part, 0, []
        while len(data) >= at + 4 and len(data) >= (end := at + 4 + _LENGTH.unpack_from(data, at)[0]):
            received_ns, s, t = _HEAD.unpack_from(data, at + 4)
            begin = at + 4 + _HEAD.size
            source = re.sub(r"\W", "_", data[begin:begin + s].decode(errors="replace")) or "_"     # a group of the file
            message = self.take(source, [data[begin + s:begin + s + t], data[begin + s + t:end]], received_ns)
            if message is not None:
                messages.append(message)
            at = end
        self._waiting = data[at:]
        return messages
