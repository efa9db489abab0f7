# SPDX-License-Identifier: GPL-3.0-or-later
"""A publisher of telemetry that says exactly what a test tells it to, on a real ipc endpoint."""

import time

import zmq
from openwip_schema import telemetry_pb2 as pb


class Publisher:
    """Binds at once. XPUB, so that it knows who has subscribed to what: no test sleeps for it."""

    def __init__(self, endpoint, high_water=0):
        self.endpoint = endpoint
        self.socket = zmq.Context.instance().socket(zmq.XPUB)
        self.socket.linger = 0
        self.socket.sndhwm = high_water
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.socket.bind(endpoint)
        self.subscribed = {}  # topic -> subscribers
        self.sequence = {}

    def await_subscribers(self, topic, n=1, within_s=20):
        deadline = time.monotonic() + within_s
        while self.subscribed.get(topic, 0) < n:
            if not self.socket.poll(max(0, deadline - time.monotonic()) * 1000):
                raise AssertionError(f"nobody subscribed to {topic} at {self.endpoint}")
            word = self.socket.recv()
            name = word[1:].decode()
            self.subscribed[name] = self.subscribed.get(name, 0) + (1 if word[0] else -1)

    def send(self, topic, slot=0, sequence=None, version=1, wall_ns=None, **what):
        """Telemetry with the next number of its topic, or the one given."""
        sequence = self.sequence.get(topic, 0) + 1 if sequence is None else sequence
        self.sequence[topic] = sequence
        message = pb.Telemetry(
            sequence=sequence,
            slot=slot,
            version=version,
            wall_ns=time.monotonic_ns() if wall_ns is None else wall_ns,
            **what,
        )
        self.raw(topic.encode(), message.SerializeToString())
        return message

    def raw(self, *frames):
        self.socket.send_multipart(frames)

    def close(self):
        self.socket.close()
