# SPDX-License-Identifier: GPL-3.0-or-later
"""--loop auto on made-up measurements: which radios are asked, what follows from both, what is refused, what the report says."""
import copy
import pathlib
import unittest
from unittest import mock

from openwip_cli.cell import radio_loop
from openwip_cli.errors import BadInput, Stop
from openwip_cli.figures import report
from openwip_cli.machine.places import Places
from openwip_cli.runs import loop, options, station_options

PLACES = Places(pathlib.Path("/nowhere"), pathlib.Path("/nowhere/build"), "python3")
PEER = ("--radio", "type=b200", "--peer", "127.0.0.1")
FREE = ("--clock", "realtime", "--loop", "auto")


def found(lead_us=200.0, median_us=150.0, rare_us=1350.0, less_rare_us=None):
    return {"transmit": {"lead_us": lead_us}, "receive": {"median_us": median_us, "one_in_ten_thousand_us": rare_us,
                                                          "one_in_thousand_us": rare_us if less_rare_us is None else less_rare_us}}


class Taken(unittest.TestCase):
    def take(self, wanted, asked, answers, more_slots=0):
        """Returns what was asked, in order."""
        calls = []

        def ask(_places, command, radio, arguments):
            self.assertEqual((command, arguments[-1]), ("loop", "--seconds=10"))
            calls.append((radio, *arguments[:-1]))
            return copy.deepcopy(answers[len(calls) - 1])

        with mock.patch.object(radio_loop, "ask", ask), mock.patch.object(Places, "check_built"):
            loop.take(wanted, asked, more_slots, PLACES, lambda line: None)
        return calls

    def demo(self, *arguments, answers):
        wanted = options.parse_demo([*FREE, *arguments])
        return wanted, self.take(wanted, loop.radios_of_demo(wanted.scenario), answers)

    def test_the_lead_is_the_base_stations_and_the_delay_has_the_terminals_reception(self):
        wanted, asked = self.demo("--base-radio", "product=x310", "--terminal-radio", "product=b210",
                                  answers=[found(rare_us=150.0), found()])
        self.assertEqual([a[0].split(",")[:2] for a in asked], [["type=vusrp", "product=x310"], ["type=vusrp", "product=b210"]])
        lead = radio_loop.follows(200, 150, 150).lead
        terminal = radio_loop.follows(200, 150, 1350)
        self.assertEqual(wanted.scenario["link.transmit_lead_slots"], lead)
        self.assertEqual(wanted.scenario.retransmission_delay_slots, lead + terminal.delay - terminal.lead)

    def test_one_kind_of_radio_is_measured_once(self):
        wanted, asked = self.demo("--product", "b210", answers=[found()])
        self.assertEqual([a[0] for a in asked], ["type=vusrp,product=b210"])
        self.assertEqual((wanted.scenario["link.transmit_lead_slots"], wanted.scenario.retransmission_delay_slots), (8, 14))

    def test_a_fader_adds_its_slots(self):
        wanted, _ = self.demo("--air", "cabled", answers=[found(), found()])
        self.assertEqual(wanted.scenario.retransmission_delay_slots, 14 + wanted.scenario.fader_slots)

    def test_a_base_station_asks_its_radio_as_it_will_use_it_and_adds_the_network(self):
        station, wanted = station_options.parse(["base", *PEER, "--loop", "auto", "--freq", "2.45e9", "--gain", "60", "--antenna", "TX/RX"])
        asked = self.take(wanted, loop.radios_of_base(station.radio), [found()], station_options.BETWEEN_SLOTS)
        self.assertEqual(asked, [("type=b200", "--freq=2450000000", "--transmit-gain=60", "--transmit-antenna=TX/RX")])
        self.assertEqual((wanted.scenario["link.transmit_lead_slots"], wanted.scenario.retransmission_delay_slots), (8, 17))

    def test_a_loop_longer_than_one_can_be_ends_the_run_and_says_who_knows_more(self):
        with self.assertRaisesRegex(Stop, r"^--loop auto: .*longer than a loop can be .*doctor --loop") as caught:
            self.demo(answers=[found(rare_us=20000.0)])
        self.assertNotIsInstance(caught.exception, BadInput)

    def test_where_one_in_10_000_would_be_too_long_one_in_1_000_is_taken(self):
        wanted, _ = self.demo(answers=[found(rare_us=20000.0, less_rare_us=1350.0)])
        self.assertEqual((wanted.scenario["link.transmit_lead_slots"], wanted.scenario.retransmission_delay_slots), (8, 14))

    def test_the_report_says_what_was_taken_and_of_what(self):
        wanted, _ = self.demo(answers=[found()])
        self.assertEqual(wanted.loop_found["base"]["radio"], "type=vusrp")
        self.assertIn("lead 8 slots, delay 9.33 ms, measured before: a burst has to leave 0.20 ms", report.loop_lines(wanted.loop_found)[0])
        self.assertEqual(report.loop_lines(None), [])


class Refused(unittest.TestCase):
    def test_what_is_wrong_is_one_line_with_what_would_be_valid(self):
        for parse, arguments, words in (
                (options.parse_demo, ("--loop", "auto"), "--clock lockstep.*valid: as_set"),
                (options.parse_demo, (*FREE, "--transmit-lead-slots", "8"), "--transmit-lead-slots is 8 with --loop auto"),
                (options.parse_demo, (*FREE, "--retransmission-delay-ms", "9"), "--retransmission-delay-ms is 9 with --loop auto"),
                (options.parse_demo, ("--loop", "measured"), r"as_set\|auto"),
                (station_options.parse, ("terminal", *PEER, "--loop", "auto"), "at a terminal"),
                (station_options.parse, ("base", *PEER, "--loop", "auto", "--transmit-lead-slots", "8"), "with --loop auto")):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, words) as caught:
                parse(list(arguments))
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
