# SPDX-License-Identifier: GPL-3.0-or-later
"""Two real macds in network namespaces of their own, joined by a fake flowgraph: a pipe that turns
every SlotPlan into the SlotReport that a receiver without noise would make. Slots are counted, the
wall clock only puts a ceiling on their rate, so nothing here depends on the machine being fast.

Exit code 77 (skipped) without root or /dev/net/tun."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import zmq
from openwip_schema import control_pb2, slot_link_pb2

from ring_line import RingLine
from zmq_line import ZmqLine

MACD = pathlib.Path(os.environ["OPENWIP_BUILD"]) / "host/macd/macd"
FIRST_SLOT = 150
BINS = 25
SKIPPED = 77  # exit code that CTest counts as skipped
LINES = os.environ.get("OPENWIP_TEST_LINES", "shm")  # ipc: the same tests over ZeroMQ


def need_root():
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        print("skipped: needs root and /dev/net/tun")
        sys.exit(SKIPPED)


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class Pipe(threading.Thread):
    """The flowgraphs of both stations in one thread. `frame_error`: probability that a frame is
    reported as bad, with damaged payload. `slots_per_second` is a ceiling; `last`: no slot after it
    is reported, as at the end of a recording."""

    def __init__(
        self,
        context,
        base_endpoint,
        terminal_endpoint,
        frame_error=0.0,
        seed=1,
        slots_per_second=1500,
    ):
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.frame_error = frame_error
        self.rate = slots_per_second
        self.base = connect_line(context, base_endpoint)
        self.terminal = connect_line(context, terminal_endpoint)
        self.slot = FIRST_SLOT
        self.reported = FIRST_SLOT - 1
        self.last = float("inf")
        self.stopping = False
        self.stop_notes = []
        self.error = None
        self.extra_base, self.extra_terminal = [], []  # raw messages to slip in between

    def run(self):
        try:
            self.loop()
        except Exception as e:
            self.error = e
        finally:
            self.base.close(0)
            self.terminal.close(0)

    def loop(self):
        hello(self.base, "base")
        hello(self.terminal, "terminal")
        start = time.monotonic()
        self.request()
        while not self.stopping:
            # The terminal's end is only ever told to stop.
            for s in [s for s, ms in ((self.base, 50), (self.terminal, 0)) if s.poll(ms)]:
                message = slot_link_pb2.ToFlowgraph.FromString(s.recv())
                if message.WhichOneof("what") == "stop":
                    self.stop_notes.append(message.stop)
                    return
                if message.WhichOneof("what") != "plan" or message.plan.air != self.slot:
                    continue
                while not self.stopping:
                    ahead = start + (self.slot - FIRST_SLOT) / self.rate - time.monotonic()
                    if ahead <= 0 and self.slot <= self.last:
                        break
                    time.sleep(min(max(ahead, 0.001), 0.05))
                while self.extra_terminal:
                    self.terminal.send(self.extra_terminal.pop())
                self.terminal.send(self.report(message.plan).SerializeToString())
                self.reported = self.slot
                self.slot += 1
                self.request()

    def request(self):
        while self.extra_base:
            self.base.send(self.extra_base.pop())
        message = slot_link_pb2.ToMacd()
        message.request.air = self.slot
        self.base.send(message.SerializeToString())

    def report(self, plan):
        message = slot_link_pb2.ToMacd()
        r = message.report
        r.air, r.locked, r.grant_ok, r.grant = plan.air, True, True, plan.grant
        r.snr_db.extend([30.0] * BINS)
        r.predicted_snr_db.extend([30.0] * BINS)
        for p in plan.payload:
            bad = self.random.random() < self.frame_error
            payload = self.random.randbytes(len(p.payload)) if bad else p.payload
            r.bins.add(
                bin=p.bin, outcome=slot_link_pb2.BAD if bad else slot_link_pb2.GOOD, payload=payload
            )
        if plan.air % 15 == 0:
            r.state.locks = 1
        return message


def connect_line(context, endpoint):
    if endpoint.startswith("shm://"):
        return RingLine(endpoint.removeprefix("shm://"))
    return ZmqLine(context, endpoint)


def hello(socket, role, version=slot_link_pb2.VERSION_CURRENT):
    message = slot_link_pb2.ToMacd()
    message.hello.version = version
    message.hello.role = role
    socket.send(message.SerializeToString())


class World:
    """`with World(...) as w:` starts the namespaces and both macds; everything is gone
    afterwards."""

    count = 0

    def __init__(self, base=(), terminal=(), roles=("base", "terminal"), lines=LINES):
        """`lines`: how slot links and uplink are carried, shm or ipc."""
        World.count += 1
        self.tag = f"owm{os.getpid() % 100000}x{World.count}"
        self.lines = lines
        self.settings = {
            role: [
                f"endpoints.slot_link={lines}://RUN/{role}.slot",
                f"endpoints.uplink={lines}://RUN/uplink",
                *more,
            ]
            for role, more in (("base", base), ("terminal", terminal))
        }
        self.roles = roles
        self.process, self.log = {}, {}
        self.pipe = None

    def __enter__(self):
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="owm", dir="/tmp"))
        self.run.chmod(0o711)
        self.context = zmq.Context()
        try:
            for role in self.roles:
                subprocess.run(["ip", "netns", "add", self.netns(role)], check=True)
                self.start(role)
            for role in self.roles:
                wait_for(
                    f"{role} listens",
                    lambda r=role: (self.run / f"{r}.control").exists()
                    or self.process[r].poll() is not None,
                )
                assert self.process[role].poll() is None, self.output(role)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.pipe:
            self.pipe.stopping = True
            self.pipe.join(5)
        for p in self.process.values():
            if p.poll() is None:
                p.kill()
            p.wait()
        for role in self.roles:
            subprocess.run(["ip", "netns", "del", self.netns(role)], stderr=subprocess.DEVNULL)
        self.context.destroy(0)
        shutil.rmtree(self.run, ignore_errors=True)

    def netns(self, role):
        return self.tag + role[0]

    def endpoint(self, name):
        return f"ipc://{self.run}/{name}"

    def line(self, name):
        return f"{self.lines}://{self.run}/{name}"

    def start(self, role):
        self.log[role] = open(self.run / f"{role}.log", "wb")
        command = ["ip", "netns", "exec", self.netns(role), str(MACD), "--set", f"role={role}"]
        for s in self.settings[role]:
            command += ["--set", s]
        self.process[role] = subprocess.Popen(
            command,
            stdout=self.log[role],
            stderr=self.log[role],
            env={**os.environ, "OPENWIP_RUN": str(self.run)},
        )

    def output(self, role):
        return (self.run / f"{role}.log").read_text(errors="replace")

    def last_line(self, role):
        return (self.output(role).strip().splitlines() or [""])[-1]

    def start_pipe(self, **settings):
        # A word of the terminal that nobody hears is lost, and this pipe goes no further without
        # it; a radio does.
        wait_for(
            "the stations know each other",
            lambda: all(self.status(r).peer_connected for r in self.roles),
        )
        self.pipe = Pipe(
            self.context, self.line("base.slot"), self.line("terminal.slot"), **settings
        )
        self.pipe.start()
        wait_for(
            "slots run", lambda: self.pipe.reported > FIRST_SLOT + 30 or not self.pipe.is_alive()
        )
        assert self.pipe.is_alive(), (self.pipe.error, *(self.last_line(r) for r in self.roles))
        return self.pipe

    def ask(self, role, seconds=5, **what):
        request = control_pb2.Request()
        for key, value in what.items():
            if key in ("status", "reset_counters"):
                getattr(request, key).SetInParent()
            else:
                setattr(request, key, value)
        s = self.context.socket(zmq.REQ)
        s.setsockopt(zmq.LINGER, 0)
        try:
            s.connect(self.endpoint(f"{role}.control"))
            s.send(request.SerializeToString())
            assert s.poll(seconds * 1000), f"no answer from {role}: {self.output(role)}"
            return control_pb2.Reply.FromString(s.recv())
        finally:
            s.close()

    def status(self, role):
        reply = self.ask(role, status=True)
        assert reply.ok, reply.error
        return reply.mac

    def execute(self, role, *command, **options):
        return subprocess.run(
            ["ip", "netns", "exec", self.netns(role), *command],
            capture_output=True,
            text=True,
            **options,
        )

    def interface(self, role):
        out = self.execute(role, "ip", "-s", "-j", "link", "show", "wip0")
        return json.loads(out.stdout)[0] if out.returncode == 0 else None

    def drained(self):
        b, t = self.status("base"), self.status("terminal")
        return b.downlink.queued.packets == t.uplink.queued.packets == b.uplink.queued.packets == 0

    def wait_exit(self, role, seconds=5):
        return self.process[role].wait(seconds)


def dropped(direction):
    return sum(d.count.packets for d in direction.dropped)


def dropped_bytes(direction):
    return sum(d.count.bytes for d in direction.dropped)


def check_direction(where, d):
    """in = delivered + queued + dropped, packets and bytes."""
    got = d.delivered.packets + d.queued.packets + dropped(d)
    assert getattr(d, "in").packets == got, f"{where}: packets do not add up: {d}"
    if not any(x.reason in ("kernel_queue_full", "tun_read_error") for x in d.dropped):
        got = d.delivered.bytes + d.queued.bytes + dropped_bytes(d)
        assert getattr(d, "in").bytes == got, f"{where}: bytes do not add up: {d}"


def check_conservation(world):
    """Drained link: at each end, across the link, and against the kernel's own counters."""
    wait_for("the link is drained", world.drained)
    time.sleep(0.1)  # the last acknowledged packet is on its way to the TUN
    b, t = world.status("base"), world.status("terminal")
    for where, d in (
        ("base downlink", b.downlink),
        ("terminal downlink", t.downlink),
        ("base uplink", b.uplink),
        ("terminal uplink", t.uplink),
    ):
        check_direction(where, d)
    lost = sum(
        d.count.packets for d in b.downlink.dropped if d.reason == "retransmissions_exceeded"
    )
    if lost == 0:
        assert b.downlink.delivered == getattr(t.downlink, "in"), (b.downlink, t.downlink)
    assert t.uplink.delivered == getattr(b.uplink, "in"), (t.uplink, b.uplink)
    for role, offered, handed in (
        ("base", b.downlink, b.uplink),
        ("terminal", t.uplink, t.downlink),
    ):
        kernel = world.interface(role)["stats64"]
        assert (
            getattr(offered, "in").packets == kernel["tx"]["packets"] + kernel["tx"]["dropped"]
        ), (role, offered, kernel)
        assert handed.delivered.packets == kernel["rx"]["packets"], (role, handed, kernel)
    return b, t


def run_tests(tests):
    """Runs each function, prints one line for each; exit code 1 when one failed."""
    need_root()
    wanted = sys.argv[1:]
    failed = 0
    for test in tests:
        if wanted and not any(w in test.__name__ for w in wanted):
            continue
        start = time.monotonic()
        try:
            test()
            verdict = "ok"
        except Exception as e:
            import traceback

            traceback.print_exc()
            verdict, failed = f"FAILED: {e}", failed + 1
        print(f"{test.__name__}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    sys.exit(1 if failed else 0)


__all__ = [n for n in dir() if not n.startswith("_")]
