# SPDX-License-Identifier: GPL-3.0-or-later
"""wip_observer in two namespaces joined by a cable: what it says of real TCP connections against
what `ss` says.

Skipped without root."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import zmq

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_schema import control_pb2

from openwip_cli.machine import procfs, system
from openwip_cli.messages import telemetry

OBSERVER = pathlib.Path(os.environ["OPENWIP_BUILD"]) / "host/observer/wip_observer"
PREFIX = f"ob{os.getpid() % 100000}"
NAMESPACES = {"base": f"{PREFIX}-base", "terminal": f"{PREFIX}-terminal"}
ADDRESSES = {"base": ("10.43.0.1", "fd00:43::1"), "terminal": ("10.43.0.2", "fd00:43::2")}

# Connects (or listens), moves BYTES, and keeps the connection until its standard input ends. With
# AFTER it sends that many bytes and waits for a line before it sends the rest.
PROGRAM = """
import socket, sys
what, address, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
s = socket.socket(family)
if what == "listen":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port)); s.listen(); print("up", flush=True)
    s, _ = s.accept()
    while size > 0: size -= len(s.recv(min(size, 65536)))
else:
    s.connect((address, port)); print("up", flush=True)
    after = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    s.sendall(bytes(after))
    if after: sys.stdin.readline()
    s.sendall(bytes(size - after))
print("done", flush=True)
sys.stdin.read()
"""


def inside(namespace, *argv, **kwargs):
    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def ss(station, port):
    """The state of the connection with this remote or local port: {name: text} of `ss -ti`."""
    text = subprocess.run(
        ["ss", "-tinHO", "-N", NAMESPACES[station]], capture_output=True, text=True, check=True
    ).stdout
    line = next(x for x in text.splitlines() if f":{port} " in x)
    return dict(re.findall(r"([a-z_]+):([\d./]+)", line)) | {
        "cc": re.search(r" (cubic|reno|bbr|dctcp|[a-z]+) (?:wscale|rto)", line)[1]
    }


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
class Observer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for n in NAMESPACES.values():
            system.ip("netns", "add", n)
            cls.addClassCleanup(system.delete_namespace, n)
            system.ip("-n", n, "link", "set", "lo", "up")
        system.ip(
            "link",
            "add",
            f"{PREFIX}a",
            "netns",
            NAMESPACES["base"],
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            NAMESPACES["terminal"],
        )
        system.ip("-n", NAMESPACES["base"], "link", "set", f"{PREFIX}a", "name", "cable")
        for station, n in NAMESPACES.items():
            for address, length in zip(ADDRESSES[station], ("24", "64")):
                system.ip(
                    "-n",
                    n,
                    "address",
                    "add",
                    f"{address}/{length}",
                    "dev",
                    "cable",
                    *(["nodad"] if ":" in address else []),
                )
            system.ip("-n", n, "link", "set", "cable", "up")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name)
        self.run_folder.chmod(0o755)
        (self.run_folder / "pids").mkdir()
        self.children = []

    # --- verbs ---

    def keep(self, process):
        def end():
            process.stdin.close()
            process.wait(10)
            process.stdout.close()

        self.addCleanup(end)
        return process

    def connect(self, port, version=0, size=200000, after=None):
        """Base station to terminal; both programs, when all bytes have arrived. With `after` the
        sender waits for a line when it has sent so many bytes."""
        address = ADDRESSES["terminal"][version]
        kept = self.keep(
            inside(
                NAMESPACES["terminal"],
                sys.executable,
                "-c",
                PROGRAM,
                "listen",
                address,
                str(port),
                str(size),
            )
        )
        self.assertEqual(kept.stdout.readline(), "up\n")
        here = self.keep(
            inside(
                NAMESPACES["base"],
                sys.executable,
                "-c",
                PROGRAM,
                "connect",
                address,
                str(port),
                str(size),
                *([] if after is None else [str(after)]),
            )
        )
        self.assertEqual(here.stdout.readline(), "up\n")
        if after is None:
            self.assertEqual((here.stdout.readline(), kept.stdout.readline()), ("done\n", "done\n"))
        return here, kept

    def start(self, *settings, stations=None):
        stations = stations or ",".join(f"{s}={n}" for s, n in NAMESPACES.items())
        process = subprocess.Popen(
            [
                OBSERVER,
                "--set",
                f"stations={stations}",
                *(x for s in settings for x in ("--set", s)),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENWIP_RUN": str(self.run_folder)},
        )
        self.lines = []
        for line in process.stderr:
            self.lines.append(line)
            if "is up" in line:
                break
        drain = threading.Thread(target=lambda: self.lines.extend(process.stderr), daemon=True)
        drain.start()

        def end():
            process.kill()
            process.wait()
            drain.join(5)
            process.stderr.close()

        self.addCleanup(end)
        return process

    def reader(self, *topics):
        reader = telemetry.Reader(
            {"observer": f"ipc://{self.run_folder}/observer.telemetry"}, topics
        )
        self.addCleanup(reader.close)
        return reader

    def read_until(self, reader, condition, within=20):
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            for m in reader.poll(0.2):
                if found := condition(m.telemetry):
                    return found
        self.fail("it did not come")

    @staticmethod
    def flow(port, station):
        def find(t):
            return next(
                (
                    f
                    for f in t.tcp.flow
                    if f.station == station
                    and (f.remote if station == "base" else f.local).endswith(f":{port}")
                ),
                None,
            )

        return find

    # --- tests ---

    def test_it_says_what_ss_says(self):
        self.start()
        reader = self.reader("tcp")
        for version, port in ((0, 6001), (1, 6002)):
            self.connect(port, version)
            for station in ("base", "terminal"):
                with self.subTest(version=version, station=station):

                    def same(t):
                        f, s = self.flow(port, station)(t), ss(station, port)
                        if f is None:
                            return None
                        rtt, variation = map(float, s["rtt"].split("/"))
                        wanted = {
                            "cwnd": (f.cwnd_segments, int(s["cwnd"])),
                            "mss": (f.mss_bytes, int(s["mss"])),
                            "rtt": (round(f.rtt_ms, 3), rtt),
                            "var": (round(f.rtt_variation_ms, 3), variation),
                            "rto": (round(f.rto_ms), round(float(s["rto"]))),
                            "cc": (f.congestion_control, s["cc"]),
                            "acked": (f.bytes_acknowledged, int(s.get("bytes_acked", 0))),
                            "received": (f.bytes_received, int(s.get("bytes_received", 0))),
                            "ssthresh": (f.ssthresh_segments, int(s.get("ssthresh", 0))),
                        }
                        self.differs = {k: v for k, v in wanted.items() if v[0] != v[1]}
                        return f if not self.differs else None

                    # The kernel may still change a figure (a delayed acknowledgement): it settles.
                    f = self.read_until(reader, same)
                    self.assertEqual(f.state, "ESTAB")
                    self.assertEqual(f.local.startswith("["), version == 1)

    def test_retransmissions_are_counted_as_the_kernel_does(self):
        self.start()
        reader = self.reader("tcp")
        here, _ = self.connect(6003, size=30_000_000, after=100_000)
        system.ip("-n", NAMESPACES["terminal"], "link", "set", "cable", "down")
        here.stdin.write("\n")
        here.stdin.flush()
        try:
            f = self.read_until(
                reader,
                lambda t: (x := self.flow(6003, "base")(t)) and x.retransmitted_segments and x,
            )
            self.assertGreater(f.unacknowledged_segments, 0)
        finally:
            system.ip("-n", NAMESPACES["terminal"], "link", "set", "cable", "up")
            system.ip(
                "-n",
                NAMESPACES["terminal"],
                "address",
                "replace",
                f"{ADDRESSES['terminal'][1]}/64",
                "dev",
                "cable",
                "nodad",
            )
        self.assertEqual(here.stdout.readline(), "done\n")
        self.read_until(
            reader,
            lambda t: (x := self.flow(6003, "base")(t)) and x.bytes_acknowledged >= 30_000_000,
        )
        self.read_until(
            reader,
            lambda t: self.flow(6003, "base")(t).retransmitted_segments
            == int(ss("base", 6003)["retrans"].split("/")[1]),
        )

    def test_more_connections_than_the_limit_are_counted(self):
        for port in (6004, 6005, 6006):
            self.connect(port, size=1000)
        self.start("tcp.flows=2")
        left_out = self.read_until(self.reader("tcp"), lambda t: t.tcp.left_out)
        # One connection at each station, and those that other tests left closing.
        self.assertGreaterEqual(left_out, 2)

    def test_a_topic_that_nobody_reads_is_not_made(self):
        (self.run_folder / "pids" / "me").write_text(
            f"{os.getpid()} {procfs.start_time(os.getpid())}"
        )
        self.start("cpu.every_ms=100")
        first = self.reader("cpu")
        self.assertEqual(self.read_until(first, lambda t: t.sequence), 1)
        found = self.read_until(first, lambda t: t.sequence > 1 and t.cpu)
        self.assertEqual([p.name for p in found.process], ["me"])
        self.assertGreater(found.process[0].resident_bytes, 1 << 20)
        self.assertGreater(found.cores, 0)
        self.assertEqual(self.read_until(self.reader("tcp"), lambda t: t.sequence), 1)

    def test_the_medium_is_asked_and_may_be_silent(self):
        context = zmq.Context.instance()
        air = context.socket(zmq.REP)
        air.linger = 0
        self.addCleanup(air.close)
        air.bind(f"ipc://{self.run_folder}/air.control")
        os.chmod(self.run_folder / "air.control", 0o777)
        self.start("air.every_ms=50")
        reader = self.reader("air", "tcp")
        # The first question stays without an answer; the others go on, and it asks again.
        self.assertTrue(air.poll(10000))
        air.recv()
        self.read_until(reader, lambda t: t.WhichOneof("what") == "tcp")
        air.close()
        air = context.socket(zmq.REP)
        air.linger = 0
        self.addCleanup(air.close)
        air.bind(f"ipc://{self.run_folder}/air.control")
        os.chmod(self.run_folder / "air.control", 0o777)

        def answer(t):
            if air.poll(0):
                self.assertEqual(
                    control_pb2.Request.FromString(air.recv()).WhichOneof("what"), "status"
                )
                air.send(
                    control_pb2.Reply(
                        ok=True, air=control_pb2.AirStatus(slots=77)
                    ).SerializeToString()
                )
            return t.air.slots if t.WhichOneof("what") == "air" else None

        self.assertEqual(self.read_until(reader, answer), 77)

    def medium(self, answer):
        """Answers every question with AirStatus(**answer) until the test ends; change `answer`
        meanwhile."""
        air = zmq.Context.instance().socket(zmq.REP)
        air.linger = 0
        air.bind(f"ipc://{self.run_folder}/air.control")
        os.chmod(self.run_folder / "air.control", 0o777)
        over = threading.Event()

        def serve():
            while not over.is_set():
                if air.poll(50):
                    air.recv()
                    air.send(
                        control_pb2.Reply(
                            ok=True, air=control_pb2.AirStatus(**answer)
                        ).SerializeToString()
                    )
            air.close()

        thread = threading.Thread(target=serve)
        thread.start()

        def end():
            over.set()
            thread.join()

        self.addCleanup(end)

    def test_what_the_medium_answers_and_who_ends_are_events(self):
        answer = {
            "slots_behind": 5,
            "nodes": [{"name": "base", "process": 7}, {"name": "terminal"}],
        }
        self.medium(answer)
        monitor = subprocess.Popen(["sleep", "100"])
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)
        for name, process in (("judge", monitor.pid), ("me", os.getpid())):
            (self.run_folder / "pids" / name).write_text(f"{process} {procfs.start_time(process)}")
        self.start("air.every_ms=50", "cpu.every_ms=50")
        # Topic `air` beside the events: tells that the medium was heard, so that what follows is
        # news.
        reader = self.reader("event", "air", "cpu")
        heard = set()
        self.read_until(
            reader, lambda t: heard.add(t.WhichOneof("what")) or len(heard & {"air", "cpu"}) == 2
        )
        events = []

        def expect_event(*wanted):
            def look(t):
                if t.HasField("event"):
                    e = t.event
                    events.append((e.source, e.kind, e.reason, e.count))
                    self.slot = t.slot
                return set(wanted) <= set(events)

            self.read_until(reader, look)

        answer["slots_behind"] = 8
        expect_event(("air", "late", "slots_behind", 3))
        answer |= {"nodes": [{"name": "base"}, {"name": "terminal", "process": 9}]}
        expect_event(
            ("air", "radio", "base disconnected", 1), ("air", "radio", "terminal connected", 1)
        )
        answer |= {
            "changes": [control_pb2.SettingChange(slot=4711, key="channel.model", to="etu")],
            "changes_made": 1,
        }
        expect_event(("air", "setting", "channel.model = etu", 1))
        self.assertEqual(self.slot, 4711)
        monitor.kill()
        monitor.wait()
        expect_event(("observer", "run", "judge ended", 1))
        self.assertEqual(len(events), 5, events)  # each once, and none of what was there before

    def test_flows_beyond_the_limit_are_an_event(self):
        self.start("tcp.flows=1", "medium=")
        reader = self.reader("event", "tcp")
        self.read_until(reader, lambda t: t.HasField("tcp"))
        for port in (6007, 6008, 6009):
            self.connect(port, size=1000)
        event = self.read_until(reader, lambda t: t.HasField("event") and t.event)
        self.assertEqual(
            (event.source, event.kind, event.reason), ("observer", "drop", "connections_left_out")
        )

    def test_flows_that_came_while_nobody_read_topic_tcp_are_no_event_later(self):
        self.start("tcp.flows=1", "medium=")
        events, first = self.reader("event"), self.reader("tcp")
        self.connect(6010, size=1000)
        self.read_until(first, lambda t: self.flow(6010, "base")(t))
        first.close()
        time.sleep(1)  # the observer looks at its subscriptions ten times a second
        for port in (6011, 6012, 6013):
            self.connect(port, size=1000)
        second_reader = self.reader("tcp")
        seen = self.read_until(second_reader, lambda t: t.tcp.left_out >= 4 and t.sequence)
        self.read_until(second_reader, lambda t: t.sequence > seen + 20)
        self.assertEqual([m.telemetry.event.reason for m in events.poll(0.2)], [])
        self.connect(6014, size=1000)
        event = self.read_until(events, lambda t: t.HasField("event") and t.event)
        self.assertEqual(event.reason, "connections_left_out")

    def test_garbage_from_its_sources_is_counted_and_changes_nothing(self):
        base = zmq.Context.instance().socket(zmq.XPUB)
        base.linger = 0
        self.addCleanup(base.close)
        base.bind(f"ipc://{self.run_folder}/base.telemetry")
        os.chmod(self.run_folder / "base.telemetry", 0o777)
        self.start()
        self.assertEqual(base.recv(), b"\x01status")
        for frames in (
            (b"status",),
            (b"status", b"\xff\xffgarbage"),
            (b"status", b"", b"more"),
            (b"status", telemetry.telemetry_pb2.Telemetry(slot=4711).SerializeToString()),
        ):
            base.send_multipart(frames)
        reader = self.reader("tcp")
        self.read_until(reader, lambda t: t.slot == 4711)
        self.assertTrue(any("2 malformed messages" in x for x in self.lines), self.lines)

    def test_it_has_no_rights_and_ends_when_asked(self):
        process = self.start()
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        self.assertRegex(status, r"CapEff:\s+0000000000000000")
        self.assertRegex(status, r"CapBnd:\s+0000000000000000")
        self.assertNotRegex(status, r"Uid:\s+0\s")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)

    def test_bad_settings_are_one_line_and_exit_code_2(self):
        for setting, words in (
            ("stations=base=no-such-namespace", "stations: base is no-such-namespace"),
            ("tcp.every_ms=0", "tcp.every_ms"),
            ("nonsense=1", "nonsense"),
            ("user=no-such-user", "no-such-user"),
        ):
            done = subprocess.run(
                [OBSERVER, "--set", setting],
                capture_output=True,
                text=True,
                env=os.environ | {"OPENWIP_RUN": str(self.run_folder)},
            )
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    socket.setdefaulttimeout(20)
    unittest.main()
