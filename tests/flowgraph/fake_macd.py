# SPDX-License-Identifier: GPL-3.0-or-later
"""macd's end of the slot link, played by a thread of the test, and a writer of grants of its own
(docs/reference/air-interface.md), so that the blocks are not tested against the code they use."""

import pathlib
import random
import sys
import tempfile
import threading

import zmq
from openwip_schema import slot_link_pb2 as schema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from zmq_line import ZmqLine


def payload_bytes(bits_per_symbol):
    """Bytes of a frame's payload, radio profile: 108 k bits less a CRC of 24, in nibbles."""
    return ((108 * bits_per_symbol - 24) // 4 + 1) // 2


def grant(air, modulation, first_sn):
    """30 bytes: a grant of new frames only. `modulation`: 25 values 0..8."""
    bits = f"{air // 30 % 4096:012b}{first_sn % 65536:016b}{0:015b}"
    for group in range(5):
        bits += f"{sum(k * 9**i for i, k in enumerate(modulation[5 * group : 5 * group + 5])):016b}"
    bits += "0" * sum(k > 0 for k in modulation)
    return int(bits.ljust(240, "0"), 2).to_bytes(30, "big")


def random_frame(generator, bits_per_symbol):
    frame = bytearray(generator.randbytes(payload_bytes(bits_per_symbol)))
    if (108 * bits_per_symbol - 24) // 4 % 2:
        frame[-1] &= 0xF0
    return bytes(frame)


class Endpoint:
    """An ipc address in a folder of its own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-qa-")
        return "ipc://" + str(pathlib.Path(self.folder.name) / "slot")

    def __exit__(self, *_):
        self.folder.cleanup()


class FakeMacd(threading.Thread):
    """Binds, says hello, answers or records until told to end. Subclasses act on messages."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.context = zmq.Context()
        self.socket = ZmqLine(self.context, endpoint, bind=True, linger=500)
        self.hello = None
        self.over = threading.Event()

    def run(self):
        self.say_hello()
        while not self.over.is_set():
            if self.socket.poll(20):
                message = schema.ToMacd.FromString(self.socket.recv())
                if message.HasField("hello"):
                    self.hello = message.hello
                else:
                    self.on(message)
        self.socket.close()
        self.context.term()

    def say_hello(self):
        message = schema.ToFlowgraph()
        message.hello.version = schema.VERSION_CURRENT
        message.hello.role = "base"
        self.send(message)

    def on(self, message):
        pass

    def send(self, message):
        self.socket.send(message.SerializeToString())

    def stop_flowgraph(self, why):
        self.send(schema.ToFlowgraph(stop=why))

    def end(self):
        self.over.set()
        self.join(5)


class Planner(FakeMacd):
    """Answers every request with random frames; remembers requests and what it sent per slot."""

    def __init__(self, endpoint, modulation, seed=1, last_slot=None):
        super().__init__(endpoint)
        self.modulation, self.generator, self.last_slot = modulation, random.Random(seed), last_slot
        self.first_sn, self.requests, self.sent = 0, [], {}

    def on(self, message):
        air = message.request.air
        self.requests.append(message.request)
        if self.last_slot is not None and air > self.last_slot:
            self.stop_flowgraph("the run is over")
            return
        self.before_plan(air)
        self.send(self.plan(air))

    def before_plan(self, air):
        pass

    def plan(self, air):
        message = schema.ToFlowgraph()
        message.plan.air = air
        message.plan.grant = grant(air, self.modulation, self.first_sn)
        frames = {b: random_frame(self.generator, k) for b, k in enumerate(self.modulation) if k}
        self.first_sn += len(frames)
        for b, frame in frames.items():
            message.plan.payload.add(bin=b, payload=frame)
        self.sent[air] = frames
        return message


class Recorder(FakeMacd):
    """Keeps all reports."""

    def __init__(self, endpoint):
        super().__init__(endpoint)
        self.reports = []

    def on(self, message):
        self.reports.append(message.report)
