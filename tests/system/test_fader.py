# SPDX-License-Identifier: GPL-3.0-or-later
"""The fader between software USRPs on cables: the medium is nothing but the cables."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

from demo_support import GENTLE, Demo, openwip, wait_until
from uhd_support import BUILD, Medium

from openwip_cli.messages import control

HERE = pathlib.Path(__file__).resolve().parent
FADER = BUILD / "host/cabled/wip_fader"
NODES = "{base: {}, fader-base: {}, fader-terminal: {}, terminal: {}}"
CABLES = "[{from: base, to: fader-base}, {from: fader-terminal, to: terminal}]"
AIR = "clock: lockstep, speed: 0, wait_for: {transmitters: 2, receivers: 2}"
DELAY = 12345


def station(what, args, *numbers):
    return subprocess.Popen([sys.executable, HERE / "uhd_station.py", what, args, *map(str, numbers)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Fader:
    """wip_fader with a configuration, at nodes of a medium."""

    def __init__(self, air, change=None):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-test-")
        config = {"air": {"name": "cabled", "control": f"ipc://{self.folder.name}/control", "priority": 0},
                  "fader": {"delay_samples": DELAY, "start_delay_s": 0.05},
                  "nodes": {n: {"radio": air.args(f"fader-{n}")} for n in ("base", "terminal")},
                  "paths": [{"from": "base", "to": "terminal"}]}
        if change:
            change(config)
        self.file = pathlib.Path(self.folder.name) / "fader.yaml"
        self.file.write_text(yaml.safe_dump(config))
        self.process = subprocess.Popen([FADER, "--config", self.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        text = "" if self.process.stdout.closed else self.process.communicate(timeout=10)[0]
        self.folder.cleanup()
        return text

    def ask(self):
        other = Medium.__new__(Medium)     # the same control protocol
        import zmq
        other.context, other.endpoint = zmq.Context.instance(), f"ipc://{self.folder.name}/control"
        return other.ask().air


@unittest.skipUnless(FADER.exists(), "wip_fader is not built")
class Cabled(unittest.TestCase):
    def test_a_stream_comes_through_with_every_bit_exactly_the_delay_later(self):
        with Medium(AIR, NODES, CABLES) as air:
            fader = Fader(air)
            self.addCleanup(fader.end)
            receiver = station("receive", air.args("terminal"), 1_000_000, DELAY)
            sender = station("send", air.args("base"), 1_000_000 + 2**19)
            text = receiver.communicate(timeout=60)[0]
            self.assertEqual(receiver.returncode, 0, text)
            status = fader.ask()
            self.assertEqual(status.clock, "fader")
            self.assertEqual(status.delay_samples, DELAY)
            self.assertEqual((status.late, status.underflows, status.overflows, status.lost_samples, status.clipped), (0,) * 5)
            self.assertGreater(status.now, 768000 + 1_000_000)
            self.assertEqual(list(status.nodes), [f"{n}: {air.args('fader-' + n)}" for n in ("base", "terminal")])
            sender.communicate(timeout=20)

    def test_it_ends_when_asked_and_its_radios_are_free_again(self):
        with Medium(AIR.replace("2", "1"), NODES, CABLES) as air:
            for _ in range(2):
                fader = Fader(air)
                deadline = time.monotonic() + 10
                while fader.ask().now == 0 and time.monotonic() < deadline:
                    time.sleep(0.02)
                fader.process.send_signal(signal.SIGTERM)
                code = fader.process.wait(5)
                self.assertEqual((code, fader.end().count("asked to stop")), (0, 1))

    def test_what_cannot_be_is_refused_in_one_line(self):
        def refused(change, words, code=2):
            with Medium(AIR, NODES, CABLES) as air:
                fader = Fader(air, change)
                text = fader.process.communicate(timeout=20)[0]
                fader.folder.cleanup()
                self.assertEqual(fader.process.returncode, code, text)
                lines = [line for line in text.splitlines() if "[INFO] [UHD]" not in line]
                self.assertEqual(len(lines), 1, text)
                self.assertRegex(lines[0], words)
        refused(lambda c: c["fader"].update(delay_samples=2000), "fader.delay_samples = 2000: not valid; expected at least two pieces, 2560")
        refused(lambda c: c["nodes"]["terminal"].update(radio=c["nodes"]["base"]["radio"]), "nodes.terminal.channel = 0: not valid; expected another one")
        refused(lambda c: c["nodes"]["base"].update(channel=3), "channel 3 of 1 receive channels")
        refused(lambda c: c.update(paths=[]), "paths: expected at least one")
        refused(lambda c: c["nodes"]["base"].update(radio=c["nodes"]["base"]["radio"] + "x"), "no node 'fader-basex'")


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(FADER.exists(), "wip_fader is not built")
class Cell(unittest.TestCase):
    """demo --air cabled."""

    def test_its_channel_changes_in_the_fader_and_the_run_names_it_when_it_dies(self):
        name = f"f{os.getpid() % 100000}"
        run = Demo(name, *GENTLE, "--air", "cabled", "--duration", "60", "--pings", "5")
        self.addCleanup(run.close)
        run.wait_for("TCP download")
        self.assertEqual(openwip("get", "--name", name, "channel.snr_db").stdout.split()[1], "16")
        done = openwip("set", "--name", name, "channel.snr_db=22.5", "channel.model=epa")
        self.assertEqual(done.returncode, 0, done.stderr)
        status = control.Control(run.cell.endpoint("air.control")).status(5)
        self.assertEqual(status.delay_samples, 10240)
        self.assertIn("snr_db: 22.5", status.effective_yaml)
        self.assertIn("model: epa", status.effective_yaml)
        self.assertEqual((status.late, status.underflows, status.overflows, status.lost_samples), (0,) * 4)
        self.assertEqual(len(status.nodes), 4)

        def heard():
            return control.Control(run.cell.endpoint("terminal.control")).status(5).radio.mean_snr_db > 19
        self.assertTrue(wait_until(heard, 10))
        run.kill("fader")
        self.assertEqual(run.ended(30), 3, run.said)
        self.assertRegex(run.said, "(?m)^openwip: fader was killed by SIGKILL")

    def test_a_loop_shorter_than_the_fader_is_refused(self):
        done = openwip("demo", "--air", "cabled", "--retransmission-delay-ms", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--retransmission-delay-ms is 3 with --air cabled, whose fader is 2 slots long; valid: 4..32", done.stderr)


if __name__ == "__main__":
    unittest.main()
