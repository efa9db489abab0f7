# SPDX-License-Identifier: GPL-3.0-or-later
"""Control (REQ) and telemetry (SUB) of the processes of a cell (mac/schema: control.proto, telemetry.proto)."""
import threading
import time

import zmq
from openwip_schema import control_pb2 as pb, telemetry_pb2


class NoAnswer(Exception):
    pass


class Control:
    """Asks one process. A process that does not answer costs a time-out, nothing else: every
    question uses a socket of its own."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.context = zmq.Context.instance()

    def ask(self, request, timeout_s=1.0):
        with self.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(self.endpoint)
            socket.send(request.SerializeToString())
            if not socket.poll(timeout_s * 1000):
                raise NoAnswer(f"{self.endpoint} does not answer")
            reply = pb.Reply()
            reply.ParseFromString(socket.recv())
        if not reply.ok:
            raise NoAnswer(f"{self.endpoint}: {reply.error}")
        return reply

    def status(self, timeout_s=1.0):
        reply = self.ask(pb.Request(status=pb.Empty()), timeout_s)
        return getattr(reply, reply.WhichOneof("what"))

    def reset_counters(self):
        self.ask(pb.Request(reset_counters=pb.Empty()))


class TelemetryWatch:
    """Subscribes to everything and checks that no message is missing: every topic of every process
    counts its messages."""

    def __init__(self, endpoints):
        self.endpoints = dict(endpoints)   # name -> endpoint
        self.received = {name: 0 for name in self.endpoints}
        self.lost = {name: 0 for name in self.endpoints}
        self.malformed = {name: 0 for name in self.endpoints}
        self.last = {}                     # (name, topic) -> sequence
        self.latest = {}                   # name -> (time, MacStatus)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def _run(self):
        context = zmq.Context.instance()
        poller, sockets = zmq.Poller(), {}
        for name, endpoint in self.endpoints.items():
            socket = context.socket(zmq.SUB)
            socket.rcvhwm = 0
            socket.linger = 0
            socket.setsockopt(zmq.SUBSCRIBE, b"")
            socket.connect(endpoint)
            poller.register(socket, zmq.POLLIN)
            sockets[socket] = name
        while not self._ending.is_set():
            for socket, _ in poller.poll(100):
                while True:
                    try:
                        frames = socket.recv_multipart(zmq.NOBLOCK)
                    except zmq.Again:
                        break
                    self._take(sockets[socket], frames)
        for socket in sockets:
            socket.close()

    def _take(self, name, frames):
        message = telemetry_pb2.Telemetry()
        try:
            topic, body = frames
            message.ParseFromString(body)
        except Exception:
            self.malformed[name] += 1
            return
        self.received[name] += 1
        before = self.last.get((name, topic))
        if before is not None and message.sequence != before + 1:
            self.lost[name] += max(1, message.sequence - before - 1)
        self.last[name, topic] = message.sequence
        if message.WhichOneof("what") == "mac":
            self.latest[name] = (time.monotonic(), message.mac)

    def end(self):
        self._ending.set()
        self._thread.join(2)
