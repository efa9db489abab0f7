# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that are no number, or hardly one, for every setting of every process that runs: each
question is
answered, and the process lives on. And for every option of the programs that take numbers on their
command line: one line, exit code 2, or taken. (The tables of settings themselves:
tests/unit/host/test_hostile_settings.cpp.)"""

import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import yaml
import zmq
from openwip_schema import control_pb2

from uhd_support import Medium

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
TOP = pathlib.Path(__file__).resolve().parents[2]
LIST = (TOP / "tests/support/hostile_numbers.h").read_text()
VALUES = re.findall(r'"([^"]*)"', LIST[LIST.index("hostile_numbers{") :])
SHORT = [v for v in VALUES if v != "1e5"]  # seconds: valid, and a day of them
PREFIX = f"hv{os.getpid() % 100000}"
NUMBER = itertools.count()


class Live:
    """A process with a control socket, in a namespace of its own."""

    def __init__(self, test, program, *settings, sockets=("control",)):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-test-")
        test.addCleanup(self.folder.cleanup)
        self.run = pathlib.Path(self.folder.name)
        self.run.chmod(0o711)
        self.namespace = f"{PREFIX}x{next(NUMBER)}"
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        test.addCleanup(subprocess.run, ["ip", "netns", "del", self.namespace])
        self.log = open(self.run / "log", "w+")
        test.addCleanup(self.log.close)
        words = [w for s in settings for w in ("--set", s)]
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, str(BUILD / program), *words],
            stderr=self.log,
            stdout=self.log,
            env=os.environ | {"OPENWIP_RUN": str(self.run)},
        )
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        deadline = time.monotonic() + 20
        while not all((self.run / s).exists() for s in sockets) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.context = zmq.Context()
        test.addCleanup(self.context.destroy, 0)

    def text(self):
        return (self.run / "log").read_text(errors="replace")

    def configure(self, socket, document):
        s = self.context.socket(zmq.REQ)
        s.linger = 0
        s.connect(f"ipc://{self.run}/{socket}")
        s.send(control_pb2.Request(configure_yaml=document).SerializeToString())
        try:
            if not s.poll(10000):
                raise AssertionError(f"no answer to {document!r}: {self.text()[-500:]}")
            return control_pb2.Reply.FromString(s.recv())
        finally:
            s.close()


def document_of(key, value):
    section, dot, name = key.partition(".")
    return f"{section}:\n  {name}: {value}\n" if dot else f"{section}: {value}\n"


def keys_of(program):
    """The table that the program itself prints; (R): may change while it runs."""
    table = subprocess.run(
        [BUILD / program, "--describe-config"], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"^\| `([^`]+)` \|.*\(R\) \|$", table, re.M)


class RunningProcesses(unittest.TestCase):
    def every_value(self, process, configure, keys):
        """{accepted: n, refused: n}; each is answered."""
        answers = {True: 0, False: 0}
        for key in keys:
            for value in VALUES:
                reply = configure(document_of(key, value))
                self.assertIsNone(process.poll(), f"{key} = {value} ended it")
                if not reply.ok:
                    self.assertTrue(reply.error.startswith("configure"), reply.error)
                    self.assertNotIn("\n", reply.error)
                answers[reply.ok] += 1
        return answers

    def test_the_medium(self):
        nodes = "{base: {}, terminal: {noise_dbfs: -29}}"
        paths = "[{from: base, to: terminal, channel: flat, delay_samples: 6}]"
        with Medium("clock: lockstep", nodes, paths) as air:
            keys = [
                f"channel.{k}"
                for k in ("model", "snr_db", "speed_kmh", "shadowing", "user", "blackout")
            ]
            answers = self.every_value(air.process, lambda d: air.ask("configure_yaml", d), keys)
            self.assertGreater(answers[True], 10, answers)
            self.assertGreater(answers[False], 100, answers)
            settings = yaml.safe_load(air.ask().air.effective_yaml)
            self.assertEqual(list(settings["channel"]), [k.removeprefix("channel.") for k in keys])
            self.assertEqual(air.stop(), 0)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_the_macs_and_the_emulator_and_the_line(self):
        """All values at once, over every socket: the answers are mostly waited for, some
        milliseconds each."""
        asked = []
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for program, settings, sockets in (
                ("host/macd/macd", ["role=base"], ["base.control"]),
                ("host/macd/macd", ["role=terminal"], ["terminal.control"]),
                (
                    "host/emulator/wip_emulator",
                    ["channel.model=flat"],
                    ["base.control", "terminal.control", "air.control"],
                ),
                ("host/tcpl/wip_tcpl", ["receiver.tun=wip1"], ["air.control"]),
            ):
                live = Live(self, program, *settings, sockets=sockets)
                keys = keys_of(program) or ["line.rate_kbps"]
                asked.append(
                    (
                        program,
                        settings,
                        live,
                        keys,
                        [
                            pool.submit(
                                self.every_value,
                                live.process,
                                lambda d, at=live, s=socket: at.configure(s, d),
                                keys,
                            )
                            for socket in sockets
                        ],
                    )
                )
        for program, settings, live, keys, ends in asked:
            with self.subTest(program=program, settings=settings):
                for end in ends:
                    answers = end.result()
                    self.assertGreater(answers[False], len(keys), answers)
                live.process.terminate()
                self.assertEqual(live.process.wait(10), 0, live.text()[-500:])


class CommandLines(unittest.TestCase):
    """Every option that takes a number."""

    def every_value(self, command, options, values=VALUES):
        for option in options:
            for value in values:
                with self.subTest(option=option, value=value):
                    done = subprocess.run(
                        [*command, f"{option}={value}"],
                        capture_output=True,
                        text=True,
                        timeout=20,
                        stdin=subprocess.DEVNULL,
                    )
                    self.assertIn(done.returncode, (0, 2), done)
                    if done.returncode:
                        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                    yield value, done

    def test_the_capture(self):
        nowhere = "ipc:///nonexistent/telemetry"
        command = [
            BUILD / "host/capture/wip_capture",
            "-o",
            "/dev/null",
            "--terminal",
            nowhere,
            "--wait",
            "0.1",
        ]
        good = {
            "1e5",
            "010",
            "1.5",
            "-0",
            "1e-310",
            "4.9e-324",
            "2147483648",
            "4294967296",
            "9223372036854775807",
            "179769313486231570000000000000000000000e270",
        }
        options = ("--seconds", "--count", "--snap", "--start-ns", "--speed", "--terminals")
        for value, done in self.every_value(command, options):
            self.assertEqual(done.returncode, 2)  # no process answers at that endpoint
            if value not in good:
                self.assertNotIn("no cell answers", done.stderr)

    def test_the_channel_program(self):
        program = BUILD / "host/channel/wip_channel"
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/t.h5"
            subprocess.run([program, "render", "flat", "-o", trace, "--seconds", "0.1"], check=True)
            render = [program, "render", "flat", "-o", f"{folder}/x.h5", "--seconds", "0.01"]
            options = (
                "--seed",
                "--snr",
                "--speed-kmh",
                "--carrier-hz",
                "--user",
                "--shadowing-db",
                "--horizon",
                "--prediction-nmse",
                "--delay-spread-ns",
            )
            patterns = [program, "patterns", trace, "-o", f"{folder}/p"]
            taken = [done.returncode for _, done in self.every_value(render, options)]
            taken += [
                done.returncode for _, done in self.every_value(render[:-2], ["--seconds"], SHORT)
            ]
            taken += [
                done.returncode
                for _, done in self.every_value(
                    patterns, ("--bins", "--modulation", "--packet-bytes", "--seed")
                )
            ]
            self.assertGreater(taken.count(0), 20)
            self.assertGreater(taken.count(2), 200)

    def test_the_emulator_in_virtual_time(self):
        command = [BUILD / "host/emulator/wip_emulator", "--generate=0.05", "--warm-up=0"]
        codes = [
            done.returncode
            for _, done in self.every_value(command, ("--packet-bytes", "--packets-per-second"))
        ]
        codes += [
            done.returncode for _, done in self.every_value(command[:1], ["--generate"], SHORT)
        ]
        codes += [
            done.returncode
            for _, done in self.every_value([command[0], "--generate=0.01"], ["--warm-up"], SHORT)
        ]
        self.assertGreater(codes.count(2), 60)


if __name__ == "__main__":
    unittest.main()
