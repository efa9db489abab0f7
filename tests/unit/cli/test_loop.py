# SPDX-License-Identifier: GPL-3.0-or-later
"""--loop auto on made-up measurements: which radios are asked, what follows from both, what is
refused, what the report says."""

import copy
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_cli.cell import cell as cells
from openwip_cli.cell import configuration, radio_loop, remote
from openwip_cli.errors import BadInput, Stop
from openwip_cli.figures import report
from openwip_cli.machine import procfs, rights
from openwip_cli.machine.places import Places
from openwip_cli.runs import demo, loop, options, station, station_options

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import cabled_loop

PLACES = Places(pathlib.Path("/nowhere"), pathlib.Path("/nowhere/build"), "python3")
FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
remote.make_keys(f"{FOLDER.name}/keys")
PEER = ("--radio", "type=b200", "--peer", "127.0.0.1", "--keys", f"{FOLDER.name}/keys")
FREE = ("--clock", "realtime", "--loop", "auto")


def found(
    lead_us=200.0,
    median_us=150.0,
    rare_us=1350.0,
    less_rare_us=None,
    late=1e-3,
    gaps=0,
    realtime=True,
    longest_us=None,
):
    return {
        "transmit": {"lead_us": lead_us, "late_at_most": late},
        "realtime_priority": realtime,
        "receive": {
            "median_us": median_us,
            "longest_us": rare_us if longest_us is None else longest_us,
            "one_in_ten_thousand_us": rare_us,
            "gaps": gaps,
            "one_in_thousand_us": rare_us if less_rare_us is None else less_rare_us,
        },
    }


class Taken(unittest.TestCase):
    def setUp(self):
        self.lines = []

    def take(self, wanted, asked, answers, more_slots=0):
        """Returns what was asked, in order."""
        calls = []

        def ask(_places, command, radio, arguments, limit_s):
            self.assertLess(limit_s, 100)
            self.assertEqual((command, arguments[-1]), ("loop", "--seconds=10"))
            calls.append((radio, *arguments[:-1]))
            return copy.deepcopy(answers[len(calls) - 1])

        with mock.patch.object(radio_loop, "ask", ask), mock.patch.object(Places, "check_built"):
            loop.take(wanted, asked, more_slots, PLACES, self.lines.append)
        return calls

    def demo(self, *arguments, answers):
        wanted = options.parse_demo([*FREE, *arguments])
        return wanted, self.take(wanted, loop.radios_of_demo(wanted.scenario), answers)

    def test_the_lead_is_the_base_stations_and_the_delay_has_the_terminals_reception(self):
        wanted, asked = self.demo(
            "--base-radio",
            "product=x310",
            "--terminal-radio",
            "product=b210",
            answers=[found(rare_us=150.0), found()],
        )
        self.assertEqual(
            [a[0].split(",")[:2] for a in asked],
            [["type=vusrp", "product=x310"], ["type=vusrp", "product=b210"]],
        )
        lead = radio_loop.follows(200, 150, 150).lead
        terminal = radio_loop.follows(200, 150, 1350)
        self.assertEqual(wanted.scenario["link.transmit_lead_slots"], lead)
        self.assertEqual(
            wanted.scenario.retransmission_delay_slots, lead + terminal.delay - terminal.lead
        )

    def test_one_kind_of_radio_is_measured_once(self):
        wanted, asked = self.demo("--product", "b210", answers=[found()])
        self.assertEqual([a[0] for a in asked], ["type=vusrp,product=b210"])
        self.assertEqual(
            (
                wanted.scenario["link.transmit_lead_slots"],
                wanted.scenario.retransmission_delay_slots,
            ),
            (8, 14),
        )

    def test_a_fader_has_a_delay_that_its_radios_and_the_longest_stall_fit_into_and_adds_its_slots(
        self,
    ):
        for arguments, longest_us, slots, loop_slots in (
            ((), 1350.0, 3, 14 + 4),
            ((), 5500.0, 10, 14 + 11),
            (("--fader-delay-samples", "46080"), 1350.0, 9, 14 + 10),
        ):
            wanted, asked = self.demo(
                "--air", "cabled", *arguments, answers=[found(longest_us=longest_us)]
            )
            self.assertEqual(len(asked), 1, "all four are alike")
            self.assertEqual(
                (
                    wanted.scenario["fader.delay_samples"],
                    wanted.scenario.retransmission_delay_slots,
                ),
                (slots * 5120, loop_slots),
            )
            self.assertEqual(
                configuration.fader_config(cells.Cell("x"), wanted.scenario)["fader"][
                    "delay_samples"
                ],
                slots * 5120,
            )
            self.assertEqual(wanted.loop_found["fader.delay_samples"], slots * 5120)
            self.assertIn(f"--fader-delay-samples {slots * 5120}", self.lines[-1])
            self.assertIn(
                f"; the fader's delay {slots * 5120} samples",
                report.loop_lines(wanted.loop_found)[0],
            )

    def test_the_faders_own_radios_are_asked(self):
        wanted, asked = self.demo(
            "--air",
            "cabled",
            "--product",
            "b210",
            "--fader-radio",
            "product=x310",
            answers=[found(), found(lead_us=900.0, longest_us=3000.0)],
        )
        self.assertEqual([a[0].split(",")[1] for a in asked], ["product=b210", "product=x310"])
        # 333 + 3000 + 900 us
        self.assertEqual(wanted.scenario["fader.delay_samples"], 7 * 5120)

    def test_where_the_longest_would_make_a_faders_loop_too_long_one_in_10_000_is_taken_and_that_is_said(
        self,
    ):
        wanted, _ = self.demo("--air", "cabled", answers=[found(longest_us=30000.0)])
        self.assertEqual(
            (wanted.scenario["fader.delay_samples"], wanted.scenario.retransmission_delay_slots),
            (3 * 5120, 18),
        )
        self.assertIn("one piece too late is INVALID", self.lines[-1])
        with self.assertRaisesRegex(Stop, "longer than a loop can be"):
            self.demo("--air", "cabled", answers=[found(rare_us=20000.0)])

    def test_a_base_station_asks_its_radio_as_it_will_use_it_and_adds_the_network(self):
        station, wanted = station_options.parse(
            [
                "base",
                *PEER,
                "--loop",
                "auto",
                "--freq",
                "2.45e9",
                "--transmit-gain",
                "60",
                "--antenna",
                "TX/RX",
            ]
        )
        asked = self.take(
            wanted, loop.radios_of_base(station.radio), [found()], station_options.BETWEEN_SLOTS
        )
        self.assertEqual(
            asked,
            [("type=b200", "--freq=2450000000", "--transmit-gain=60", "--transmit-antenna=TX/RX")],
        )
        self.assertEqual(
            (
                wanted.scenario["link.transmit_lead_slots"],
                wanted.scenario.retransmission_delay_slots,
            ),
            (8, 17),
        )

    def test_a_loop_longer_than_one_can_be_ends_the_run_and_says_who_knows_more(self):
        with self.assertRaisesRegex(
            Stop, r"^--loop auto: .*longer than a loop can be .*doctor --loop"
        ) as caught:
            self.demo(answers=[found(rare_us=20000.0)])
        self.assertNotIsInstance(caught.exception, BadInput)

    def test_where_one_in_10_000_would_be_too_long_one_in_1_000_is_taken(self):
        wanted, _ = self.demo(answers=[found(rare_us=20000.0, less_rare_us=1350.0)])
        self.assertEqual(
            (
                wanted.scenario["link.transmit_lead_slots"],
                wanted.scenario.retransmission_delay_slots,
            ),
            (8, 14),
        )

    def test_the_report_says_what_was_taken_and_of_what(self):
        wanted, _ = self.demo(answers=[found()])
        self.assertEqual(wanted.loop_found["base"]["radio"], "type=vusrp")
        self.assertIn(
            "lead 8 slots, delay 9.33 ms, measured before: a burst has to leave 0.20 ms",
            report.loop_lines(wanted.loop_found)[0],
        )
        self.assertEqual(report.loop_lines(None), [])

    def test_what_the_measurement_does_not_show_is_said_on_the_screen_and_in_the_report(self):
        for bad, words in (
            ({"late": 1.1e-3}, "a share of 1.1e-03 may be late (95 %), a verdict allows 0.001"),
            ({"gaps": 2}, "samples were lost 2 times"),
            ({"realtime": False}, "no real-time priority"),
        ):
            with self.subTest(words):
                wanted, _ = self.demo(answers=[found(**bad)])
                self.assertIn(words, self.lines[-1])
                self.assertIn(words, report.loop_lines(wanted.loop_found)[1])
        self.assertEqual(self.demo(answers=[found()])[0].loop_found["not_shown"], [])

    def test_the_configuration_in_a_report_is_that_of_the_run_and_can_be_run_again(self):
        peer = ["base", *PEER]
        made, _ = self.demo(answers=[found()])
        _, base = station_options.parse([*peer, "--loop", "auto"])
        self.take(base, {"base": loop.Asked("r", ()), "terminal": loop.Asked("r", ())}, [found()])
        for wanted, parse in (
            (made, lambda file: options.parse_demo(["--config", file])),
            (base, lambda file: station_options.parse([*peer, "--config", file])[1]),
        ):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                json.dump(wanted.scenario.tree(), file)
                file.flush()
                again = parse(file.name).scenario
            self.assertEqual(
                (
                    again["link.loop"],
                    again["link.transmit_lead_slots"],
                    again.retransmission_delay_slots,
                ),
                ("as_set", 8, 14),
            )

    def test_a_cell_that_is_refused_transmits_nothing(self):
        for module, arguments in ((demo, list(FREE)), (station, ["base", *PEER, "--loop", "auto"])):
            with (
                self.subTest(module.__name__),
                mock.patch.object(module, "owned_cell", side_effect=BadInput("already up")),
                mock.patch.object(radio_loop, "ask") as ask,
                mock.patch.object(demo, "check"),
                mock.patch.object(Places, "check_built"),
                mock.patch.object(station.system, "require_root"),
                mock.patch.object(station.system, "require_tun"),
            ):
                self.assertRaises(BadInput, module.main, arguments, PLACES)
                ask.assert_not_called()


# ./openwip demo --loop auto without a cell, at a build folder whose program stands for one that
# transmits.
LAUNCHER = """
import pathlib, sys
from unittest import mock
from openwip_cli import __main__ as entry
from openwip_cli.cell import session
from openwip_cli.machine.places import Places
from openwip_cli.runs import demo
build = pathlib.Path(sys.argv[1])
with mock.patch.object(demo, "check"), mock.patch.object(session, "take_over"), mock.patch.object(session, "SupervisorClient"), \
        mock.patch.object(entry.whereabouts, "default", lambda: Places(build, build, "python3")):
    sys.argv[1:] = ["demo", "--clock", "realtime", "--loop", "auto"]
    sys.exit(entry.main())
"""


class Ended(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        program = self.build / radio_loop.PROGRAM
        program.parent.mkdir(parents=True)
        program.write_text(
            f"#!/bin/sh\ncat /proc/$$/status >{folder.name}/part; mv {folder.name}/part"
            f" {folder.name}/status\nexec sleep 30\n"
        )
        program.chmod(0o755)

    def measuring(self):
        """(launcher, what the kernel says of the program that it has started)"""
        launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(self.build)], stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(launcher.kill)
        self.wait((self.build / "status").exists)
        return launcher, dict(
            line.split(":\t", 1)
            for line in (self.build / "status").read_text().splitlines()
            if ":\t" in line
        )

    def wait(self, condition):
        end = time.monotonic() + 10
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_what_transmits_ends_with_the_launcher_however_that_ends(self):
        for signum, code, lines in (
            (signal.SIGTERM, 143, ["openwip: stopped by SIGTERM; everything is removed"]),
            (signal.SIGKILL, -9, []),
        ):
            with self.subTest(signum):
                launcher, status = self.measuring()
                launcher.send_signal(signum)
                output = launcher.communicate(timeout=10)[1].splitlines()
                self.assertEqual(
                    (launcher.returncode, [line for line in output if not line.startswith("[")]),
                    (code, lines),
                )
                # gone, or a zombie
                self.wait(lambda: procfs.start_time(int(status["Pid"])) is None)
                (self.build / "status").unlink()

    def test_it_has_the_rights_of_a_stations_radio(self):
        launcher, status = self.measuring()
        self.assertEqual(status["NoNewPrivs"], "1")
        if os.geteuid() == 0:
            self.assertEqual(
                int(status["CapBnd"], 16)
                & ~sum(1 << rights.CAPABILITY[name] for name in rights.RADIO_PROGRAM),
                0,
            )
        launcher.terminate()
        launcher.communicate(timeout=10)

    def test_one_that_does_not_answer_is_not_waited_for(self):
        with self.assertRaisesRegex(Stop, r"^the radio did not answer within 0.2 s \(--radio r\)$"):
            radio_loop.ask(Places(self.build, self.build, "python3"), "loop", "r", [], limit_s=0.2)


class Bench(unittest.TestCase):
    """tests/bench/cabled_loop.py, without its runs."""

    def test_it_fails_for_bursts_that_show_nothing_a_loop_too_long_and_a_run_that_is_invalid(self):
        good = loop.Settled(radio_loop.Loop(18, 40), {loop.DELAY: 46080}, radio_loop.LONGEST, "")
        runs = [{"valid": True, "reasons": []}] * 3 + [cabled_loop.of_run(None)]
        self.assertEqual(
            good.flags,
            "--transmit-lead-slots 18 --retransmission-delay-ms 26.66 --fader-delay-samples 46080",
        )
        self.assertEqual(cabled_loop.evaluated(found(late=1e-4), good, runs, 3), ([], 3))
        for measured, settled, wanted, words in (
            (found(late=2e-4), good, 3, "a share of 2.0e-04 may be late"),
            (found(late=0), good, 4, "3 of 4 runs were VALID, 4 are asked"),
            (
                found(late=0),
                good._replace(why="too long"),
                0,
                "--fader-delay-samples 46080: too long",
            ),
        ):
            (output,), _ = cabled_loop.evaluated(measured, settled, runs, wanted)
            self.assertIn(words, output)

    def test_of_a_run_it_says_what_was_late_and_how_the_machine_stood_still(self):
        stalled = {"least_ms": 2.0, "count": 2, "longest_ms": 49.0, "together_ms": 60.0}
        output = cabled_loop.of_run(
            {
                "verdict": {"valid": False, "reasons": ["late: 2"]},
                "fader": {"least_lead_us": -3.0, "late": 1, "underflows": 2},
                "realtime": {"slots": 9, "missed": {"late": 2}, "standstills": stalled},
            }
        )
        self.assertEqual(
            (output["valid"], output["missed"], output["late_pieces"]),
            (False, "2 too late at the radio", 3),
        )
        self.assertEqual(
            output["standstills"],
            "the machine stalled for 2 ms or more 2 times, 49.0 ms at longest, 60 ms together",
        )


class Refused(unittest.TestCase):
    def test_what_is_wrong_is_one_line_with_what_would_be_valid(self):
        for parse, arguments, words in (
            (options.parse_demo, ("--loop", "auto"), "--clock lockstep.*valid: as_set"),
            (
                options.parse_demo,
                (*FREE, "--transmit-lead-slots", "8"),
                "--transmit-lead-slots is 8 with --loop auto",
            ),
            (
                options.parse_demo,
                (*FREE, "--retransmission-delay-ms", "9"),
                "--retransmission-delay-ms is 9 with --loop auto",
            ),
            (options.parse_demo, ("--loop", "measured"), r"as_set\|auto"),
            (station_options.parse, ("terminal", *PEER, "--loop", "auto"), "at a terminal"),
            (
                station_options.parse,
                ("base", *PEER, "--loop", "auto", "--transmit-lead-slots", "8"),
                "with --loop auto",
            ),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, words) as caught:
                parse(list(arguments))
            self.assertNotIn("\n", str(caught.exception))

    def test_a_file_of_both_ends_is_the_base_stations_at_a_terminal_and_that_is_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("link: {loop: auto, bins: 9}\n")
            file.flush()
            terminal, wanted = station_options.parse(["terminal", *PEER, "--config", file.name])
            base, _ = station_options.parse(["base", *PEER, "--config", file.name])
            self.assertRaises(
                BadInput,
                station_options.parse,
                ["terminal", *PEER, "--config", file.name, "--loop", "auto"],
            )
        self.assertEqual(
            (
                wanted.scenario["link.loop"],
                wanted.scenario["link.bins"],
                terminal.unused,
                base.unused,
            ),
            ("as_set", 9, ["link.loop"], []),
        )


if __name__ == "__main__":
    unittest.main()
