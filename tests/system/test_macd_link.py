# SPDX-License-Identifier: GPL-3.0-or-later
"""Real packets through two macds: ping, TCP, sums, run-time settings, orderly and sudden ends."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time

import zmq
from openwip_schema import slot_link_pb2, telemetry_pb2

from macd_world import *

FAST = ["link.bins=25", "link.modulation=8"]
FAST_UPLINK = ["uplink.kbps=5000"]

RECEIVER = """
import hashlib, socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.42.0.2", 5300)); s.listen(1); print("ready", flush=True)
c, _ = s.accept(); h = hashlib.sha256(); n = 0
while True:
    d = c.recv(65536)
    if not d: break
    h.update(d); n += len(d)
print(n, h.hexdigest())
"""
SENDER = """
import random, socket, sys
data = random.Random(7).randbytes(int(sys.argv[1]))
s = socket.create_connection(("10.42.0.2", 5300), timeout=60)
s.sendall(data); s.shutdown(socket.SHUT_WR); s.recv(1)
"""


def transfer(world, size):
    """`size` bytes from the base's namespace to the terminal's; checks the SHA-256."""
    receiver = subprocess.Popen(
        ["ip", "netns", "exec", world.netns("terminal"), "/usr/bin/python3", "-c", RECEIVER],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert receiver.stdout.readline() == "ready\n"
        sent = world.execute("base", "/usr/bin/python3", "-c", SENDER, str(size), timeout=120)
        assert sent.returncode == 0, sent.stderr
        n, digest = receiver.stdout.read().split()
    finally:
        receiver.kill()
        receiver.wait()
    import random

    assert int(n) == size
    assert digest == hashlib.sha256(random.Random(7).randbytes(size)).hexdigest()


def ping(world, count=10):
    out = world.execute("base", "ping", "-c", str(count), "-i", "0.05", "-W", "5", "10.42.0.2")
    assert f"{count} received" in out.stdout, out.stdout + out.stderr
    return out.stdout


def test_ping_passes_both_ways_and_sums_are_kept():
    with World(FAST, FAST_UPLINK) as w:
        w.start_pipe()
        print(ping(w).splitlines()[-1])
        out = w.execute("terminal", "ping", "-c", "3", "-i", "0.05", "-W", "5", "10.42.0.1")
        assert "3 received" in out.stdout, out.stdout
        b, t = check_conservation(w)
        assert getattr(b.downlink, "in").packets == 13 and t.downlink.delivered.packets == 13
        assert b.uplink.delivered.packets == 13
        assert b.malformed_messages == t.malformed_messages == 0
        assert (
            b.flowgraph_connected
            and b.peer_connected
            and t.flowgraph_connected
            and t.peer_connected
        )


def test_an_idle_link_carries_nothing():
    with World() as w:
        w.start_pipe()
        time.sleep(1)
        b, t = check_conservation(w)
        assert getattr(b.downlink, "in").packets == getattr(t.uplink, "in").packets == 0
        assert t.uplink_feedback.packets > 0 and b.uplink_feedback.packets > 0


def test_tcp_arrives_whole_over_a_clean_link():
    with World(FAST, FAST_UPLINK) as w:
        w.start_pipe(slots_per_second=3000)
        transfer(w, 2_000_000)
        b, _ = check_conservation(w)
        assert b.base.frames_failed == 0, b.base
        assert b.malformed_messages == 0


def test_tcp_arrives_whole_when_frames_fail():
    with World(["link.bins=25", "link.modulation=4"], FAST_UPLINK) as w:
        w.start_pipe(frame_error=0.2, slots_per_second=3000)
        transfer(w, 500_000)
        b, _ = check_conservation(w)
        assert b.base.frames_failed > 0.1 * b.base.frames_sent, b.base
        assert b.base.frames_given_up == 0


def test_udp_overload_is_dropped_in_the_queue_and_counted():
    with World(["link.bins=2", "link.modulation=2"], FAST_UPLINK) as w:
        w.start_pipe()
        sender = (
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(3000): s.sendto(bytes(1000), ('10.42.0.2', 9))"
        )
        w.execute("base", "/usr/bin/python3", "-c", sender)
        b, _ = check_conservation(w)
        assert getattr(b.downlink, "in").packets >= 3000
        reasons = {d.reason: d.count.packets for d in b.downlink.dropped}
        assert reasons.get("queue_full", 0) > 0, reasons
        print(reasons)


def test_settings_change_while_it_runs_and_others_are_refused():
    with World(["link.modulation=2"]) as w:
        w.start_pipe()
        reply = w.ask("base", configure_yaml="link: {modulation: 6, bins: 3}")
        assert reply.ok, reply.error
        assert "modulation: 6" in reply.mac.effective_yaml
        ping(w, 5)
        histogram = w.status("base").base.modulation_histogram
        assert histogram[6] > 0 and histogram[2] == 0, histogram
        for role, yaml, named in (
            ("base", "link: {order: as_completed}", "link.order"),
            ("base", "tun: {mtu: 1400}", "tun.mtu"),
            ("base", "uplink: {kbps: 100}", "uplink.kbps"),
            ("base", "link: {bins: 26}", "link.bins is 26"),
            ("base", "link: {binz: 2}", "did you mean link.bins?"),
            ("base", "link: [", "not YAML"),
            ("terminal", "link: {bins: 2}", "link.bins"),
        ):
            reply = w.ask(role, configure_yaml=yaml)
            assert not reply.ok and named in reply.error, (yaml, reply.error)
        assert "bins: 3" in w.status("base").effective_yaml
        reply = w.ask("terminal", configure_yaml="uplink: {kbps: 100}")
        assert reply.ok and "kbps: 100" in reply.mac.effective_yaml, reply.error


def test_telemetry_has_no_gaps():
    with World(["telemetry.slot_every=15"]) as w:
        s = w.context.socket(zmq.SUB)
        s.connect(w.endpoint("base.telemetry"))
        s.setsockopt(zmq.SUBSCRIBE, b"")
        time.sleep(0.2)
        w.start_pipe()
        last = {}
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if not s.poll(100):
                continue
            topic, body = s.recv_multipart()
            message = telemetry_pb2.Telemetry.FromString(body)
            assert message.sequence == last.get(topic, (message.sequence - 1,))[0] + 1
            if topic in last:
                step = {b"status": 150, b"slot": 15}[topic]
                assert message.slot == last[topic][1] + step
            last[topic] = (message.sequence, message.slot)
        assert set(last) == {b"status", b"slot"}, last

        def steps():
            found, before, end = [], None, time.monotonic() + 2
            while time.monotonic() < end:
                if not s.poll(100):
                    continue
                topic, body = s.recv_multipart()
                if topic == b"slot":
                    slot = telemetry_pb2.Telemetry.FromString(body).slot
                    found += [slot - before] if before is not None else []
                    before = slot
            return found

        for every in (1, 15):
            reply = w.ask("base", configure_yaml=f"telemetry: {{slot_every: {every}}}")
            assert reply.ok, reply.error
            found = steps()
            assert found[len(found) // 2 :] and set(found[len(found) // 2 :]) == {every}, (
                every,
                found,
            )
        s.close()


def test_privileges_are_given_up():
    with World() as w:
        wait_for("both up", lambda: "is up" in w.output("base") and "is up" in w.output("terminal"))
        for role in w.roles:
            pid = w.process[role].pid
            for task in os.listdir(f"/proc/{pid}/task"):
                status = open(f"/proc/{pid}/task/{task}/status").read()
                assert re.search(r"^Uid:\s+65534\s+65534\s+65534\s+65534$", status, re.M), status
                assert re.search(r"^Gid:\s+65534\s+65534\s+65534\s+65534$", status, re.M)
                assert re.search(r"^Groups:\s*$", status, re.M)
                for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"):
                    found = re.search(rf"^Cap{kind}:\s+(\S+)$", status, re.M).group(1)
                    assert int(found, 16) == 0, (task, kind, found)
                assert re.search(r"^NoNewPrivs:\s+1$", status, re.M), (task, status)
        for name in ("base.slot", "uplink", "base.control", "base.telemetry"):
            info = os.stat(w.run / name)
            # The radios reach the lines of the slot path as members of the account's group; control
            # and telemetry are the user's alone.
            mode = 0o660 if name in ("base.slot", "uplink") else 0o600
            assert info.st_uid == 65534 and info.st_mode & 0o777 == mode, (name, oct(info.st_mode))


def test_stop_ends_both_in_order():
    with World() as w:
        w.start_pipe()
        assert w.ask("base", stop="the run is over").ok
        assert w.wait_exit("base") == 0 and w.wait_exit("terminal") == 0
        assert "ends: the run is over" in w.output("base")
        assert "the run is over" in w.output("terminal")
        wait_for("the flowgraph was told", lambda: w.pipe.stop_notes)
        assert w.interface("base") is None and w.interface("terminal") is None


def test_the_terminals_stop_ends_both_in_order():
    with World() as w:
        w.start_pipe()
        assert w.ask("terminal", stop="enough").ok
        assert w.wait_exit("terminal") == 0 and w.wait_exit("base") == 0
        assert "the terminal's macd ended: enough" in w.output("base")


def test_sigterm_ends_with_one_line_why():
    for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
        with World() as w:
            w.start_pipe()
            start = time.monotonic()
            w.process["base"].send_signal(number)
            assert w.wait_exit("base") == 0
            assert time.monotonic() - start < 1
            assert f"ends: {name}: asked to stop" in w.output("base")
            assert w.wait_exit("terminal") == 0
            assert w.interface("base") is None


def test_sigterm_with_a_reason_that_something_died_is_a_failure():
    with World() as w:
        w.start_pipe()
        why = {"cause": "DIED", "words": "air was killed by SIGKILL"}
        (w.run / "why").write_text(json.dumps(why))
        w.process["base"].terminate()
        assert w.wait_exit("base") == 3
        assert "ends: SIGTERM: air was killed by SIGKILL" in w.output("base")
        assert w.wait_exit("terminal") == 3


def test_a_cause_that_was_asked_for_ends_in_order_whatever_its_words():
    with World() as w:
        w.start_pipe()
        why = {"cause": "ASKED", "words": "the last flow died, the run is gone"}
        (w.run / "why").write_text(json.dumps(why))
        w.process["base"].terminate()
        assert w.wait_exit("base") == 0 and w.wait_exit("terminal") == 0


def test_a_flowgraph_that_is_killed_ends_both():
    """The pipe is a thread: closing its sockets is what the kernel does when a process is
    killed."""
    with World() as w:
        w.start_pipe()
        start = time.monotonic()
        w.pipe.stopping = True
        w.pipe.join()
        assert w.wait_exit("base") == 3 and w.wait_exit("terminal") == 3
        assert time.monotonic() - start < 3
        reported = w.output("base") + w.output("terminal")
        assert "flowgraph died (its connection closed)" in reported, reported
        assert w.interface("base") is None and w.interface("terminal") is None


def test_a_killed_macd_ends_the_other():
    for victim, other, line in (
        ("base", "terminal", "the base station's macd died"),
        ("terminal", "base", "the terminal's macd died"),
    ):
        with World() as w:
            w.start_pipe()
            start = time.monotonic()
            w.process[victim].kill()
            assert w.wait_exit(other) == 3
            assert time.monotonic() - start < 3
            assert line in w.output(other), w.output(other).splitlines()[-1]
            assert w.interface(victim) is None and w.interface(other) is None


def test_records_of_the_last_slots_go_out_with_the_next_answer_when_no_slot_comes_any_more():
    with World(
        ["link.bins=2", "link.modulation=2", "peer_timeout_s=60"], ["peer_timeout_s=60"]
    ) as w:
        readers = {}
        for role in w.roles:
            readers[role] = w.context.socket(zmq.SUB)
            readers[role].connect(w.endpoint(f"{role}.telemetry"))
            readers[role].setsockopt(zmq.SUBSCRIBE, b"frames")
        time.sleep(0.2)
        pipe = w.start_pipe()
        flood = (
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(200): s.sendto(bytes(1000), ('10.42.0.2', 9))"
        )
        w.execute("base", "/usr/bin/python3", "-c", flood)
        pipe.last = (pipe.slot // 15 + 20) * 15 + 7
        wait_for("the pipe holds", lambda: pipe.reported == pipe.last)

        def newest(role, seconds=1):
            slots = []
            while readers[role].poll(seconds * 1000):
                slots += [
                    s.air
                    for s in telemetry_pb2.Telemetry.FromString(
                        readers[role].recv_multipart()[1]
                    ).frames.slot
                ]
            return slots and slots[-1]

        for role in w.roles:
            assert newest(role) == pipe.last // 15 * 15, "the last full batch"
            status = w.status(role)
            # every slot had frames: the queue is never empty
            assert newest(role) == status.slot, role
            w.status(role)
            assert newest(role, 0.2) == [], "once"
        assert w.status("base").downlink.queued.packets > 0
        for s in readers.values():
            s.close(0)


def test_silence_ends_with_the_name_of_the_silent_one():
    with World(["peer_timeout_s=0.5"], ["peer_timeout_s=0.5"]) as w:
        pipe = w.start_pipe()
        pipe.rate = 0.0001  # the flowgraph stays connected, but sends hardly anything
        assert w.wait_exit("base") == 3 and w.wait_exit("terminal") == 3
        reported = w.output("base") + w.output("terminal")
        assert "flowgraph is silent for 0.5 s" in reported, reported
    with World(["peer_timeout_s=0.5"]) as w:
        w.start_pipe()
        w.process["terminal"].send_signal(signal.SIGSTOP)
        assert w.wait_exit("base") == 3
        assert "the terminal's macd is silent for 0.5 s" in w.output("base"), w.output("base")
        w.process["terminal"].send_signal(signal.SIGCONT)


def test_slow_slots_are_not_silence():
    with World(["peer_timeout_s=1"], ["peer_timeout_s=1"]) as w:
        w.start_pipe(slots_per_second=20)
        time.sleep(3)
        assert w.process["base"].poll() is None and w.process["terminal"].poll() is None
        check_conservation(w)


def test_a_flowgraph_that_is_long_in_starting_is_not_silence():
    with World(["peer_timeout_s=0.3"], ["peer_timeout_s=0.3"]) as w:
        sockets = []
        for role in w.roles:
            sockets.append(connect_line(w.context, w.line(f"{role}.slot")))
            hello(sockets[-1], role)
        time.sleep(1)
        assert w.process["base"].poll() is None and w.process["terminal"].poll() is None
        for s in sockets:
            s.close(0)


def test_another_version_or_role_is_refused():
    current = slot_link_pb2.VERSION_CURRENT
    for role, version, line in (
        ("base", 99, f"the flowgraph speaks version 99, macd version {current}"),
        ("terminal", current, 'the flowgraph\'s role is "terminal", here is "base"'),
    ):
        with World(roles=("base",)) as w:
            s = connect_line(w.context, w.line("base.slot"))
            hello(s, role, version)
            assert w.wait_exit("base") == 2
            assert line in w.output("base"), w.output("base")
            notes = []
            while s.poll(1000):
                notes.append(slot_link_pb2.ToFlowgraph.FromString(s.recv()))
            assert [n.WhichOneof("what") for n in notes] == ["hello", "stop"]
            s.close()


def test_an_interface_deleted_by_somebody_ends_with_its_name():
    with World() as w:
        w.start_pipe()
        w.execute("base", "ip", "link", "del", "wip0")
        assert w.wait_exit("base") == 3
        assert "the interface wip0 is gone" in w.output("base")


if __name__ == "__main__":
    run_tests([f for n, f in list(globals().items()) if n.startswith("test_")])
