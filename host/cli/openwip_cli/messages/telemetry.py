# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads telemetry (mac/schema/telemetry.proto): subscribes, checks, counts what is missing. And
publishes some.

    reader = Reader(endpoints_of(cell), ("status", "slot"))
    while ...:
        for m in reader.poll(0.5):
            use(m.source, m.topic, m.telemetry)
    print(reader.lost(), reader.silent())

Whatever arrives, poll() does not raise: a message that is not two frames, does not parse, is of a
topic not asked for, holds something else than its topic says, or has no number, version or slot is
counted `malformed`; one of a later version than this program knows is counted `future`. Neither is
handed out. Publishers number the messages of each topic; what is missing in the numbers is counted
`lost`. A number that does not grow is a publisher that began
again: counted `restarts`, nothing is known to be lost then.

A publisher may be absent: it is connected to as soon as it is there. silent() tells which were
never heard, and which have stopped."""

import collections
import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import zmq
from openwip_schema import telemetry_pb2

from ..errors import BadInput, not_valid

# Topic -> the field of Telemetry that it carries.
CONTENT = {
    "status": "mac",
    "slot": "slot_sample",
    "receiver": "receiver",
    "packet": "packets",
    "frames": "frames",
    "ip": "ip",
    "event": "event",
    "air": "air",
    "tcp": "tcp",
    "cpu": "cpu",
    "verdict": "verdict",
    "attenuator": "attenuator",
}
TOPICS = tuple(CONTENT)
VERSION = telemetry_pb2.VERSION_CURRENT
MAX_MESSAGE = 16 << 20  # bytes
# The condition that the warning is about is counted here.
warnings.filterwarnings("ignore", "Unexpected end-group tag", RuntimeWarning)
# publishers that most cells do not have: no warning if they are never heard
MAY_BE_ABSENT = ("attenuator",)
QUEUE = 500  # messages of a publisher that wait for one reader; more are lost to it
BATCH = 2000  # messages of each publisher that one poll() returns at most


class Message(NamedTuple):
    source: str  # name of the publisher: "base", "terminal", "observer", ...
    topic: str
    telemetry: telemetry_pb2.Telemetry
    lost_before: int  # messages of this topic missing right before this one
    received_ns: int  # CLOCK_MONOTONIC, as Telemetry.wall_ns


class Count:
    """The counts of one topic of one publisher."""

    __slots__ = ("received", "lost", "restarts", "last", "at_ns")

    def __init__(self) -> None:
        self.received = self.lost = self.restarts = 0
        self.last: int | None = None  # sequence number
        self.at_ns: int | None = None  # when the last one came


def endpoints_of(cell: Any) -> dict[str, str]:
    """name -> endpoint of every publisher that a cell may have. Those that are absent cost
    nothing."""
    prefix = f"owip-{cell.name}-"
    stations = [
        n.removeprefix(prefix) for n in cell.state.get("namespaces", []) if n.startswith(prefix)
    ]
    names = dict.fromkeys(["base", "terminal", *stations, "observer", "keeper", *MAY_BE_ABSENT])
    return {name: cell.endpoint(f"{name}.telemetry") for name in names}


def topics_of(text: str) -> tuple[str, ...]:
    """Topics of an option's value "status,slot" or "all"."""
    names = [t.strip() for t in text.split(",") if t.strip()]
    if names == ["all"]:
        return TOPICS
    wrong = [t for t in names if t not in CONTENT]
    if wrong or not names:
        raise not_valid("--topics", repr(text), f"all, or some of {','.join(TOPICS)}")
    return tuple(dict.fromkeys(names))


class Reader:
    """Reads telemetry; for use by one thread. `endpoints`: name -> endpoint. `high_water`: messages
    of each publisher that wait here before ZeroMQ drops more (they are then lost and seen as such);
    0: no bound."""

    def __init__(
        self, endpoints: dict[str, str], topics: Sequence[str] = TOPICS, high_water: int = 10000
    ) -> None:
        self.endpoints, self.topics = dict(endpoints), tuple(topics)
        # (source, topic) -> Count
        self.counts: collections.defaultdict[tuple[str, str], Count] = collections.defaultdict(
            Count
        )
        self.malformed = collections.Counter(dict.fromkeys(self.endpoints, 0))
        self.future = collections.Counter(dict.fromkeys(self.endpoints, 0))
        # (source, topic, received_ns, sequence of one of a later version or 0)
        self.on_refused: Callable[..., None] | None = None
        self._wanted = {t.encode(): t for t in self.topics}
        self._poller, self._sockets = zmq.Poller(), {}
        context = zmq.Context.instance()
        for name, endpoint in self.endpoints.items():
            socket = context.socket(zmq.SUB)
            self._sockets[socket] = name
            socket.linger = 0
            socket.rcvhwm = high_water
            socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
            for topic in self.topics:
                socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
            try:
                socket.connect(endpoint)
            except zmq.ZMQError as e:
                self.close()
                raise BadInput(
                    f"telemetry endpoint {endpoint!r}: {e.strerror}; valid: ipc://PATH or"
                    " tcp://ADDRESS:PORT"
                ) from None
            self._poller.register(socket, zmq.POLLIN)

    def poll(self, timeout_s: float = 0.0) -> list[Message]:
        """The messages that have come, or come within that time; [] when none does. At most BATCH
        messages of each publisher, so that a caller who is too slow gets to do other things."""
        try:
            ready = self._poller.poll(timeout_s * 1000)
        except zmq.ZMQError:  # interrupted by a signal
            return []
        messages = []
        for socket, _ in ready:
            name = self._sockets[socket]
            for _ in range(BATCH):
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.ZMQError:  # Again: nothing left
                    break
                message = self.take(name, frames)
                if message is not None:
                    messages.append(message)
        return messages

    def _refuse(self, name: str, topic: str, now: int, sequence: int = 0) -> None:
        (self.future if sequence else self.malformed)[name] += 1
        if self.on_refused is not None:
            self.on_refused(name, topic, now, sequence)

    def take(
        self, name: str, frames: list[bytes], received_ns: int | None = None
    ) -> "Message | None":
        """One message as it came; None when it is refused (and counted)."""
        now = time.monotonic_ns() if received_ns is None else received_ns
        topic = self._wanted.get(frames[0]) if len(frames) == 2 else None
        if topic is None:
            self._refuse(name, "", now)
            return None
        telemetry = telemetry_pb2.Telemetry()
        try:
            whole = telemetry.ParseFromString(frames[1]) == len(frames[1])
        # DecodeError; what else the protobuf library raises differs by its version
        except Exception:
            whole = False
        if not whole:
            self._refuse(name, topic, now)
            return None
        future = telemetry.version > VERSION
        if telemetry.sequence == 0 or (
            not future
            and (
                telemetry.WhichOneof("what") != CONTENT[topic]
                or telemetry.version == 0
                or telemetry.slot < 0
            )
        ):
            self._refuse(name, topic, now)
            return None
        count = self.counts[name, topic]
        lost = 0
        if count.last is not None:
            if telemetry.sequence > count.last:
                lost = telemetry.sequence - count.last - 1
            else:
                count.restarts += 1
        count.last = telemetry.sequence
        count.lost += lost
        count.at_ns = now
        if future:  # its sequence number counts, so that it is not counted as lost as well
            self._refuse(name, topic, now, telemetry.sequence)
            return None
        count.received += 1
        return Message(name, topic, telemetry, lost, now)

    # --- figures ---

    def received(self, name: str | None = None) -> int:
        return sum(c.received for (n, _), c in list(self.counts.items()) if name in (None, n))

    def lost(self, name: str | None = None) -> int:
        return sum(c.lost for (n, _), c in list(self.counts.items()) if name in (None, n))

    def restarts(self, name: str | None = None) -> int:
        return sum(c.restarts for (n, _), c in list(self.counts.items()) if name in (None, n))

    def silent(self, limit_s: float = 2.0) -> dict[str, float | None]:
        """name -> seconds for which nothing came, of the publishers that were heard and have been
        silent for longer than `limit_s`; None for those never heard that every cell has. One that
        publishes: not in it."""
        now = time.monotonic_ns()
        result: dict[str, float | None] = {}
        for name in self.endpoints:
            last = max(
                (c.at_ns for (n, _), c in list(self.counts.items()) if n == name and c.at_ns),
                default=None,
            )
            if last is None:
                if name not in MAY_BE_ABSENT:
                    result[name] = None
            elif now - last > limit_s * 1e9:
                result[name] = (now - last) / 1e9
        return result

    def summary(self) -> str:
        """A line about what was received and lost."""
        parts = [f"{self.received()} messages, {self.lost()} lost"]
        parts += [
            f"{n} {what}"
            for what, n in (
                ("malformed", sum(self.malformed.values())),
                ("of a later version", sum(self.future.values())),
                ("restarts of a publisher", self.restarts()),
            )
            if n
        ]
        return ", ".join(parts)

    def close(self) -> None:
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()
        self._poller = zmq.Poller()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Publisher:
    """The telemetry socket of a Python process, as host/runtime/telemetry_socket is that of C++.
    Topics that nobody subscribed to are not made. Never waits for a reader. `topics`: all that it
    publishes."""

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
            if (
                len(frames) != 1
                or word[:1] not in (b"\0", b"\1")
                or not any(t.startswith(word[1:]) for t in self._topics)
            ):
                continue  # no topic begins so
            (self._beginnings.add if word[0] else self._beginnings.discard)(word[1:])
        return any(topic.encode().startswith(b) for b in self._beginnings)

    def publish(self, topic: str, slot: int, **what: Any) -> None:
        self._sequence[topic] = self._sequence.get(topic, 0) + 1
        message = telemetry_pb2.Telemetry(
            sequence=self._sequence[topic],
            slot=slot,
            wall_ns=time.monotonic_ns(),
            version=VERSION,
            **what,
        )
        with contextlib.suppress(zmq.Again):
            self._socket.send_multipart([topic.encode(), message.SerializeToString()], zmq.NOBLOCK)

    def close(self) -> None:
        self._socket.close()
