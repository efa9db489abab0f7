# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry published by a Python process: what host/runtime/telemetry_socket is to C++."""
import contextlib
import time
from collections.abc import Sequence
from typing import Any

import zmq
from openwip_schema import telemetry_pb2

QUEUE = 500     # messages that wait for one reader; more are lost to it


class Publisher:
    """Topics that nobody subscribed to are not made. Never waits for a reader. `topics`: all that it publishes."""

    def __init__(self, endpoint: str, topics: Sequence[str]) -> None:
        self._topics = [t.encode() for t in topics]
        self._socket = zmq.Context.instance().socket(zmq.XPUB)
        self._socket.linger = 0
        self._socket.sndhwm = QUEUE
        self._socket.setsockopt(zmq.MAXMSGSIZE, 4096)
        self._socket.bind(endpoint)
        self._beginnings: set[bytes] = set()
        self._sequence: dict[str, int] = {}

    def wanted(self, topic: str) -> bool:
        """A subscription is the beginning of a topic's name."""
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:
                break
            word = frames[0]
            if (len(frames) != 1 or word[:1] not in (b"\0", b"\1") or not any(t.startswith(word[1:]) for t in self._topics)):
                continue    # no subscription to what there is: nothing to learn from it
            (self._beginnings.add if word[0] else self._beginnings.discard)(word[1:])
        return any(topic.encode().startswith(b) for b in self._beginnings)

    def publish(self, topic: str, slot: int, **what: Any) -> None:
        self._sequence[topic] = self._sequence.get(topic, 0) + 1
        message = telemetry_pb2.Telemetry(sequence=self._sequence[topic], slot=slot, wall_ns=time.monotonic_ns(),
                                          version=telemetry_pb2.VERSION_CURRENT, **what)
        with contextlib.suppress(zmq.Again):
            self._socket.send_multipart([topic.encode(), message.SerializeToString()], zmq.NOBLOCK)

    def close(self) -> None:
        self._socket.close()
