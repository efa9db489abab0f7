# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity, sums and verdict from hand-made status messages."""

import dataclasses
import pathlib
import sys
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_schema import control_pb2 as pb
from openwip_schema import telemetry_pb2

from openwip_cli.figures import capacities, checks, conservation, report, timing
from openwip_cli.figures.facts import Core, Facts, Lock, Waiting
from openwip_cli.measure.applications import heard
from openwip_cli.messages.control import TelemetryWatch


def reasons(**known):
    return checks.evaluate(Facts(**known))["reasons"]


def direction(came_in, delivered, queued=(0, 0), **dropped):
    d = pb.Direction()

    def put(message, count):
        message.packets, message.bytes = count

    put(getattr(d, "in"), came_in)
    put(d.delivered, delivered)
    put(d.queued, queued)
    for reason, count in dropped.items():
        put(d.dropped.add(reason=reason).count, count)
    return d


class Capacity(unittest.TestCase):
    def test_256_qam_on_all_bins_is_table_5_2_less_the_crc_less_the_headers(self):
        c = capacities.capacity(25, 8, [0] * 9, 1448, packing=True)
        self.assertEqual(c["payload_bps"], 32.4e6)
        self.assertEqual(c["profile_bps"], 1500 * 25 * 840)
        self.assertAlmostEqual(c["tcp_payload_bps"], 31.5e6 * 1448 / 1500)
        self.assertLess(1 - c["profile_bps"] / c["payload_bps"], 0.03)

    def test_adaptive_takes_the_mean_of_the_frames_sent(self):
        c = capacities.capacity(10, "adaptive", [0, 0, 50, 0, 0, 0, 150, 0, 0], 1448, packing=True)
        self.assertEqual(c["bits_per_symbol"], 5)
        self.assertEqual(c["profile_bps"], 1500 * 10 * (540 - 24))

    def test_adaptive_without_frames_is_nothing(self):
        c = capacities.capacity(10, "adaptive", [0] * 9, 1448, packing=True)
        self.assertEqual((c["payload_bps"], c["profile_bps"], c["tcp_payload_bps"]), (0, 0, 0))

    def test_an_802_11_cell_takes_the_turns_that_its_model_takes(self):
        # Microseconds by hand: tests/unit/mac/test_wlan_cell.cpp
        for control, short, rts, us in (
            (1, False, False, 1984),
            (1, False, True, 2660),
            (11, True, False, 1691),
            (11, True, True, 1929),
            (2, False, False, 1928),
        ):
            c = capacities.wlan_capacity(11, control, short, rts, 1448)
            self.assertAlmostEqual(c["profile_bps"], 12000e6 / us)

    def test_the_capacity_of_several_bearers_is_said_to_be_that_of_all(self):
        for users, words in (
            (0, "profile = the rate of the bearer; TCP"),
            (3, "profile = the rate of all 3 bearers together; TCP"),
        ):
            c = capacities.bearer_capacity(384e3, 1448, users)
            self.assertIn(words, c["how"][0])
            self.assertAlmostEqual(c["tcp_payload_bps"], 384e3 * 1448 / 1500)

    def test_without_packing_a_packet_fills_whole_frames(self):
        packed = capacities.capacity(25, 8, [0] * 9, 1448, packing=True)
        alone = capacities.capacity(25, 8, [0] * 9, 1448, packing=False)
        # 12000 bits in frames of 840: 15 frames of 12600 bits
        self.assertAlmostEqual(alone["tcp_payload_bps"] / packed["tcp_payload_bps"], 12000 / 12600)


class Screen(unittest.TestCase):
    def test_a_link_that_does_not_count_frames_by_their_retransmissions_is_not_said_to_have_none(
        self,
    ):
        link = {
            "goodput_bps": 1e6,
            "frames_sent": 5,
            "frames_failed": 2,
            "frame_error_rate": 0.4,
            "frames_given_up": 0,
            "modulation_histogram": [0] * 9,
            "retransmission_histogram": [3, 2],
        }
        self.assertIn("0: 3, 1: 2", report.link_lines(link)[-1])
        self.assertNotIn("ARQ", report.link_lines(link | {"retransmission_histogram": [0, 0]})[-1])
        self.assertIn(
            "retransmissions: none",
            report.link_lines(link | {"frames_sent": 0, "retransmission_histogram": [0]})[-1],
        )


class Sums(unittest.TestCase):
    def setUp(self):
        self.base, self.terminal = pb.MacStatus(), pb.MacStatus()
        self.base.downlink.CopyFrom(direction((10, 1000), (9, 900), queue_full=(1, 100)))
        self.terminal.downlink.CopyFrom(direction((9, 900), (9, 900)))
        self.terminal.uplink.CopyFrom(direction((5, 50), (5, 50)))
        self.base.uplink.CopyFrom(direction((5, 50), (5, 50)))
        self.tun = {
            "base": {"to_macd": (10, 1000), "from_macd": (5, 50)},
            "terminal": {"to_macd": (5, 50), "from_macd": (9, 900)},
        }

    def wrong(self):
        return reasons(
            sums=conservation.sums_of_paths(
                conservation.paths_of(self.base, self.terminal), self.tun
            )
        )

    def test_sums_that_match_give_no_reason(self):
        self.assertEqual(self.wrong(), [])

    def test_a_multicast_packet_is_read_once_and_sent_to_each_terminal(self):
        self.tun["base"]["to_macd"] = (8, 800)
        self.assertEqual(len(self.wrong()), 1)
        self.base.downlink.copies.packets, self.base.downlink.copies.bytes = 2, 200
        self.assertEqual(self.wrong(), [])

    def test_every_single_count_that_is_off_by_one_packet_or_byte_is_found(self):
        for status, name in ((self.base, "base"), (self.terminal, "terminal")):
            for way in ("downlink", "uplink"):
                for part in ("in", "delivered", "queued"):
                    for what in ("packets", "bytes"):
                        with self.subTest(f"{name} {way} {part} {what}"):
                            count = getattr(getattr(status, way), part)
                            setattr(count, what, getattr(count, what) + 1)
                            self.assertNotEqual(self.wrong(), [])
                            setattr(count, what, getattr(count, what) - 1)

    def test_every_kernel_count_that_is_off_is_found(self):
        for station in self.tun:
            for way in self.tun[station]:
                with self.subTest(f"{station} {way}"):
                    before = self.tun[station][way]
                    self.tun[station][way] = (before[0] + 1, before[1])
                    self.assertEqual(len(self.wrong()), 1)
                    self.tun[station][way] = before

    def test_a_packet_that_vanishes_on_the_air_is_found(self):
        self.terminal.downlink.CopyFrom(direction((8, 800), (8, 800)))
        self.tun["terminal"]["from_macd"] = (8, 800)
        self.assertTrue(any("TUN to TUN" in r for r in self.wrong()))

    def test_a_packet_that_is_still_queued_is_named(self):
        self.base.downlink.CopyFrom(direction((10, 1000), (9, 900), (1, 100)))
        self.assertEqual(self.wrong(), ["sums: downlink not drained, 1 packets, 100 bytes left"])

    def test_a_packet_given_up_counts_once_though_both_ends_saw_it(self):
        self.base.downlink.CopyFrom(
            direction((10, 1000), (9, 900), retransmissions_exceeded=(1, 100))
        )
        self.terminal.downlink.CopyFrom(direction((10, 1000), (9, 900), lost_frame=(1, 100)))
        self.assertEqual(self.wrong(), [])

    def test_a_packet_given_up_that_arrived_after_all_is_reported_as_such(self):
        self.base.downlink.CopyFrom(
            direction((10, 1000), (9, 900), retransmissions_exceeded=(1, 100))
        )
        self.terminal.downlink.CopyFrom(direction((10, 1000), (10, 1000)))
        self.tun["terminal"]["from_macd"] = (10, 1000)
        self.assertEqual(self.wrong(), [])
        paths = conservation.paths_of(self.base, self.terminal)
        self.assertEqual(paths["downlink"].report()["delivered_although_given_up"], 1)

    def test_more_delivered_than_given_up_explains_is_found(self):
        self.terminal.downlink.CopyFrom(direction((10, 1000), (10, 1000)))
        self.tun["terminal"]["from_macd"] = (10, 1000)
        self.assertTrue(any("TUN to TUN" in r for r in self.wrong()))

    def test_the_whole_direction_is_conserved_in_the_report(self):
        r = conservation.paths_of(self.base, self.terminal)["downlink"].report()
        self.assertEqual(
            (r["in"], r["delivered"], r["queued"], r["dropped"]), (10, 9, 0, {"queue_full": 1})
        )
        self.assertEqual(
            r["bytes"], {"in": 1000, "delivered": 900, "queued": 0, "dropped": {"queue_full": 100}}
        )


class Verdict(unittest.TestCase):
    def realtime(self, air_s, wall_s, behind=0, speed=1.0):
        before = pb.AirStatus(speed=speed)
        after = pb.AirStatus(
            speed=speed,
            now=int(air_s * 7.68e6),
            wall_seconds=wall_s,
            slots=int(air_s * 1500),
            slots_behind=behind,
            pacing_limit_us=10000,
        )
        return timing.realtime_of(before, after, {"late": 0})

    def test_a_run_that_keeps_the_wall_clock_is_valid(self):
        for air, wall, speed in ((10, 10, 1), (10, 10.04, 1), (10, 9.96, 1), (5, 10, 0.5)):
            self.assertEqual(reasons(pacing=self.realtime(air, wall, speed=speed)), [])

    def test_a_run_that_is_too_slow_or_too_fast_is_invalid(self):
        for air, wall, speed in ((10, 10.06, 1), (10, 9.94, 1), (10, 10, 0.5)):
            self.assertEqual(len(reasons(pacing=self.realtime(air, wall, speed=speed))), 1)

    def test_more_than_one_percent_of_slots_behind_is_invalid(self):
        self.assertEqual(reasons(pacing=self.realtime(10, 10, behind=150)), [])
        self.assertEqual(len(reasons(pacing=self.realtime(10, 10, behind=151))), 1)

    def test_more_than_one_percent_of_packets_behind_is_invalid_but_for_one(self):
        """The report of a link whose beats, 10 ms apart, were all in time."""
        before = pb.AirStatus(released=100, released_behind=90)
        for packets, behind, words in (
            (4000, 40, []),
            (4000, 41, ["pacing: 41 of 4000 packets were released more than 2 ms late (limit 1%)"]),
            (5, 1, []),
            (5, 2, ["pacing: 2 of 5 packets were released more than 2 ms late (limit 1%)"]),
            (0, 0, []),
        ):
            after = pb.AirStatus(
                speed=1,
                now=76_800_000,
                wall_seconds=10,
                slots=1000,
                pacing_limit_us=2000,
                released=100 + packets,
                released_behind=90 + behind,
            )
            self.assertEqual(reasons(pacing=timing.realtime_of(before, after, {"late": 0})), words)

    def test_one_slot_in_a_thousand_may_be_late_where_the_clock_runs_freely_and_none_where_it_waits(
        self,
    ):
        def late(clock, **missed):
            none = {"late": 0, "underflows": 0, "late_plans": 0, "left_out": 0}
            after = pb.AirStatus(speed=1, now=76_800_000, wall_seconds=10, slots=15000, clock=clock)
            return reasons(slots=timing.realtime_of(pb.AirStatus(speed=1), after, none | missed))

        self.assertEqual(late("lockstep"), [])
        self.assertEqual(
            late("lockstep", underflows=1),
            ["late: 1 slots missed their time: 1 the radio ran out of samples"],
        )
        self.assertEqual(late("realtime", late=5, left_out=10), [])
        self.assertEqual(
            late("realtime", late=5, late_plans=1, left_out=10),
            [
                "late: 16 slots of 15000 (limit 0.1%) missed their time: 5 too late at the radio, 1"
                " not planned in time, 10 not made in time"
            ],
        )

    def test_a_page_that_comes_from_the_disk_is_a_reason(self):
        faults = {
            "air": {"minor": 30, "major": 0},
            "base.macd": {"minor": 5, "major": 2},
            "terminal.radio": {"minor": 1, "major": 1},
        }
        self.assertEqual(
            reasons(page_faults=faults),
            [
                "page faults: base.macd waited 2 times, terminal.radio waited 1 times for a page"
                " from the disk"
            ],
        )
        self.assertEqual(reasons(page_faults={"air": faults["air"]}), [])
        self.assertEqual(reasons(page_faults={}), [])

    def test_a_stall_of_the_machine_is_named_in_the_reason_and_excuses_nothing(self):
        def late(left_out, **found):
            after = pb.AirStatus(
                speed=1, now=76_800_000, wall_seconds=10, slots=15000, clock="realtime"
            )
            realtime = timing.realtime_of(pb.AirStatus(speed=1), after, {"left_out": left_out})
            return reasons(slots=realtime | {"standstills": {"least_ms": 2.0} | found})

        stood = {"count": 3, "longest_ms": 14.23, "together_ms": 21.6}
        self.assertEqual(late(15, **stood), [])
        missed = "late: 16 slots of 15000 (limit 0.1%) missed their time: 16 not made in time"
        self.assertEqual(
            late(16, **stood),
            [
                f"{missed}; the machine stalled for 2 ms or more 3 times, 14.2 ms at longest,"
                " 22 ms together"
            ],
        )
        self.assertEqual(
            late(16, count=0, longest_ms=0.0, together_ms=0.0),
            [f"{missed}; the machine did not stall for 2 ms or more"],
        )

    def test_a_slot_path_that_the_kernel_held_back_is_a_reason_before_those_that_follow_from_it(
        self,
    ):
        stood = {"least_ms": 2.0, "count": 13, "longest_ms": 49.04, "together_ms": 300.0}
        held, none = (
            {"held_back": {"count": n, "longest_ms": 49.04 if n else 0.0, "together_ms": 300.0}}
            for n in (13, 0)
        )

        def evaluated(late, used=0.5, found=None, **more):
            realtime = timing.realtime_of(
                pb.AirStatus(speed=1),
                pb.AirStatus(
                    speed=1, now=76_800_000, wall_seconds=10, slots=15000, clock="realtime"
                ),
                {"left_out": late},
            )
            core = Core(stood | (found or none), {"used": used, "allowed": 0.95})
            realtime["standstills"] = core.stalls
            return reasons(pacing=realtime, slots=realtime, core=core, **more)

        found = evaluated(16, 0.97, held)
        self.assertEqual(len(found), 2)
        self.assertTrue(
            found[0].startswith(
                "real-time throttling: the kernel held the slot path back 13 times, 49.0 ms at"
                " longest, while it was ready; it used 97% of its core, of which real-time"
                " processes may have 95%; remedy: "
            ),
            found[0],
        )
        self.assertIn("the kernel held the slot path back 13 of these times", found[1])
        self.assertIn("may have been held back: it used 91% of its core", evaluated(16, 0.91)[0])
        self.assertTrue(evaluated(16, 0.90)[0].startswith("late: "))
        self.assertIn("real-time throttling: ", evaluated(0, 0.5, held, lock=Lock(1))[0])
        # It excuses nothing, and is no failure by itself.
        self.assertEqual(evaluated(15, 0.97, held), [])

    def test_a_faded_signal_that_is_clipped_is_another_channel(self):
        for clipped, says in (
            (7680, []),
            (
                7681,
                [
                    "clipping: 7681 of 76800000 samples of the faded signal were beyond full scale"
                    " (limit 0.0001): lower the power before the channel"
                ],
            ),
        ):
            after = pb.AirStatus(
                speed=1, now=76_800_000, wall_seconds=10, slots=15000, clipped=clipped
            )
            self.assertEqual(
                reasons(clipped=timing.realtime_of(pb.AirStatus(speed=1), after, {"late": 0})),
                says,
            )

    def test_one_reason_makes_it_invalid_and_the_check_is_named(self):
        verdict = checks.evaluate(Facts(latest_ms=3.0, failed=["a", "b"], waiting=Waiting(None)))
        self.assertEqual(
            verdict,
            {
                "valid": False,
                "reasons": ["traffic: a", "traffic: b"],
                "checks": {"pacing": True, "applications": True, "traffic": False},
                "findings": [
                    {"check": "traffic", "reason": f"traffic: {w}", "figures": {"what": w}}
                    for w in "ab"
                ],
            },
        )
        self.assertTrue(checks.evaluate(Facts(latest_ms=3.0))["valid"])

    def test_what_is_known_later_is_evaluated_with_the_rest(self):
        first = checks.evaluate(Facts(latest_ms=30.4, failed=[]))
        both = checks.evaluate_also(first, Facts(failed=["a"], page_faults={}))
        self.assertEqual(both["checks"], {"pacing": False, "traffic": False, "page_faults": True})
        self.assertEqual(
            both["reasons"], ["pacing: a packet left 30 ms late (limit 20 ms)", "traffic: a"]
        )
        self.assertEqual(both["findings"][0]["figures"], {"latest_ms": 30.4, "limit_ms": 20.0})
        self.assertTrue(checks.failed(both, checks.Name.PACING, checks.Name.LOCK))
        self.assertFalse(checks.failed(both, checks.Name.PAGE_FAULTS, checks.Name.LOCK))
        self.assertFalse(checks.evaluate_also(first, Facts(failed=[]))["valid"])

    def test_a_check_has_a_number_of_the_schema_and_facts_that_there_are(self):
        names = [name.removeprefix("CHECK_").lower() for name in telemetry_pb2.Check.keys()]
        self.assertEqual(names, ["unspecified", *(name.value for name in checks.Name)])
        known = {f.name for f in dataclasses.fields(Facts)}
        for check in checks.CHECKS:
            self.assertTrue(check.needs and set(check.needs) <= known, check)
        self.assertEqual({check.name for check in checks.CHECKS}, set(checks.Name))
        self.assertEqual({fact for c in checks.CHECKS for fact in c.needs}, known)

    def test_the_checks_of_a_wired_network_are_the_same(self):
        down = pb.MacStatus(downlink=direction((2, 20), (1, 10)), uplink=direction((0, 0), (0, 0)))
        path = conservation.paths_of(down, pb.MacStatus())
        wired = Facts(sums=conservation.sums_of_paths(path, None, drained=False))
        found = checks.evaluate(Facts(wired=wired))
        self.assertEqual(found["checks"], {"wired": False})
        self.assertEqual(
            found["reasons"],
            [
                "wired: sums: downlink at the base, in against delivered + queued + dropped:"
                " 2 packets, 20 bytes against 1 packets, 10 bytes"
            ],
        )
        self.assertEqual(found["findings"][0]["figures"]["check"], "sums")


class Telemetry(unittest.TestCase):
    """The verdict's message about it; the reader below has its tests in tests/unit/cli."""

    def setUp(self):
        self.watch = TelemetryWatch({"base": "ipc:///tmp/openwip-nobody-binds-this"})
        self.watch.end()

    def take(self, *sequences):
        for n in sequences:
            message = telemetry_pb2.Telemetry(version=1, sequence=n, mac={})
            self.watch._reader.take("base", [b"status", message.SerializeToString()])

    def test_a_gap_is_a_loss(self):
        self.take(7, 8, 9)
        self.assertEqual(reasons(heard=heard(self.watch)), [])
        self.take(12)
        self.assertEqual(reasons(heard=heard(self.watch)), ["telemetry: 2 messages of base lost"])

    def test_a_watch_that_could_not_go_on_is_a_reason(self):
        self.take(7, 8)
        with unittest.mock.patch.object(
            self.watch._reader, "poll", side_effect=OSError(24, "Too many open files")
        ):
            self.watch._ending.clear()
            self.watch._run()
        self.assertEqual(
            reasons(heard=heard(self.watch)),
            ["telemetry: not watched to the end: Too many open files"],
        )

    def test_a_repeated_number_is_a_fault(self):
        self.take(7, 7)
        self.assertEqual(reasons(heard=heard(self.watch)), ["telemetry: 1 messages of base lost"])

    def test_garbage_is_a_reason(self):
        self.take(1)
        self.watch._reader.take("base", [b"one frame"])
        self.assertEqual(
            reasons(heard=heard(self.watch)), ["telemetry: 1 messages of base do not parse"]
        )

    def test_silence_is_a_reason(self):
        self.assertEqual(reasons(heard=heard(self.watch)), ["telemetry: nothing came from base"])


if __name__ == "__main__":
    unittest.main()
