# SPDX-License-Identifier: GPL-3.0-or-later
"""Control (REQ) of the processes of a cell (mac/schema/control.proto), and the watch over its
telemetry."""

import threading
from collections.abc import Callable
from typing import Any, Protocol

import zmq
from openwip_schema import control_pb2 as pb

from ..errors import NoAnswer, Refused, describe_os_error
from ..text import to_yaml
from . import telemetry


class Keys(Protocol):
    def use(self, socket: zmq.Socket) -> None: ...


def exchange(endpoint: str, question: bytes, timeout_s: float, keys: Keys | None = None) -> bytes:
    """The answer of a REP socket, or NoAnswer. One that does not answer costs a time-out, nothing
    else: every question uses a socket of its own, so Ctrl-C may come between question and
    answer."""
    with zmq.Context.instance().socket(zmq.REQ) as socket:
        socket.linger = 0
        if keys:
            keys.use(socket)
        socket.connect(endpoint)
        socket.send(question)
        if not socket.poll(timeout_s * 1000):
            raise NoAnswer(f"the process at {endpoint} does not answer")
        return socket.recv()


class Control:
    """Asks one process."""

    def __init__(self, endpoint: str, keys: Keys | None = None) -> None:
        """`keys`: those for a remote cell (remote.ClientKeys)."""
        self.endpoint, self.keys = endpoint, keys

    def ask(self, request: pb.Request, timeout_s: float = 1.0) -> pb.Reply:
        reply = pb.Reply()
        reply.ParseFromString(
            exchange(self.endpoint, request.SerializeToString(), timeout_s, self.keys)
        )
        if not reply.ok:
            raise Refused(reply.error)
        return reply

    def configure(self, tree: dict[str, Any], timeout_s: float = 3.0) -> pb.Reply:
        """`tree`: nested settings of the process. Returns the reply, which has the slot they hold
        from."""
        return self.ask(pb.Request(configure_yaml=to_yaml(tree)), timeout_s)

    def status(self, timeout_s: float = 1.0) -> Any:
        reply = self.ask(pb.Request(status=pb.Empty()), timeout_s)
        what = reply.WhichOneof("what")
        if what is None:
            raise NoAnswer(f"the process at {self.endpoint} sends an answer without a status")
        return getattr(reply, what)

    def answers(self) -> bool:
        try:
            self.status(0.2)
            return True
        except NoAnswer:
            return False

    def reset_counters(self, timeout_s: float = 1.0) -> None:
        self.ask(pb.Request(reset_counters=pb.Empty()), timeout_s)


class TelemetryWatch:
    """Checks for the verdict that no telemetry is missing. It reads what is always published: a
    topic that nobody subscribes to is not made, and the verdict must not be the reason why it
    is."""

    TOPICS = ("status", "event")

    def __init__(self, endpoints: dict[str, str]) -> None:
        self._reader = telemetry.Reader(endpoints, self.TOPICS, high_water=0)
        self._ending = threading.Event()
        self.failure = ""  # why it could not go on watching
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self._reader.poll(0.1)
        except OSError as e:
            self.failure = describe_os_error(e)

    def _by_name(self, figure: Callable[[str], int]) -> dict[str, int]:
        return {name: figure(name) for name in self._reader.endpoints}

    @property
    def received(self) -> dict[str, int]:
        return self._by_name(self._reader.received)

    @property
    def lost(self) -> dict[str, int]:
        """Within one run no publisher begins again: a number that does not grow is a fault, too."""
        return self._by_name(lambda n: self._reader.lost(n) + self._reader.restarts(n))

    @property
    def malformed(self) -> dict[str, int]:
        return self._by_name(lambda n: self._reader.malformed[n] + self._reader.future[n])

    def end(self) -> None:
        self._ending.set()
        self._thread.join(2)
        self._reader.close()
