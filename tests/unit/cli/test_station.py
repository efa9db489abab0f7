# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of ./openwip station: what is evaluated of one station alone."""

import tempfile
import unittest
from unittest import mock

from hand_made import bursts, statuses
from openwip_schema import control_pb2
from station_support import answering, evaluated

from openwip_cli.cell import faders
from openwip_cli.figures import fading, one_station
from openwip_cli.figures.facts import Heard
from openwip_cli.runs import station as station_run


class Verdict(unittest.TestCase):
    def status(self, role, slot=15000, **radio):
        s = control_pb2.MacStatus(role=role, slot=slot)
        for d in (s.downlink, s.uplink):
            getattr(d, "in").packets = d.delivered.packets = 3
            getattr(d, "in").bytes = d.delivered.bytes = 300
        for name, value in ({"locked": True} | radio).items():
            setattr(s.radio, name, value)
        return s

    def evaluate(self, now, until=None, tun=None, returns=0, **more):
        first = self.status(now.role, 0)
        return evaluated(now.role, first, until or now, now, tun, returns, **more)

    def test_both_are_valid_when_nothing_is_wrong(self):
        tun = {"to_macd": (3, 300), "from_macd": (3, 300)}
        for role in ("base", "terminal"):
            self.assertEqual(self.evaluate(self.status(role), tun=tun)["reasons"], [])

    def test_each_thing_that_is_wrong_is_a_reason(self):
        lost = self.status("terminal")
        lost.downlink.delivered.packets = 2
        for now, more, word in (
            (self.status("base", late_slots=16), {}, "late: 16 slots of 15000"),
            (self.status("terminal", lock_losses=2), {}, "lock: lost 2 times"),
            (self.status("terminal", locked=False), {}, "lock: the terminal is not locked"),
            (self.status("terminal", overflows=1), {}, "overflowed"),
            (lost, {}, "sums: downlink at the terminal"),
            (
                self.status("base"),
                {"tun": {"to_macd": (4, 300), "from_macd": (3, 300)}},
                "sums: downlink, kernel to base.macd",
            ),
            (self.status("base"), {"returns": 2}, "left and came back 2 times"),
            (self.status("base"), {"returns": -1}, "never came"),
            (
                self.status("base"),
                {"noted": ["base.radio stood"]},
                "surroundings: base.radio stood",
            ),
            (
                self.status("base"),
                {"heard": Heard(lost={"base": 2})},
                "telemetry: 2 messages of base lost",
            ),
        ):
            found = self.evaluate(now, **more)
            self.assertFalse(found["valid"])
            self.assertIn(word, " ".join(found["reasons"]))

    def test_a_share_of_slots_that_a_free_running_clock_may_miss(self):
        self.assertTrue(self.evaluate(self.status("base", late_slots=15))["valid"])

    def test_a_core_that_stood_still_is_behind_what_was_late(self):
        stalled = {
            "least_ms": 2.0,
            "count": 2,
            "longest_ms": 49.0,
            "together_ms": 60.0,
            "held_back": {"count": 1, "longest_ms": 49.0, "together_ms": 49.0},
        }
        for now in (self.status("base", late_slots=16), self.status("terminal", overflows=1)):
            reasons = evaluated(
                now.role, self.status(now.role, 0), now, now, None, 0, None, stalled
            )["reasons"]
            self.assertIn(
                "real-time throttling: the kernel held the slot path back 1 times", reasons[0]
            )
            self.assertIn("the machine stalled for 2 ms or more 2 times", reasons[1])
        output = one_station.result("terminal", now, now) | {
            "verdict": {"valid": True, "reasons": []},
            "standstills": stalled,
        }
        self.assertIn(
            "  stalls       the machine stalled for 2 ms or more 2 times, 49.0 ms at longest",
            one_station.screen(output),
        )
        fine = self.status("base", late_slots=15)
        self.assertEqual(
            evaluated("base", self.status("base", 0), fine, fine, None, 0, None, stalled)[
                "reasons"
            ],
            [],
        )

    def test_what_the_machine_did_not_grant_is_on_the_screen_of_both(self):
        machine = {
            "realtime_priority": {"base.macd": False, "base.radio": True},
            "memory_locked": {"base.macd": True, "base.radio": False},
            "page_faults": {"base.radio": {"minor": 3, "major": 2}},
        }
        for role in ("base", "terminal"):
            now = self.status(role)
            output = one_station.screen(
                one_station.result(role, now, now)
                | {
                    "verdict": {"valid": True, "reasons": []},
                    "machine": machine,
                }
            )
            self.assertIn(
                "  machine      without real-time priority: base.macd; memory not locked:"
                " base.radio; waited for pages from disk: base.radio 2 times",
                output,
            )

    def test_a_radio_that_clips_is_told_while_it_runs_and_at_the_end(self):
        # The limit: one sample in 10,000 of 15000 slots.
        first, limit = self.status("terminal", clipped=7), 7680
        for clipped, words in ((7 + limit, False), (8 + limit, True)):
            now, output = self.status("terminal", 30000, clipped=clipped), []
            found = one_station.result("terminal", first, now)
            self.assertEqual(
                (found["radio"]["clipped"], found["radio"]["samples"]), (clipped - 7, 76_800_000)
            )
            screen = one_station.screen(found | {"verdict": {"valid": True, "reasons": []}})
            self.assertIn(f"{clipped - 7} samples at full scale", screen)
            follow = station_run.Follower("terminal", output.append)
            for status in (first, now, now):
                follow(status)
            self.assertEqual(
                (sum("the radio clips" in line for line in output), "the radio clips" in screen),
                (words, words),
            )
        self.assertNotIn(
            "clips",
            one_station.screen(
                one_station.result("base", first, now) | {"verdict": {"valid": True, "reasons": []}}
            ),
        )

    def test_a_second_terminal_is_mentioned_at_both_ends_each_time_that_it_is_turned_away(self):
        for role, words in (
            ("terminal", "turned away: the base station has another terminal"),
            ("base", "another terminal with the same key was turned away"),
        ):
            output = []
            follow = station_run.Follower(role, output.append)
            for refused in (0, 1, 1, 2):
                now = self.status(role)
                now.peers_refused = refused
                follow(now)
            self.assertEqual(sum(line.startswith(words) for line in output), 2, output)

    def test_what_follows_the_other_stations_end_is_not_evaluated(self):
        ended = self.status("terminal", locked=False, lock_losses=1)
        self.assertTrue(self.evaluate(ended, until=self.status("terminal"))["valid"])

    def cabled(self, role, heard=8, there_first=False):
        """(what the report says, reasons) of a station that can ask the fader."""
        cell = statuses(1)
        cell.air.delay_samples = 10240
        cell.air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
        bursts(cell, lambda c, h: h.__delitem__(slice(heard + 1 if heard else 0, None)))
        before, first, now = (
            control_pb2.AirStatus(lost_samples=5, fader_radios={"late": 2}),
            self.status(role, 0),
            self.status(role),
        )
        cell.air.lost_samples, cell.air.fader_radios.late, cell.air.least_lead_us = 7, 2, -580
        now.radio.bursts.extend(cell.terminal.radio.bursts)
        first.peer_connected = there_first
        found = one_station.fader_of(role, first, now, before, cell.air)
        return (
            found,
            evaluated(role, first, now, now, None, 0, found)["reasons"],
            one_station.result(role, first, now)
            | {
                "fader": found,
                "verdict": {"valid": True, "reasons": []},
            },
        )

    def test_a_fader_that_can_be_asked_is_evaluated_as_in_a_demo(self):
        # of the 7 lost samples 5 were lost before the run
        lost = "fader: 2 samples lost at its receivers (0 overflows)"
        found, reasons, output = self.cabled("terminal")
        self.assertEqual((found["through_radios"]["heard"], reasons), (8, [lost]))
        self.assertIn("dB off in 8 of 8 bursts", one_station.screen(output))
        self.assertIn(
            "-0.58 ms of it left at worst (the software USRPs waited with it: nothing was"
            " lost); 2 samples lost, 0 times too late,",
            one_station.screen(output),
        )
        self.assertEqual(
            self.cabled("terminal", heard=0)[1],
            [lost, "fader: through the radios 0 bursts of 8 were heard"],
        )
        late = self.cabled("terminal", heard=0, there_first=True)
        self.assertEqual(late[1], [lost])
        self.assertIn("the base station was there first", one_station.screen(late[2]))
        found, reasons, output = self.cabled("base")
        self.assertEqual((found["through_radios"], reasons), (None, [lost]))
        self.assertIn(
            "through the radios as the terminal's report says", one_station.screen(output)
        )

    def test_fading_beyond_full_scale_makes_a_station_invalid_whoever_makes_the_channel(self):
        for clipped, wrong in (
            (512, []),
            (
                513,
                [
                    "clipping: 513 of 5120000 samples of the faded signal were beyond full scale"
                    " (limit 0.0001): lower the power before the channel"
                ],
            ),
        ):
            for role in ("base", "terminal"):
                before, air = (
                    control_pb2.AirStatus(slots=100, clipped=9),
                    control_pb2.AirStatus(slots=1100, clipped=9 + clipped, delay_samples=10240),
                )
                air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
                now = self.status(role)
                fader = fading.fader_of(air, None, before)
                self.assertEqual(
                    evaluated(role, self.status(role, 0), now, now, None, 0, fader)["reasons"],
                    wrong,
                )
            faded = fading.faded(before, air)
            found = evaluated("base", self.status("base", 0), now, now, None, 0, faded=faded)
            self.assertEqual((found["reasons"], found["checks"]["clipping"]), (wrong, not wrong))
        self.assertIn(
            f"  clipped      {clipped} samples of the faded signal",
            one_station.screen(
                one_station.result("base", now, now) | {"faded": faded, "verdict": found}
            ),
        )

    def test_the_channel_of_the_own_flowgraph_is_asked_at_the_begin_and_at_the_end(self):
        self.assertEqual(station_run.own_channel(None).faded(), (None, []))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(faders, "ANSWER_S", 0.2):
            with answering(
                f"ipc://{folder}/x",
                control_pb2.Reply(
                    ok=True, air=control_pb2.AirStatus(slots=5, clipped=7)
                ).SerializeToString(),
            ):
                own = station_run.own_channel(f"ipc://{folder}/x")
                own.before.slots = 3
                self.assertEqual(own.faded(), ({"clipped": 0, "slots": 2}, []))
            self.assertEqual(own.faded(), (None, [f"the channel at ipc://{folder}/x"]))

    def test_without_a_fader_to_ask_a_terminal_says_what_it_heard_and_how_to_compare_it(self):
        now = self.status("terminal")
        now.radio.bursts.add(centre=5, noise=0.5, response=[1.0, 2.0])
        self.assertIsNone(one_station.fader_of("terminal", now, now, None, None))
        output = one_station.result("terminal", now, now) | {
            "bursts_heard": one_station.heard(now),
            "verdict": {"valid": True, "reasons": []},
        }
        self.assertEqual(
            output["bursts_heard"], [{"centre": 5, "noise": 0.5, "response": [1.0, 2.0]}]
        )
        self.assertIn(
            "1 bursts of the base station heard, not compared", one_station.screen(output)
        )
        self.assertIn("./openwip fader compare CONFIG FILE", one_station.screen(output))


if __name__ == "__main__":
    unittest.main()
