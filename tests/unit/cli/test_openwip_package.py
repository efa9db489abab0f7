# SPDX-License-Identifier: GPL-3.0-or-later
"""`import openwip`: records as data frames, runs as a call, telemetry as an iterator."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy

import openwip
from openwip import live
from openwip.run import option_words
from recording import RecordWorld

try:
    import pandas
except ImportError:
    pandas = None

TOP = pathlib.Path(__file__).resolve().parents[3]


@unittest.skipIf(pandas is None, "python3-pandas is not installed")
class Frames(RecordWorld):
    def opened(self, **about):
        self.finish(**about)
        record = openwip.open_record(self.path)
        self.addCleanup(record.close)
        return record

    def test_a_row_is_a_message_and_a_list_of_known_length_is_a_column_for_each_entry(self):
        for n in range(3):
            self.give(
                "slot", slot=1500 * n, slot_sample={"snr_db": [n + b / 100 for b in range(25)]}
            )
        record = self.opened(seed=7)
        self.assertEqual(record.about["seed"], 7)
        self.assertEqual(record.tables(), [("slot", "base")])
        slots = record.frame("slot", "base")
        self.assertEqual(len(slots), 3)
        self.assertEqual(list(slots["t_s"]), [0, 1, 2])
        numpy.testing.assert_allclose(slots["snr_db.24"], [0.24, 1.24, 2.24], rtol=1e-6)
        self.assertNotIn("snr_db.25", slots)

    def test_a_list_of_varying_length_is_a_column_of_arrays(self):
        for n in (0, 3, 1):
            self.give("receiver", "terminal", receiver={"points": bytes(range(n))})
        points = self.opened().frame("receiver", "terminal")["points"]
        self.assertEqual([list(p) for p in points], [[], [0, 1, 2], [0]])

    def test_a_list_of_messages_is_a_frame_of_its_own(self):
        self.give("cpu", "observer", cpu={"process": [{"name": "a"}, {"name": "b"}]})
        self.give("cpu", "observer", cpu={"process": [{"name": "c"}]})
        record = self.opened()
        [child] = [c for c in record.children("cpu", "observer") if c == "process"]
        entries = record.frame("cpu", "observer", child)
        self.assertEqual(list(entries["row"]), [0, 0, 1])
        self.assertEqual(list(entries["name"]), ["a", "b", "c"])

    def test_predictions_stand_beside_what_came(self):
        for n in range(3):
            self.give(
                "slot",
                slot=15 * n,
                slot_sample={"predicted_snr_db": [n + b / 100 for b in range(25)]},
            )
        for n in (
            1,
            2,
            3,
        ):  # slot 0 was not published by the terminal, and 45 not by the base station
            self.give(
                "slot",
                "terminal",
                slot=15 * n,
                slot_sample={"snr_db": [10 + n] * 25, "horizon": 3},
            )
        found = self.opened().predictions()
        self.assertEqual(len(found), 50)
        self.assertEqual(list(found["slot"].unique()), [15, 30])
        row = found[(found["slot"] == 30) & (found["bin"] == 24)].iloc[0]
        self.assertAlmostEqual(row["predicted_snr_db"], 2.24, 5)
        self.assertEqual((row["measured_snr_db"], row["horizon_slots"]), (12, 3))
        self.assertAlmostEqual(row["t_s"], 0.02)
        self.assertNotIn("true_snr_db", found)

    def test_predictions_of_the_emulator_have_the_true_snr_of_each_user(self):
        for user in (0, 1):
            self.give(
                "slot", slot=15, user=user, slot_sample={"predicted_snr_db": [5.0 + user] * 25}
            )
            self.give(
                "slot",
                "terminal",
                slot=15,
                user=user,
                slot_sample={"snr_db": [6.0] * 25, "true_snr_db": [7.0 + user] * 25, "horizon": 4},
            )
        record = self.opened()
        for user in (0, 1):
            found = record.predictions(user)
            self.assertEqual(set(found["true_snr_db"]), {7.0 + user})
            self.assertEqual(set(found["predicted_snr_db"]), {5.0 + user})
        with self.assertRaisesRegex(
            openwip.OpenWipError, "no slot that both stations have reported for terminal 2"
        ):
            record.predictions(2)

    def test_a_record_without_slots_has_no_predictions(self):
        self.give("slot", slot_sample={"locked": True})
        with self.assertRaisesRegex(openwip.OpenWipError, "no slots of the station terminal"):
            self.opened().predictions()

    def test_a_table_or_list_that_is_not_there_names_those_that_are(self):
        self.give("slot", slot_sample={"locked": True})
        record = self.opened()
        with self.assertRaisesRegex(
            openwip.OpenWipError, "no table tcp of base; valid: slot of base"
        ):
            record.frame("tcp", "base")
        with self.assertRaisesRegex(openwip.OpenWipError, "no list nothing; valid: "):
            record.frame("slot", "base", "nothing")

    def test_the_verdict_is_that_of_the_report(self):
        record = self.opened(report={"verdict": {"valid": False, "reasons": ["late slots"]}})
        self.assertEqual(record.verdict, {"valid": False, "reasons": ["late slots"], "final": True})

    def test_what_is_no_record_is_one_line(self):
        file = self.folder / "text.h5"
        file.write_text("no record")
        with self.assertRaises(openwip.OpenWipError) as caught:
            openwip.open_record(file)
        self.assertIn("text.h5", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class Figures(unittest.TestCase):
    def test_nmse(self):
        self.assertAlmostEqual(openwip.nmse([10.0, 20.0], [10.0, 20.0]), 0)
        # The linear SNRs 10 and 100, predicted as 100 and 100.
        self.assertAlmostEqual(openwip.nmse([10.0, 20.0], [20.0, 20.0]), 8100 / 10100)
        self.assertAlmostEqual(
            openwip.nmse([10.0, float("nan"), 10.0], [20.0, 0.0, float("nan")]), 81
        )
        self.assertTrue(numpy.isnan(openwip.nmse([], [])))

    def test_intervals(self):
        e = openwip.estimate([1, 2, 3])
        self.assertEqual((e.mean, round(e.half, 3)), (2, 2.484))  # 4.303 / sqrt 3
        a, b = {1: 2.0, 2: 4.0, 3: 9.0}, {1: 1.0, 2: 3.0, 3: 8.0, 4: 50.0}
        d = openwip.difference(a, b)
        self.assertEqual((d.mean, d.half, d.n), (1, 0, 3))
        self.assertAlmostEqual(openwip.ratio(a, b).mean, 15 / 12)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        patch = mock.patch.dict(os.environ, {"OPENWIP_TOP": str(self.top)})
        patch.start()
        self.addCleanup(patch.stop)

    def launcher(self, script):
        (self.top / "openwip").write_text(f"#!/bin/sh\n{script}\n")
        (self.top / "openwip").chmod(0o755)

    def test_options_are_those_of_the_command_line(self):
        given = {"snr": 20, "generator": True, "keep": False, "config": None, "max_size": [1, 2]}
        self.assertEqual(
            option_words(given), ["--snr", "20", "--generator", "--max-size", "1", "2"]
        )

    def test_a_mapping_is_an_option_that_is_repeated(self):
        self.assertEqual(
            option_words({"sysctl": {"tcp_sack": 0, "tcp_ecn": 1}}),
            ["--sysctl", "tcp_sack=0", "--sysctl", "tcp_ecn=1"],
        )

    def test_an_invalid_run_is_a_report_too(self):
        self.launcher(
            'for last; do :; done; echo "{\\"asked\\": \\"$*\\"}" >"${last#--json=}"; exit 1'
        )
        asked = openwip.run("emulate", snr=20)["asked"]
        self.assertRegex(asked, r"^emulate --snr 20 --json=\S+$")

    def test_a_run_without_report_says_what_the_command_said(self):
        self.launcher(
            'echo "progress" >&2; echo "openwip: --snr is 99; valid: -20..60" >&2; exit 2'
        )
        with self.assertRaises(openwip.RunFailed) as caught:
            openwip.run("emulate", snr=99)
        self.assertEqual(str(caught.exception), "--snr is 99; valid: -20..60")
        self.assertEqual(caught.exception.code, 2)

    def test_another_command_is_refused(self):
        with self.assertRaisesRegex(openwip.OpenWipError, "'down'; valid: demo, emulate"):
            openwip.run("down")


class Telemetry(unittest.TestCase):
    def test_the_messages_of_each_poll_come_one_by_one(self):
        class Reader:
            def __init__(self, endpoints, topics):
                self.batches = [["a", "b"], [], ["c"]]
                asked.append((endpoints, topics))

            def __enter__(self):
                return self

            def __exit__(self, *_):
                asked.append("closed")

            def poll(self, _seconds):
                return self.batches.pop(0) if self.batches else []

        asked = []
        with (
            mock.patch("openwip_cli.cell.running.running_cell", lambda name: name),
            mock.patch("openwip_cli.cell.running.cell_lives", lambda cell: False),
            mock.patch("openwip_cli.views.follow.LOOK_S", -1),
            mock.patch("openwip_cli.messages.telemetry.endpoints_of", lambda cell: {"of": cell}),
            mock.patch("openwip_cli.messages.telemetry.Reader", Reader),
        ):
            # The first poll without a message asks whether the cell lives, and it does not.
            self.assertEqual(list(live.telemetry("cell7", ["slot", "tcp"])), ["a", "b"])
        self.assertEqual(asked, [({"of": "cell7"}, ("slot", "tcp")), "closed"])

    def test_the_earlier_name_of_the_duration_is_taken_with_a_warning(self):
        with (
            self.assertWarnsRegex(DeprecationWarning, "seconds is called duration now"),
            self.assertRaises(openwip.OpenWipError),
        ):
            live.telemetry("cell7", ["weather"], seconds=3)

    def test_an_unknown_topic_is_refused_at_the_call(self):
        with self.assertRaisesRegex(openwip.OpenWipError, "weather"):
            openwip.telemetry("cell7", ["weather"])


class Package(unittest.TestCase):
    def test_every_public_name_has_a_docstring(self):
        for name in openwip.__all__:
            self.assertTrue((getattr(openwip, name).__doc__ or "").strip(), name)

    def test_importing_it_needs_no_build_and_no_pandas(self):
        program = (
            "import sys\nfor n in ('pandas', 'openwip_schema', 'zmq'): sys.modules[n] = None\n"
            "import openwip"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(TOP / "host/cli")},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
