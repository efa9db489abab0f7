# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip fader compare: what a distant terminal heard of a fader's bursts is evaluated where the fader
is."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from hand_made import bursts, statuses
from openwip_schema import control_pb2
from station_support import KEYS, answering

from openwip_cli.cell import faders
from openwip_cli.commands import fader
from openwip_cli.errors import BadInput
from openwip_cli.figures import one_station
from openwip_cli.machine import places
from openwip_cli.runs import station as station_run


class Compare(unittest.TestCase):
    """./openwip fader compare CONFIG REPORT."""

    def compare(
        self,
        heard,
        control=None,
        report=None,
        commanded=lambda c: None,
        reply=None,
        fader_says=lambda air: None,
    ):
        """(exit code, what it prints)"""
        cell = statuses(1)

        def spoil(c, h):
            [b.update(noise=0.0) for b in h if "noise" not in b]
            [commanded(b) for b in c]

        bursts(cell, spoil)
        cell.air.clock, cell.air.delay_samples = "fader", 10240
        cell.air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
        fader_says(cell.air)
        for name in ("base", "terminal"):
            cell.air.nodes.add(name=name)
        with tempfile.TemporaryDirectory() as folder:
            config, file = pathlib.Path(folder, "fader.yaml"), pathlib.Path(folder, "terminal.json")
            config.write_text(
                f"air: {{control: 'ipc://{folder}/control'}}" if control is None else control
            )
            reported = heard(one_station.heard(control_pb2.MacStatus(radio=cell.terminal.radio)))
            file.write_text(json.dumps({"bursts_heard": reported}) if report is None else report)
            own_answer = (
                control_pb2.Reply(ok=True, air=cell.air).SerializeToString()
                if reply is None
                else reply
            )
            with (
                answering(f"ipc://{folder}/control", own_answer),
                contextlib.redirect_stdout(io.StringIO()) as out,
            ):
                return (
                    fader.main(["compare", str(config), str(file)], places.default()),
                    out.getvalue(),
                )

    def test_what_a_distant_terminal_heard_is_evaluated_where_the_fader_is(self):
        code, reported = self.compare(lambda h: h)
        self.assertEqual(code, 0, reported)
        self.assertRegex(reported, r"^ok    through the radios: -3\d.\d dB off in 8 of 8 bursts")
        code, reported = self.compare(lambda h: h[:3])
        self.assertEqual(code, 1)
        self.assertIn("fader: through the radios 2 bursts of 8 were heard", reported)
        code, reported = self.compare(
            lambda h: [*h[:4], h[4] | {"response": [2 * v for v in h[4]["response"]]}, *h[5:]]
        )
        self.assertEqual((code, reported[:6]), (1, "COSTS "))

    def test_what_the_fader_itself_lost_or_sounded_is_evaluated_there_too(self):
        self.assertIn("ok    the fader since it began: nothing lost", self.compare(lambda h: h)[1])
        for spoil, words in (
            (
                lambda air: setattr(air, "lost_samples", 7),
                "7 samples lost at its receivers (0 overflows)",
            ),
            (
                lambda air: air.fader_radios.MergeFrom(control_pb2.RadioEvents(late=2)),
                "lost at its transmitters (2 late, 0 underflows",
            ),
            (
                lambda air: setattr(air.soundings[0], "residual_db", -20),
                "the channel is -20.0 dB off the commanded one (limit -25.0 dB)",
            ),
            (
                lambda air: (setattr(air, "clipped", 520), setattr(air, "slots", 1000)),
                "clipping: 520 of 5120000 samples",
            ),
            (lambda air: air.ClearField("soundings"), "its channel was not sounded"),
        ):
            code, reported = self.compare(lambda h: h, fader_says=spoil)
            self.assertEqual(
                (code, reported[:25]), (1, "ok    through the radios: "[:25]), reported
            )
            self.assertIn("COSTS the fader since it began: ", reported)
            self.assertIn(words, reported)

    def test_what_could_not_be_evaluated_is_not_ok(self):
        for commanded, why in (
            (lambda c: c.update(snr_db=-3.0), "the channel is below its noise"),
            (lambda c: c.update(not_judged="impairments of a path"), "impairments of a path"),
        ):
            code, reported = self.compare(lambda h: h, commanded=commanded)
            self.assertEqual(code, 1, reported)
            self.assertRegex(
                reported,
                f"^COSTS through the radios: not evaluated: {why}: whether the terminal hears the"
                " channel commanded is not known",
            )

    def test_a_burst_that_no_receiver_measured_is_refused(self):
        for wrong, words in (
            ({"response": []}, r"bursts_heard\[0\].response has 0 numbers; valid: 64,"),
            ({"response": [1.0, 2.0]}, "has 2 numbers; valid: 64,"),
            ({"response": [0.0] * 64}, "not all zero"),
            ({"response": [float("nan")] * 64}, "finite"),
            ({"noise": float("inf")}, "noise is inf; valid: 0 and more"),
            ({"noise": -1.0}, "noise is -1; valid"),
        ):
            with self.subTest(words), self.assertRaisesRegex(BadInput, words):
                self.compare(lambda h: [b | wrong for b in h])

    def test_who_answers_and_is_no_fader_is_refused_here_and_at_a_station(self):
        air = control_pb2.AirStatus(
            nodes=[{"name": "base"}, {"name": "terminal"}], clock="realtime"
        )
        for reply, words in (
            (
                control_pb2.Reply(ok=True, mac=control_pb2.MacStatus()),
                "with nodes none; valid: a fader with a node terminal",
            ),
            (control_pb2.Reply(ok=True, air=air), "valid: a fader with a node"),
            (
                control_pb2.Reply(
                    ok=True, air=control_pb2.AirStatus(nodes=[{"name": "x"}], clock="fader")
                ),
                "with nodes x; valid: a fader with a node",
            ),
            (control_pb2.Reply(ok=True), "where no fader answers"),
            (control_pb2.Reply(error="no"), "where no fader answers"),
            (None, "where no fader answers"),
        ):
            reported = b"\xff\xff\xff" if reply is None else reply.SerializeToString()
            with (
                self.subTest(words),
                self.assertRaisesRegex(BadInput, f"fader.yaml: air.control is 'ipc:.*{words}"),
            ):
                self.compare(lambda h: h, reply=reported)
            with (
                tempfile.TemporaryDirectory() as folder,
                answering(f"ipc://{folder}/x", reported),
                self.assertRaisesRegex(BadInput, f"^--fader is 'ipc:.*{words}"),
            ):
                station_run.fader_of(f"ipc://{folder}/x", 10240)

    def test_a_fader_on_another_computer_is_asked_with_keys_and_listens_with_keys(self):
        with self.assertRaisesRegex(
            BadInput, "--fader tcp://192.0.2.1:7690: beyond this machine it needs --keys DIR"
        ):
            station_run.fader_of("tcp://192.0.2.1:7690", 10240)
        with (
            tempfile.TemporaryDirectory() as folder,
            self.assertRaisesRegex(BadInput, f"{folder}/client.key: No such file"),
        ):
            station_run.fader_of("tcp://192.0.2.1:7690", 10240, folder)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("air: {name: x}")
            f.flush()
            for arguments, words in (
                (("--listen", "tcp://192.0.2.1:7690"), "beyond this machine it needs --keys DIR"),
                (("--keys", "x"), "--keys is given without --listen"),
                (("--listen", "192.0.2.1"), "is no address"),
                (
                    ("--listen", "tcp://127.0.0.1:7690"),
                    "every user reaches a port, it needs --keys DIR",
                ),
                (
                    ("--listen", "tcp://127.0.0.1:7690", "--keys", KEYS),
                    "has air.control = None; valid: air.control = ipc://",
                ),
            ):
                with self.subTest(arguments), self.assertRaisesRegex(BadInput, words):
                    fader.main([f.name, *arguments], places.default())

    def test_a_fader_that_answers_no_sense_at_the_end_of_a_run_is_a_reason(self):
        air = control_pb2.AirStatus(
            nodes=[{"name": "terminal"}], clock="fader", delay_samples=10240
        )
        with tempfile.TemporaryDirectory() as folder:
            with answering(
                f"ipc://{folder}/x", control_pb2.Reply(ok=True, air=air).SerializeToString()
            ):
                asked = station_run.fader_of(f"ipc://{folder}/x", 10240)
                self.assertEqual(asked.status(), (air, []))
            for reported in (b"\xff\xff\xff", b""):
                with answering(f"ipc://{folder}/x", reported):
                    self.assertEqual(
                        asked.status(),
                        (None, [f"the fader at ipc://{folder}/x"]),
                    )

    def test_what_is_no_report_and_a_fader_that_is_not_there_are_one_line(self):
        for more, words in (
            (
                {"report": "{}"},
                "holds no sounding bursts that a terminal has received; valid: --json=FILE of",
            ),
            ({"report": "[[]]"}, "holds no sounding bursts"),
            ({"report": "no"}, "holds no sounding bursts"),
            ({"control": "air: {name: x}"}, "air.control is None, where no fader answers"),
            ({"control": "[]"}, "where no fader answers"),
            ({"control": "air: [1]"}, "air.control is None, where no fader answers"),
            ({"control": "air: {control: 'ipc:///nowhere/x'}"}, "no fader answers"),
        ):
            with (
                mock.patch.object(faders, "ANSWER_S", 0.5),
                self.assertRaisesRegex(BadInput, words) as caught,
            ):
                self.compare(lambda h: h, **more)
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
