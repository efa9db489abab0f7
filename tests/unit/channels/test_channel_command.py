# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip channel without a cell: what is recorded of a terminal's telemetry and when it is kept,
and what is refused."""

import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.channel import command, csv_file, logs, plot, program, resampled
from openwip_cli.channel import record as channel_record
from openwip_cli.errors import BadInput, Terminated
from openwip_cli.machine.places import Places

PLACES = Places(
    pathlib.Path(__file__).resolve().parents[3],
    pathlib.Path(os.environ["OPENWIP_BUILD"]),
    sys.executable,
)
ROW = ",".join(["3"] * 25) + "\n"


class Terminal:
    """Reader of its telemetry: SNRs of slot s are s % 50 dB, the predictions made in it a quarter
    more. `end` comes after the last."""

    def __init__(self, horizon, slots, end=None):
        self.samples = iter(
            [
                (
                    s,
                    pb.SlotSample(
                        locked=True,
                        snr_db=[s % 50] * 25,
                        predicted_snr_db=[s % 50 + 0.25] * 25,
                        horizon=horizon(s) if callable(horizon) else horizon,
                    ),
                )
                for s in slots
            ]
        )
        self.end = end

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def poll(self, _):
        for s, sample in self.samples:
            return [types.SimpleNamespace(telemetry=pb.Telemetry(slot=s, slot_sample=sample))]
        raise self.end


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = str(pathlib.Path(folder.name, "t.h5"))

    @contextlib.contextmanager
    def cell(self, terminal, delay_ms=2):
        class Control:
            def __init__(self, _):
                self.ask = unittest.mock.Mock()

            def status(self):
                return types.SimpleNamespace(
                    effective_yaml=(
                        "telemetry: {slot_every: 15}\nlink: {retransmission_delay_ms:"
                        f" {delay_ms}}}\n"
                    )
                )

        cell = types.SimpleNamespace(endpoint=str, name="demo")
        with (
            unittest.mock.patch.object(channel_record.control, "Control", Control),
            unittest.mock.patch.object(
                channel_record.telemetry, "Reader", lambda *_, **__: terminal
            ),
            unittest.mock.patch.object(command, "running_cell", return_value=cell),
        ):
            yield cell

    def command(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            return command.main(["record", *arguments], PLACES), out.getvalue()

    def test_a_prediction_stands_in_the_row_of_its_slot_whatever_the_loop(self):
        # slots that a cell makes of the delay
        for delay_ms, loop in ((2, 3), (2.2, 4), (3, 5), (7, 11)):
            with (
                self.subTest(delay_ms),
                self.cell(Terminal(loop, range(100, 200)), delay_ms) as cell,
            ):
                made = channel_record.record(cell, 30)
                rows, gaps = made.rows("refuse")
                self.assertEqual((made.horizon, made.first, gaps), (loop, 101 + loop, 0))
                self.assertEqual(
                    rows[:, 25].tolist(),
                    [(s - loop) % 50 + 0.25 for s in range(made.first, made.first + 30)],
                )

    def test_a_loop_that_changes_is_said(self):
        with (
            self.cell(Terminal(lambda s: 3 + s // 120, range(100, 200))) as cell,
            self.assertRaisesRegex(
                BadInput, "the prediction horizon became 4 slots in slot 120; valid: 3"
            ),
        ):
            channel_record.record(cell, 30)

    def test_where_it_cannot_be_written_nothing_is_recorded(self):
        for file in ("/nowhere/t.h5", str(pathlib.Path(self.file).parent)):
            with (
                self.subTest(file),
                unittest.mock.patch.object(command, "running_cell") as asked,
                self.assertRaisesRegex(BadInput, f"^-o {file}: cannot be written"),
            ):
                self.command("-o", file)
            asked.assert_not_called()

    def test_what_had_come_when_a_signal_ends_it_is_kept(self):
        for end, code in ((KeyboardInterrupt(), 130), (Terminated(signal.SIGTERM), 143)):
            with self.subTest(code), self.cell(Terminal(4, range(100, 150), end)):
                done, reported = self.command("-o", self.file, "--seconds", "3600")
                about = program.describe(PLACES, self.file)
                self.assertEqual(
                    (done, about["slots"], about["prediction"]["horizon_slots"]), (code, 45, 4)
                )
                self.assertIn("45 slots", reported)

    def test_a_signal_before_the_first_row_leaves_nothing(self):
        for slots in (range(0), range(100, 101), range(100, 105)):
            with (
                self.subTest(slots),
                self.cell(Terminal(4, slots, KeyboardInterrupt())),
                self.assertRaises(KeyboardInterrupt),
            ):
                self.command("-o", self.file)
            self.assertFalse(pathlib.Path(self.file).exists())


class Refused(unittest.TestCase):
    def test_an_option_of_another_format_is_refused(self):
        for given, option, valid in (
            (("--csv", "F", "--bins", "3"), "--bins", "--mahimahi or --kaunet"),
            (("--csv", "F", "--seed", "8"), "--seed", "--kaunet"),
            (("--csv", "F", "--modulation", "4"), "--modulation", "--mahimahi or --kaunet"),
            (("--mahimahi", "F", "--bins", "3", "--seed", "8"), "--seed", "--kaunet"),
            (("--mahimahi", "F", "--packet-bytes", "9"), "--packet-bytes", "--kaunet"),
        ):
            with (
                self.subTest(given),
                self.assertRaisesRegex(
                    BadInput, f"^{option} is given with {given[0]}; valid: with {valid}$"
                ),
            ):
                command.main(["export", "t.h5", *given], PLACES)
        for given in (
            ("--csv", "F"),
            ("--mahimahi", "F", "--bins", "3", "--modulation", "4"),
            (
                "--kaunet",
                "F",
                "--bins",
                "3",
                "--modulation",
                "4",
                "--packet-bytes",
                "9",
                "--seed",
                "8",
            ),
        ):
            with (
                self.subTest(given),
                self.assertRaisesRegex(BadInput, "^/nowhere.h5: cannot be read"),
            ):
                command.main(["export", "/nowhere.h5", *given], PLACES)

    def test_a_length_of_the_heat_map_that_is_none(self):
        for text in ("inf", "nan", "0", "-1", "x"):
            with (
                self.subTest(text),
                self.assertRaisesRegex(
                    BadInput, f"^--heat-seconds is '{text}'; valid: 0.001..86400"
                ),
            ):
                command.main(["plot", "t.h5", "-o", "t.png", f"--heat-seconds={text}"], PLACES)


class Files(unittest.TestCase):
    def test_rows_with_a_byte_order_mark_are_rows(self):
        for header in ("", ",".join(csv_file.HEADER) + "\n"):
            with (
                self.subTest(header[:8]),
                tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8-sig") as f,
            ):
                f.write(header + 2 * ROW)
                f.flush()
                (rows,) = resampled.rows(logs.Log(f.name), None, "linear")
                self.assertEqual(rows.tolist(), [[3] * 25] * 2)

    def test_a_trace_of_few_slots_is_a_picture(self):
        for slots in (1, 2, 3):
            with self.subTest(slots), tempfile.NamedTemporaryFile(suffix=".png") as f:
                about = {
                    "channel": "x",
                    "seed": 1,
                    "speed_kmh": 30,
                    "carrier_hz": 1.8e9,
                    "measured": {"mean_snr_db": 3},
                }
                plot.draw(about, numpy.full((slots, 25), 3, dtype="f4"), f.name, 1)
                # The name now belongs to a new file.
                self.assertEqual(pathlib.Path(f.name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
