# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator as a part of a run: its firmware in QEMU, at a cell on cables (whose software
radios do not hear it)."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from openwip_schema import control_pb2 as pb

from demo_support import (
    FIRMWARE,
    GENTLE,
    TOP,
    Demo,
    attenuator_in_qemu,
    openwip,
    wait_until,
)
from openwip_cli.errors import BadInput
from openwip_cli.figures import attenuator as figures
from openwip_cli.figures import checks
from openwip_cli.figures.facts import Facts
from openwip_cli.machine import places
from openwip_cli.messages import attenuator as link
from openwip_cli.messages import control
from openwip_cli.records import run_record
from openwip_cli.runs import cable_attenuator
from openwip_cli.settings import scenario as scenarios

GOOD = {
    "name": "OpenWIP",
    "state": "playing",
    "steps": 300,
    "played": 9,
    "underflows": 0,
    "late": 0,
    "missed_ticks": 0,
    "silent_s": 0.01,
}


def evaluated(**status):
    output = figures.report_of(pb.AttenuatorStatus(**status))
    return checks.evaluate(Facts(attenuator=output))["reasons"]


class Evaluated(unittest.TestCase):
    def test_whatever_a_playback_misses_is_a_reason(self):
        self.assertEqual(evaluated(**GOOD), [])
        self.assertEqual(
            evaluated(**GOOD | {"state": "ended", "played": 300}),
            [],
        )
        self.assertEqual(evaluated(state="idle"), [])
        for fault, words in (
            ({"state": "silent"}, "playback is silent after 9 of 300 steps .the host was silent"),
            ({"state": "armed"}, "is armed after 9 of 300 steps .nothing has started it"),
            ({"state": "stopped"}, "is stopped"),
            ({"underflows": 2}, "2 steps were not there"),
            ({"late": 3}, "3 came too late"),
            ({"missed_ticks": 1}, "missed 1 ticks"),
            ({"silent_s": 2}, "not answered for 2.0 s"),
            ({"wrong": "no answer"}, "no answer"),
        ):
            reasons = evaluated(**GOOD | fault)
            self.assertEqual(len(reasons), 1)
            self.assertRegex(reasons[0], "^attenuator: .*" + words)
        self.assertEqual(
            checks.evaluate(Facts(attenuator=figures.report_of(None)))["reasons"],
            ["attenuator: its process does not answer"],
        )


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(FIRMWARE.exists(), "the firmware is not built")
class InARun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)  # the table is read under the account
        self.machine = attenuator_in_qemu(self, self.folder)

    def table(self, steps):
        path = self.folder / "table.csv"
        path.write_text("2\n" + "\n".join(f"{10 + k % 20}" for k in range(steps)))
        return path

    def demo(self, *options):
        name = f"t{os.getpid() % 100000}"
        run = Demo(
            name,
            *GENTLE,
            "--air",
            "cabled",
            "--attenuator",
            self.machine.port,
            "--attenuator-channels",
            "2",
            "--attenuator-silence",
            "5000",
            "--pings",
            "5",
            "--udp-mbps",
            "0.1",
            f"--json={self.folder / 'run.json'}",
            *options,
        )
        self.addCleanup(run.close)
        return name, run

    def levels(self):
        with link.Attenuator(self.machine.port, answer_s=3) as device:
            device.find()
            return [q / 4 for q in device.status().levels]

    def test_it_plays_from_the_begin_takes_levels_then_and_leaves_the_maximum(self):
        name, run = self.demo(
            "--attenuator-trace",
            str(self.table(300)),
            "--attenuator-period",
            "10",
            "--duration",
            "1",
            "--record",
            str(self.folder / "run.owip"),
        )
        run.wait_for("starting the base station")
        lines = subprocess.Popen(
            [str(TOP / "openwip"), "telemetry", "--name", name, "--topics", "attenuator"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(lines.kill)
        asked = control.Control(run.cell.endpoint("attenuator.control"))
        self.assertTrue(
            wait_until(lambda: asked.status(3).state == "armed", 10),
            "it waits for the measured time",
        )
        self.assertEqual(asked.status(3).levels_db, [10])  # level of the first step
        run.wait_for("TCP download")
        if asked.status(3).state == "playing":
            self.assertIn(
                "cannot change while the attenuator plays",
                openwip("set", "--name", name, "attenuator.levels_db=3").stderr,
            )
        self.assertTrue(wait_until(lambda: asked.status(3).state == "ended", 20))
        self.assertIn(
            "-> 31.5 dB  at once",
            openwip("set", "--name", name, "attenuator.levels_db=31.5").stdout,
        )
        self.assertIn(
            "valid: 0 to 31.75 dB", openwip("set", "--name", name, "attenuator.levels_db=32").stderr
        )
        self.assertEqual(run.ended(60), 0, run.output)
        self.check_lines(lines)
        found = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(
            [
                found["attenuator"][n]
                for n in ("state", "steps", "played", "underflows", "set_by_hand")
            ],
            ["ended", 300, 300, 0, 1],
        )
        self.assertTrue(found["verdict"]["checks"]["attenuator"])
        self.assertEqual(self.levels()[1], 31.75)

    def check_lines(self, lines):
        """Both JSON lines and the record have a message ten times a second, the level of each step,
        and the levels set after it."""
        output, _ = lines.communicate(timeout=20)
        messages = [json.loads(line) for line in output.splitlines()]
        self.assertGreater(len(messages), 30)
        self.assertEqual(
            {(m["source"], m["topic"], m["lostBefore"]) for m in messages},
            {("attenuator", "attenuator", 0)},
        )
        playing = [m["attenuator"] for m in messages if m["attenuator"]["state"] == "playing"]
        self.assertGreater(len(playing), 10)
        for one in playing:
            self.assertEqual((one["channels"], one["steps"]), ([2], "300"))
            # `played` counts the step that is on the chips.
            self.assertIn(
                one["levelsDb"][0],
                {10 + max(0, int(one.get("played", 0)) - k) % 20 for k in (0, 1)},
                one,
            )
        slots = [int(m.get("slot", 0)) for m in messages]
        self.assertEqual(slots, sorted(slots))
        self.assertGreater(slots[-1], 1500)
        self.assertEqual(
            (messages[-1]["attenuator"]["levelsDb"], messages[-1]["attenuator"]["setByHand"]),
            ([31.5], "1"),
        )
        with run_record.RunRecord(self.folder / "run.owip") as record:
            table = record.table("attenuator", "attenuator")
            self.assertGreaterEqual(len(table["played"]), len(messages))
            self.assertEqual(
                (max(table["played"]), max(table["underflows"]), max(table["missed_ticks"])),
                (300, 0, 0),
            )

    def test_a_device_that_stops_in_the_middle_makes_the_run_invalid(self):
        _, run = self.demo(
            "--attenuator-trace",
            str(self.table(3000)),
            "--attenuator-period",
            "10",
            "--duration",
            "1",
        )
        run.wait_for("TCP download")
        self.machine.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.machine.process.send_signal, signal.SIGCONT)
        self.assertEqual(run.ended(60), 1, run.output)
        verdict = json.loads((self.folder / "run.json").read_text())["verdict"]
        self.assertFalse(verdict["checks"]["attenuator"])
        self.assertRegex(
            " ".join(verdict["reasons"]),
            "attenuator: .*(does not answer the request|has not answered for)",
        )

    def armed_by_a_file(self):
        """The run of a scenario file, which waits for the edge at the trigger input with the levels
        of the first step."""
        file = self.folder / "run.yaml"
        file.write_text(
            f"air: {{over: cabled}}\nattenuator: {{port: {self.machine.port}, trace:"
            f" {self.table(300)}, start: external, channels: 2, silence_ms: 5000}}\n"
        )
        run = Demo(
            f"t{os.getpid() % 100000}",
            *GENTLE,
            "--config",
            str(file),
            "--pings",
            "5",
            "--udp-mbps",
            "0.1",
            "--duration",
            "1",
            f"--json={self.folder / 'run.json'}",
        )
        self.addCleanup(run.close)
        run.wait_for("TCP download")
        asked = control.Control(run.cell.endpoint("attenuator.control"))
        self.assertEqual((asked.status(3).state, list(asked.status(3).levels_db)), ("armed", [10]))
        return run, asked

    def test_without_an_edge_at_its_trigger_input_it_waits_and_the_run_says_so(self):
        run, _ = self.armed_by_a_file()
        self.assertEqual(run.ended(60), 1, run.output)
        found = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(found["config"]["attenuator"]["start"], "external")
        self.assertEqual(
            [r for r in found["verdict"]["reasons"] if "attenuator" in r],
            [
                "attenuator: its playback is armed after 0 of 300 steps (nothing has started it:"
                " attenuator.start)"
            ],
        )

    def test_an_edge_at_its_trigger_input_starts_it(self):
        run, asked = self.armed_by_a_file()
        self.machine.trigger()
        self.assertTrue(wait_until(lambda: asked.status(3).state == "ended", 20), asked.status(3))
        self.assertEqual(run.ended(60), 0, run.output)
        found = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(
            [found["attenuator"][n] for n in ("state", "steps", "played", "underflows")],
            ["ended", 300, 300, 0],
        )
        self.assertTrue(found["verdict"]["checks"]["attenuator"])

    def test_what_it_cannot_play_is_refused_before_anything_is_made(self):
        high, many = self.folder / "high.csv", self.folder / "many.csv"
        high.write_text("1\n40\n")
        many.write_text("1,9\n4,5\n")
        done = openwip(
            "demo",
            "--air",
            "cabled",
            "--attenuator",
            self.machine.port,
            "--attenuator-trace",
            str(high),
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                2,
                (
                    "openwip: the level of channel 1 of the attenuator is 40 dB; valid: 0 to 31.75 (63.5 where"
                    " two chips"
                    " are in series: ./openwip attenuator set --series)\n"
                ),
            ),
        )
        for port, trace, words in (
            (self.machine.port, many, "valid: channels of 1..8"),
            (self.machine.port, "/nowhere.csv", "nowhere.csv: cannot be read"),
            ("/dev/null", high, "--port is /dev/null"),
        ):
            scenario = scenarios.Scenario({"attenuator.port": port, "attenuator.trace": str(trace)})
            with self.assertRaisesRegex(BadInput, words):
                cable_attenuator.check(scenario, places.default())


if __name__ == "__main__":
    unittest.main()
