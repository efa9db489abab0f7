# SPDX-License-Identifier: GPL-3.0-or-later
"""Two computers that are network namespaces, with a LAN between them, and the medium beside as the
air. On this LAN everything that goes from one computer to the other takes DELAY_S each way, drawn
anew for each piece (the kernels that this has to run on have no netem): a relay on the terminal's
computer, in order, as TCP has it."""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import threading
import time

from demo_support import TOP, cells, environment, openwip, system

DELAY_S = (0.2e-3, 2e-3)
PORT, RELAY_PORT, FADER_PORT = 7680, 7681, 7690
ADDRESS = {"base": "10.99.7.1", "terminal": "10.99.7.2"}
CONFIG = """
air: {{name: {name}, clock: realtime, stations_may_die: on, control: "ipc://{folder}/air.control"}}
nodes: {{base: {{}}, terminal: {{noise_dbfs: {noise}}}}}
paths: [{{from: base, to: terminal, delay_samples: 6, channel: awgn}}]
"""
CABLES = """
air: {{name: {name}, clock: realtime, stations_may_die: on, control: "ipc://{folder}/air.control"}}
nodes: {{base: {{}}, fader-base: {{}}, fader-terminal: {{}}, terminal: {{}}}}
paths: [{{from: base, to: fader-base}}, {{from: fader-terminal, to: terminal}}]
"""
FADER_SAMPLES = 46080  # delay of the fader, 9 slots
FADER = """
air: {{name: fader, seed: 3, control: "ipc://{folder}/fader.control"}}
fader: {{delay_samples: {samples}}}
nodes:
  base: {{radio: &both "type=vusrp,product=x310,master_clock_rate=184.32e6,ppm=0,air={name},node=fader-base:fader-terminal"}}
  terminal: {{radio: *both, channel: 1, transmit_gain_db: 11.5, noise_dbfs: {noise}}}
paths: [{{from: base, to: terminal, delay_samples: 6, channel: jakes, speed_kmh: 30}}]
"""


class Relay(threading.Thread):
    """tcp://ADDRESS["terminal"]:RELAY_PORT -> the base station's computer, late by DELAY_S."""

    def __init__(self, namespace, delay_s=DELAY_S):
        super().__init__(daemon=True)
        self.namespace, self.delay_s = namespace, delay_s
        self.dice = random.Random(1)
        self.ready = threading.Event()
        self.loop = None
        self.start()
        self.ready.wait(5)

    def run(self):
        system.in_namespace(self.namespace, lambda: asyncio.run(self.serve()))

    async def serve(self):
        self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.joined, ADDRESS["terminal"], RELAY_PORT)
        self.ready.set()
        await self.over.wait()
        server.close()

    async def joined(self, reader, writer):
        try:
            there = await asyncio.open_connection(ADDRESS["base"], PORT)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.carry(reader, there[1]), self.carry(there[0], writer))

    async def carry(self, reader, writer):
        last, under_way = 0.0, collections.deque()  # two timers of one moment have no order

        def deliver():
            data = under_way.popleft()
            if data and not writer.is_closing():
                writer.write(data)
            elif not data:
                writer.close()

        while True:
            try:
                data = await reader.read(1 << 16)
            except OSError:
                data = b""
            under_way.append(data)
            last = max(last, self.loop.time() + self.dice.uniform(*self.delay_s))
            self.loop.call_at(last, deliver)
            if not data:
                return

    def close(self):
        self.loop.call_soon_threadsafe(self.over.set)
        self.join(3)


class Station:
    """./openwip station on its computer."""

    def __init__(self, world, role, *more):
        self.role = role
        self.cell = cells.Cell(f"{world.name}{role[0]}", int(role == "terminal"), role == "base")
        self.report = world.folder / f"{role}.json"
        # `ip netns exec` is not used: it has mounts of its own, so no process outside would see the
        # station's namespace.
        self.process = subprocess.Popen(
            [
                "nsenter",
                f"--net=/run/netns/{world.namespace[role]}",
                str(TOP / "openwip"),
                "station",
                role,
                "--radio",
                f"type=vusrp,air={world.name},node={role}",
                "--peer",
                world.peer[role],
                "--keys",
                str(world.folder / "keys"),
                "--name",
                self.cell.name,
                f"--json={self.report}",
                *world.options[role],
                *more,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.began = time.monotonic()
        self.lines, self.up_at = [], None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            if "up: ./openwip exec" in line:
                self.up_at = time.monotonic()
            self.lines.append(line.rstrip())

    @property
    def output(self):
        return "\n".join(self.lines)

    def wait_until_up(self, limit=30):
        if (
            not system.wait_until(
                lambda: self.up_at or self.process.poll() is not None, limit, 0.01
            )
            or not self.up_at
        ):
            raise AssertionError(f"{self.role} is not up:\n{self.output}")

    def run(self, *command, **more):
        return subprocess.run(
            ["ip", "netns", "exec", self.cell.namespace(self.role), *command],
            capture_output=True,
            text=True,
            **more,
        )

    def hears(self, address):
        return self.run("ping", "-c1", "-W1", address).returncode == 0

    def power_fails(self):
        """Kills all processes of the station at once, so that none is left to clear up."""
        state = self.cell.state
        for pid, _ in [tuple(state["keeper"]), *self.cell.recorded_processes()]:
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def refuses(self, limit=30):
        """Exit code of one that ends by itself, all of what it said read."""
        self.process.wait(limit)
        self.reader.join(5)
        return self.process.returncode

    def ends(self, limit=20):
        """(exit code, report)"""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(limit)
        return self.process.returncode, (
            json.loads(self.report.read_text()) if self.report.exists() else None
        )

    def close(self):
        ended(self.process, 20)
        self.reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()


def ended(process, limit):
    """A process that was asked to end, and killed if it does not."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class World:
    def __init__(self, name, base=(), terminal=(), snr=40, jitter=True, cabled=False):
        self.name, self.cabled = name, cabled
        self.keep = tempfile.TemporaryDirectory(prefix="openwip-two-")
        self.folder = pathlib.Path(self.keep.name)
        self.namespace = {role: f"{name}-lan-{role[0]}" for role in ADDRESS}
        self.options = {"base": base, "terminal": terminal}
        self.peer = {
            "base": ADDRESS["terminal"],
            "terminal": f"{ADDRESS['terminal']}:{RELAY_PORT}" if jitter else ADDRESS["base"],
        }
        self.medium = self.fader = self.relay = self.medium_log = None
        self.stations = []
        self.folder.chmod(0o755)  # the fader's socket is the account's
        try:
            made = openwip("keys", str(self.folder / "keys"))
            assert made.returncode == 0, made.stderr
            self.connect()
            self.start_medium(snr)
            self.relay = Relay(self.namespace["terminal"]) if jitter else None
        except BaseException:
            self.close()
            raise

    def connect(self):
        ends = {role: f"{self.name}{role[0]}" for role in ADDRESS}
        for role in ADDRESS:
            system.ip("netns", "add", self.namespace[role])
            system.ip("-n", self.namespace[role], "link", "set", "lo", "up")
        system.ip(
            "link",
            "add",
            ends["base"],
            "netns",
            self.namespace["base"],
            "type",
            "veth",
            "peer",
            "name",
            ends["terminal"],
            "netns",
            self.namespace["terminal"],
        )
        for role, address in ADDRESS.items():
            system.ip("-n", self.namespace[role], "addr", "add", f"{address}/24", "dev", ends[role])
            system.ip("-n", self.namespace[role], "link", "set", ends[role], "up")

    def start_medium(self, snr):
        noise = -15 - snr + 1.864  # 500 of 768 subcarriers
        build = environment()["OPENWIP_BUILD"]
        core = max(os.sched_getaffinity(0))  # the core on which the stations put their slot paths
        self.medium_log = open(self.folder / "air.log", "w")

        def start(file, text, *command, more=()):
            config = self.folder / file
            config.write_text(
                text.format(name=self.name, folder=self.folder, noise=noise, samples=FADER_SAMPLES)
            )
            return subprocess.Popen(
                ["taskset", "-c", str(core), *command, str(config), *more],
                stdout=subprocess.DEVNULL,
                stderr=self.medium_log,
                env=environment() | {"UHD_MODULE_PATH": f"{build}/uhd_modules"},
            )

        self.medium = start(
            "air.yaml", CABLES if self.cabled else CONFIG, f"{build}/host/medium/air", "--config"
        )
        if self.cabled:
            self.wait_for("air.control", self.medium)
            # The fader runs on the base station's computer; the terminal connects to it.
            self.fader = start(
                "fader.yaml",
                FADER,
                "nsenter",
                f"--net=/run/netns/{self.namespace['base']}",
                str(TOP / "openwip"),
                "fader",
                more=(
                    "--listen",
                    f"tcp://{ADDRESS['base']}:{FADER_PORT}",
                    "--keys",
                    str(self.folder / "keys"),
                ),
            )
            self.wait_for("fader.control", self.fader)

    def wait_for(self, endpoint, process):
        system.wait_until(
            lambda: (self.folder / endpoint).exists() or process.poll() is not None, 10, 0.01
        )
        if process.poll() is not None or not (self.folder / endpoint).exists():
            raise AssertionError(
                f"{endpoint} is not there, exit code"
                f" {process.poll()}:\n{(self.folder / 'air.log').read_text()}"
            )

    def station(self, role, *more):
        made = Station(self, role, *more)
        self.stations.append(made)
        return made

    def close(self):
        """Ends everything, even if some part does not end."""
        with contextlib.ExitStack() as left:
            left.callback(self.keep.cleanup)
            for name in self.namespace.values():
                left.callback(system.delete_namespace, name)
            if self.medium_log:
                left.callback(self.medium_log.close)
            for process in (self.medium, self.fader):
                if process:
                    left.callback(ended, process, 5)
            if self.relay:
                left.callback(self.relay.close)
            for s in self.stations:
                left.callback(s.close)
