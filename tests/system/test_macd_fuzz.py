# SPDX-License-Identifier: GPL-3.0-or-later
"""Garbage on every socket of a macd while it works: random bytes, damaged copies of true messages,
messages of several frames, strangers that join a pair or do not speak ZeroMQ. It has to answer
every slot and every question all the same, and to say how much it dropped."""

import os
import random
import socket
import warnings

# The C++ parser prints a line for every damaged string.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
warnings.filterwarnings("ignore", module="google.protobuf")

import zmq
from openwip_schema import control_pb2, slot_link_pb2, uplink_pb2

from macd_world import *
from ring_line import ASLEEP, DATA, RING, SIZE, WRITTEN
from zmq_line import ZmqLine

SLOTS = 400
SEED = int(os.environ.get("OPENWIP_FUZZ_SEED", "5"))


class Garbage:
    """Seeded, so that a failure comes again."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def damaged(self, message):
        r, data = self.random, bytearray(message)
        how = r.randrange(6)
        if how == 0 or not data:
            return r.randbytes(r.randrange(0, 300))
        if how == 1:
            return bytes(data[: r.randrange(len(data))])
        if how == 2:
            return bytes(data) + r.randbytes(r.randrange(1, 40))
        if how == 3:  # two halves that do not belong together
            cut = r.randrange(len(data))
            return bytes(data[cut:] + data[:cut])
        for _ in range(r.choice((1, 1, 2, 8))):
            data[r.randrange(len(data))] ^= 1 << r.randrange(8)
        return bytes(data)


def send_garbage(socket_, garbage, message, means_end=lambda data: False):
    for _ in range(3):
        data = garbage.damaged(message)
        if means_end(data):  # a valid request to end, made by chance
            continue
        if garbage.random.random() < 0.1:  # something that is no message of the link
            if isinstance(socket_, RingLine):
                socket_.send(message, kind=7)
            else:
                socket_.send_multipart([data, b"", message])
        else:
            socket_.send(data)


def parses_to(kind, condition):
    def means_end(data):
        try:
            return condition(kind.FromString(data))
        except Exception:
            return False

    return means_end


ends_uplink = parses_to(uplink_pb2.Uplink, lambda m: m.stop)
ends_downlink_control = parses_to(uplink_pb2.DownlinkControl, lambda m: m.stop)
ends_control = parses_to(control_pb2.Request, lambda m: m.WhichOneof("what") == "stop")


def strangers(world, names, garbage):
    """Connections that are no business of this macd: raw bytes, silence, a second partner, a
    SUB."""
    kept = []
    for name in names:
        for data in (b"", b"\0" * 64, garbage.random.randbytes(500), b"GET / HTTP/1.1\r\n\r\n"):
            in_memory = world.lines == "shm" and not name.endswith((".control", ".telemetry"))
            s = socket.socket(
                socket.AF_UNIX, socket.SOCK_SEQPACKET if in_memory else socket.SOCK_STREAM
            )
            s.connect(str(world.run / name))
            try:
                s.send(data)
            except OSError:
                pass
            if data:
                s.close()
            else:
                kept.append(s)  # connected and silent
        for kind in (zmq.PAIR, zmq.SUB, zmq.DEALER, zmq.PUSH):
            s = world.context.socket(kind)
            s.setsockopt(zmq.LINGER, 0)
            s.connect(world.endpoint(name))
            if kind != zmq.SUB:
                s.send(garbage.random.randbytes(50), zmq.DONTWAIT)
            kept.append(s)
    return kept


def fuzz_control(world, role, garbage, turns):
    s = world.context.socket(zmq.DEALER)
    s.setsockopt(zmq.LINGER, 0)
    s.connect(world.endpoint(f"{role}.control"))
    request = control_pb2.Request(configure_yaml="link: {bins: 11, modulation: 3}")
    for _ in range(turns):
        data = garbage.damaged(request.SerializeToString())
        if ends_control(data):
            continue
        s.send_multipart([b"", data])
    answers = 0
    while s.poll(500):
        control_pb2.Reply.FromString(s.recv_multipart()[1])
        answers += 1
    assert answers > turns * 0.8, answers
    reply = world.ask(role, configure_yaml="nonsense: 1")
    assert not reply.ok and "unknown key" in reply.error
    s.close()


def test_the_base_station_survives_garbage_on_every_socket():
    base_station_survives("shm")


def test_the_base_station_survives_garbage_on_every_socket_of_zeromq():
    base_station_survives("ipc")


def base_station_survives(lines):
    with World(["link.bins=25"], roles=("base",), lines=lines) as w:
        garbage = Garbage(SEED)
        flowgraph = connect_line(w.context, w.line("base.slot"))
        peer = connect_line(w.context, w.line("uplink"))
        hello(flowgraph, "base")
        # An intruder cannot be told from the first to come: wait until the true ones are in.
        wait_for(
            "connections",
            lambda: (lambda s: s.flowgraph_connected and s.peer_connected)(w.status("base")),
        )
        kept = strangers(w, ("base.slot", "uplink", "base.control", "base.telemetry"), garbage)
        w.execute("base", "ping", "-c", "1", "-W", "0.1", "10.42.0.2")  # something to send
        for k in range(FIRST_SLOT, FIRST_SLOT + SLOTS):
            request = slot_link_pb2.ToMacd()
            request.request.air = k
            request = request.SerializeToString()
            if k >= FIRST_SLOT + 3:  # the first requests say where the stream starts
                send_garbage(flowgraph, garbage, request)
            flowgraph.send(request)
            uplink = uplink_pb2.Uplink(now=k - 3, locked=True)
            uplink.feedback.air = k - 3
            uplink.feedback.grant_ok = True
            uplink.feedback.ack = garbage.random.getrandbits(25)
            uplink.feedback.predicted_snr_cdb.extend([2000] * BINS)
            uplink.packets.add(arrival=k, data=bytes(30))
            uplink = uplink.SerializeToString()
            send_garbage(peer, garbage, uplink, ends_uplink)
            peer.send(uplink)
            answered = False
            while not answered:
                assert flowgraph.poll(5000), f"slot {k} is not answered: {w.last_line('base')}"
                message = slot_link_pb2.ToFlowgraph.FromString(flowgraph.recv())
                answered = message.WhichOneof("what") == "plan" and message.plan.air == k
                if answered:
                    assert len(message.plan.grant) == 30
        fuzz_control(w, "base", garbage, 300)
        status = w.status("base")
        assert status.malformed_messages > SLOTS, status.malformed_messages
        assert status.slot >= FIRST_SLOT + SLOTS - 1
        check_direction("downlink", status.downlink)
        check_direction("uplink", status.uplink)
        output = [line for line in w.output("base").splitlines() if line.startswith("macd: ")]
        assert 5 < len(output) < 30, f"garbage floods the log: {len(output)} lines"
        for s in kept:
            s.close()
        assert w.ask("base", stop="enough").ok
        assert w.wait_exit("base") == 0
        print(status.malformed_messages, "dropped")


def test_the_terminal_survives_garbage_on_every_socket():
    with World(roles=(), lines="ipc") as w:  # the fake base station binds first
        garbage = Garbage(SEED + 1)
        w.roles = ("terminal",)
        peer = ZmqLine(w.context, w.endpoint("uplink"), bind=True)
        (w.run / "uplink").chmod(0o777)
        subprocess.run(["ip", "netns", "add", w.netns("terminal")], check=True)
        w.start("terminal")
        wait_for("it listens", lambda: (w.run / "terminal.control").exists())
        flowgraph = connect_line(w.context, w.line("terminal.slot"))
        hello(flowgraph, "terminal")
        wait_for(
            "connections",
            lambda: (lambda s: s.flowgraph_connected and s.peer_connected)(w.status("terminal")),
        )
        kept = strangers(w, ("terminal.slot", "terminal.control", "terminal.telemetry"), garbage)
        grant = bytes.fromhex("00" * 30)
        note = uplink_pb2.DownlinkControl(hello="demo").SerializeToString()
        for k in range(FIRST_SLOT, FIRST_SLOT + SLOTS):
            message = slot_link_pb2.ToMacd()
            r = message.report
            r.air, r.locked, r.grant_ok, r.grant = k, True, True, grant
            r.snr_db.extend([20.0] * BINS)
            r.predicted_snr_db.extend([20.0] * BINS)
            message = message.SerializeToString()
            send_garbage(flowgraph, garbage, message)
            flowgraph.send(message)
            send_garbage(peer, garbage, note, ends_downlink_control)
            newest = 0
            while newest < k:
                # If a damaged report was accepted, the true one after it is stale and not answered;
                # the next one is.
                if not peer.poll(200):
                    break
                newest = max(newest, uplink_pb2.Uplink.FromString(peer.recv()).now)
        fuzz_control(w, "terminal", garbage, 300)
        status = w.status("terminal")
        assert status.malformed_messages > SLOTS, status.malformed_messages
        assert FIRST_SLOT + SLOTS - 1 <= status.slot <= FIRST_SLOT + SLOTS + 30, status.slot
        assert status.terminal.slots > 0.9 * SLOTS, status.terminal
        check_direction("downlink", status.downlink)
        check_direction("uplink", status.uplink)
        # The settings are printed at the start; there are only a few warnings about the garbage.
        warnings = [line for line in w.output("terminal").splitlines() if ": warning: " in line]
        assert 0 < len(warnings) < 20, warnings
        for s in kept:
            s.close()
        assert w.ask("terminal", stop="enough").ok
        assert w.wait_exit("terminal") == 0
        print(status.malformed_messages, "dropped")


def test_a_flowgraph_that_spoils_the_shared_memory_is_a_dead_one():
    """Positions and headers that cannot be: macd reads nothing from there, and ends as if the other
    had died."""
    generator = random.Random(SEED + 2)
    for spoil in (
        lambda s: s.put(RING + WRITTEN, generator.getrandbits(63)),
        lambda s: s.put(RING + WRITTEN, s.at_up + 4),
        lambda s: (
            s.put(RING + DATA + s.at_up % SIZE, 0xFFFFFFFF, "I"),
            s.put(RING + WRITTEN, s.at_up + 64),
        ),
        lambda s: (
            s.put(RING + DATA + s.at_up % SIZE, 1 << 32),
            s.put(RING + WRITTEN, s.at_up + 64),
        ),
    ):
        with World(roles=("base",), lines="shm") as w:
            flowgraph = connect_line(w.context, w.line("base.slot"))
            hello(flowgraph, "base")
            wait_for("connection", lambda: w.status("base").flowgraph_connected)
            spoil(flowgraph)
            flowgraph.put(RING + ASLEEP, 1, "I")
            flowgraph.ring()
            assert w.wait_exit("base") == 3
            assert "the base station's flowgraph died" in w.last_line("base"), w.output("base")
            flowgraph.close()


def test_packets_pass_while_garbage_comes_in_between():
    with World(["link.bins=25", "link.modulation=4"], ["uplink.kbps=5000"]) as w:
        pipe = w.start_pipe()
        garbage = Garbage(SEED + 2)
        sample = slot_link_pb2.ToMacd()
        sample.report.air = 200
        sample.report.snr_db.extend([1.0] * BINS)
        request = slot_link_pb2.ToMacd()
        request.request.air = 200
        received = 0
        for _ in range(10):
            # Damage that cannot carry a plausible slot: what ARQ has to repair is in the other
            # tests.
            pipe.extra_base.append(garbage.damaged(request.SerializeToString()))
            pipe.extra_terminal.append(garbage.damaged(sample.SerializeToString()))
            out = w.execute("base", "ping", "-c", "1", "-W", "5", "10.42.0.2")
            received += "1 received" in out.stdout
        assert received == 10, received
        check_conservation(w)


if __name__ == "__main__":
    run_tests([f for n, f in list(globals().items()) if n.startswith("test_")])
