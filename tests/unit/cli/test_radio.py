# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip radio and doctor --loop on made-up measurements: what is said of them, what is refused,
which loop follows."""

import contextlib
import copy
import io
import pathlib
import tempfile
import unittest

from openwip_cli.cell import radio_loop as loops
from openwip_cli.commands import doctor, radio, radio_findings
from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places

PLACES = Places(pathlib.Path("/nowhere"), pathlib.Path("/nowhere/build"), "python3")
RANGE = {"lowest": 0.0, "highest": 76.0, "step": 1.0}
SIDE = {
    "channels": 2,
    "front": "FE",
    "frequency_hz": {"lowest": 5e7, "highest": 6e9, "step": 0},
    "gain_db": RANGE,
    "bandwidth_hz": RANGE,
    "antennas": ["RX2"],
    "power_calibrated": False,
    "image_calibrated": False,
    "rate_hz": 7.68e6,
    "converted": False,
    "sensors": {"lo_locked": {"says": "LO: locked", "ok": True}, "temp": {"says": "temp: 40 C"}},
}
PROBED = {
    "name": "X-Series Device",
    "product": "X310",
    "serial": "30F9A1",
    "clock_hz": 200e6,
    "clocks_hz": RANGE,
    "clock_source": "external",
    "clock_sources": ["internal", "external"],
    "time_source": "internal",
    "time_sources": ["internal"],
    "sensors": {"ref_locked": {"says": "Ref: unlocked", "ok": False}},
    "receive": SIDE,
    "transmit": copy.deepcopy(SIDE),
}
LINE = {"db": 40.0, "at_least": False}
LEVELS = {
    "frequency_hz": 1.8e9,
    "receive_gain_db": 38.0,
    "antenna": "RX2",
    "rate_hz": 7.68e6,
    "samples": 1000,
    "noise_dbfs": -60.0,
    "noise_at_gain_0_dbfs": -98.0,
    "dc_dbfs": -50.0,
    "peak_dbfs": -12.0,
    "clipped": 0.0,
    "tone": {
        "sent": {"transmit_gain_db": 0.0, "antenna": "TX/RX"},
        "heard": True,
        "hz": 912100.0,
        "expected_hz": 912000.0,
        "dbfs": -20.0,
        "receive_image": LINE,
        "transmit_image": LINE,
        "leakage": LINE,
    },
}
LOOP = {
    "time_reading_us": 90.0,
    "realtime_priority": True,
    "path_delay_us": 13.0,
    "sent": {"transmit_gain_db": 0.0},
    "receive": {
        "slots": 45000,
        "shortest_us": 80.0,
        "median_us": 150.0,
        "one_in_thousand_us": 200.0,
        "one_in_ten_thousand_us": 500.0,
        "gaps": 0,
    },
    "transmit": {
        "leads": [
            {"lead_us": 70.0, "bursts": 30, "late": 30},
            {"lead_us": 220.0, "bursts": 30000, "late": 0},
        ],
        "lead_us": 220.0,
        "late_at_most": 9.9e-5,
    },
}


def changed(tree, **values):
    """KEY__KEY=VALUE"""
    tree = copy.deepcopy(tree)
    for path, value in values.items():
        *above, last = path.split("__")
        at = tree
        for key in above:
            at = at[key]
        at[last] = value
    return tree


def by_name(findings):
    return {f.what: f for f in findings}


class Probe(unittest.TestCase):
    def found(self, radio_args="addr=192.168.40.2", **values):
        return by_name(radio.findings_of_probe(changed(PROBED, **values), radio_args))

    def test_a_rate_that_has_to_be_converted_costs_something_and_the_clock_that_mends_it_is_named(
        self,
    ):
        self.assertTrue(self.found()["sample rate"].ok)
        converted = self.found(receive__converted=True, receive__rate_hz=200e6 / 26)["sample rate"]
        self.assertFalse(converted.ok)
        self.assertIn("addr=192.168.40.2,master_clock_rate=184320000", converted.mend)
        n210 = self.found(receive__converted=True, product="N210r4", clock_hz=100e6)["sample rate"]
        self.assertIn("no other rate", n210.mend)

    def test_sensors_that_are_not_locked_cost_something(self):
        found = self.found()
        self.assertIn("clock_source=internal", found["sensor ref_locked"].mend)
        self.assertTrue(found["sensor temp (receive)"].ok)
        self.assertFalse(
            self.found(receive__sensors__lo_locked={"says": "LO: unlocked", "ok": False})[
                "sensor lo_locked (receive)"
            ].ok
        )

    def test_files_of_corrections_are_asked_for_where_the_device_does_not_correct_itself(self):
        lacking = self.found(transmit__image_calibrated=True)["images"]
        self.assertIn("uhd_cal_rx_iq_balance --args addr=192.168.40.2", lacking.mend)
        self.assertNotIn("uhd_cal_tx", lacking.mend)
        self.assertTrue(
            self.found(receive__image_calibrated=True, transmit__image_calibrated=True)["images"].ok
        )
        self.assertTrue(self.found(product="B210")["images"].ok)
        self.assertTrue(
            self.found(sensors={"air_connected": {"says": "", "ok": True}})["images"].ok
        )
        self.assertFalse(self.found(name="Software of another maker")["images"].ok)

    def test_a_receiver_alone_is_said(self):
        alone = copy.deepcopy(PROBED)
        del alone["transmit"]
        self.assertIn("receives", by_name(radio.findings_of_probe(alone, ""))["transmitter"].costs)


class Levels(unittest.TestCase):
    def found(self, **values):
        return by_name(radio.findings_of_levels(changed(LEVELS, **values)))

    def test_what_is_good_costs_nothing(self):
        self.assertTrue(all(f.ok for f in self.found().values()))
        self.assertIn("+100 Hz off", self.found()["tone"].says)
        self.assertNotIn("tone", self.found(tone=None))

    def test_clipping_a_constant_and_images_cost_something(self):
        self.assertIn("less --receive-gain", self.found(clipped=0.01)["level"].mend)
        self.assertIn("1 % of the samples", self.found(clipped=0.01)["level"].says)
        self.assertFalse(self.found(dc_dbfs=-15.0)["DC offset"].ok)
        self.assertFalse(
            self.found(tone__receive_image={"db": 20.0, "at_least": False})[
                "image of the receiver"
            ].ok
        )
        # No more could be seen: that is the noise's, not the mixer's.
        self.assertTrue(
            self.found(tone__receive_image={"db": 20.0, "at_least": True})[
                "image of the receiver"
            ].ok
        )

    def test_a_tone_that_is_not_heard_is_said(self):
        found = self.found(
            tone={"heard": False, "sent": {"transmit_gain_db": 0.0, "antenna": "TX/RX"}}
        )
        self.assertIn("attenuator", found["tone"].mend)
        self.assertNotIn("LO leakage", found)


class Loop(unittest.TestCase):
    def found(self, **values):
        return by_name(radio_findings.findings_of_loop(changed(LOOP, **values)))

    def test_half_of_the_lead_holds_transport_stall_and_the_making_of_a_slot(self):
        """The expected values are in slots of 2/3 ms. The lead is twice the sum of one slot in
        which to make a slot, and transport with stall. The delay is the sum of lead, the slot, its
        reception with one slot to work in, and the way back."""
        self.assertEqual(loops.follows(1, 0, 0), (4, 7))
        self.assertEqual(loops.follows(666, 1, 1), (4, 8))
        self.assertEqual(loops.follows(667, 666, 666), (6, 10))
        self.assertEqual(loops.follows(200, 150, 150 + 1200), (8, 14))

    def test_the_delay_in_ms_is_read_back_as_so_many_slots(self):
        import math

        for delay in range(3, 90):
            ms = loops.Loop(4, delay).delay_ms
            self.assertEqual(math.ceil(ms * 1.5 - 1e-9), delay)

    def test_a_loop_within_the_default_costs_nothing_and_one_beyond_says_what_to_set(self):
        self.assertTrue(self.found()["loop"].ok)
        self.assertIn(
            "--transmit-lead-slots 4 --retransmission-delay-ms 5.33 (8 slots)",
            self.found()["loop"].says,
        )
        self.assertIn("4 and 5.33 for one in 1,000", self.found()["loop"].says)
        long = self.found(transmit__lead_us=2500.0)["loop"]
        self.assertEqual(long.mend, "--transmit-lead-slots 12 --retransmission-delay-ms 10.66")
        self.assertEqual(
            self.found(transmit__lead_us=2500.0)["loop of two computers"].mend,
            "--transmit-lead-slots 12 --retransmission-delay-ms 12.66",
        )
        self.assertIn("(11 slots)", self.found()["loop of two computers"].says)
        self.assertIn(
            "longer than a loop can be",
            self.found(receive__one_in_ten_thousand_us=20000.0)["loop"].costs,
        )

    def test_too_few_bursts_and_lost_samples_cost_something(self):
        self.assertIn(
            "more --duration", self.found(transmit__late_at_most=2e-4)["a burst has to leave"].mend
        )
        self.assertFalse(self.found(receive__gaps=2)["a slot is in hand"].ok)

    def test_without_a_path_the_times_hold(self):
        self.assertIn("not heard", self.found(path_delay_us=None)["path"].says)
        self.assertTrue(self.found(path_delay_us=None)["loop"].ok)


class Options(unittest.TestCase):
    def refused(self, pattern, command, *arguments):
        with (
            self.assertRaisesRegex(BadInput, pattern) as caught,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            command(list(arguments), PLACES)
        self.assertNotIn("\n", str(caught.exception))

    def test_bad_options_are_one_line_that_says_what_is_valid(self):
        self.refused(
            "command of radio is 'x'; valid: list, probe, levels, spectrum", radio.main, "x"
        )
        self.refused("--tone is '3'; valid: -60..0", radio.main, "levels", "--tone", "3")
        self.refused("--tone is 'nan'; valid", radio.main, "levels", "--tone", "nan")
        self.refused(
            "--receive-gain is 'high'; valid", radio.main, "spectrum", "--receive-gain", "high"
        )
        for command, valid in (
            (("levels",), "--transmit-gain, --receive-gain"),
            (("spectrum",), "--receive-gain"),
        ):
            for gain in (("--gain", "3"), ("--gain=3",)):
                self.refused(
                    "^--gain is not an option; it is now --transmit-gain, of the transmitter, or"
                    f" --receive-gain, of the receiver; valid here: {valid} \\(see ",
                    radio.main,
                    *command,
                    *gain,
                )
        self.refused("--transmit-gain 3", radio.main, "spectrum", "--transmit-gain", "3")
        self.refused("unrecognized arguments: --receive 3", radio.main, "levels", "--receive", "3")
        self.refused("--duration is '0'; valid", radio.main, "levels", "--duration", "0")
        self.refused(
            "--transmit-gain .*without --tone", radio.main, "levels", "--transmit-gain", "3"
        )
        self.refused("--out /nowhere/x.png", radio.main, "spectrum", "--out", "/nowhere/x.png")
        self.refused("--receive-gain is given without --loop", doctor.main, "--receive-gain", "5")
        self.refused(
            "--gain is not an option; .*valid here: --transmit-gain, --receive-gain",
            doctor.main,
            "--gain",
            "5",
        )
        self.refused("--duration is given without --loop", doctor.main, "--duration", "5")
        self.refused("not built yet", radio.main, "probe", "--radio", "type=vusrp")

    def test_a_refused_command_leaves_the_report_that_was_there(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "j.json")
            file.write_text("{}")
            self.refused("not built yet", radio.main, "levels", f"--json={file}")
            self.assertEqual(file.read_text(), "{}")


if __name__ == "__main__":
    unittest.main()
