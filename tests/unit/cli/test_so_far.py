# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict so far, from hand-made statuses; the share of waiting and its rule; who is an
application."""

import cmath
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import zmq
from openwip_schema import control_pb2 as control
from openwip_schema import telemetry_pb2

from openwip_cli.air import SAMPLE_RATE
from openwip_cli.cell import keeper, running
from openwip_cli.figures import checks, conservation, facts, through_radios, timing
from openwip_cli.figures.facts import Heard
from openwip_cli.machine import system
from openwip_cli.measure import applications, judge
from openwip_cli.messages import telemetry

YAML = "link: {bins: 10, modulation: 4, profile: radio}\n"


def statuses(
    second, behind=0, late=0, losses=0, locked=True, queued=0, in_flight=0, slots=None, pace=1.0
):
    """`second` of air time since the clock started; one packet of 100 bytes each millisecond."""
    air = control.AirStatus(
        now=int(second * SAMPLE_RATE),
        wall_seconds=second / pace,
        speed=1.0,
        slots=int(second * 1500) if slots is None else slots,
        slots_behind=behind,
        late=late,
        pacing_limit_us=10000,
    )
    base = control.MacStatus(slot=int(second * 1500), effective_yaml=YAML)
    terminal = control.MacStatus(slot=int(second * 1500), role="terminal")
    terminal.radio.locked, terminal.radio.mode, terminal.radio.lock_losses = (
        locked,
        "locked",
        losses,
    )
    n = int(second * 1000)
    base.base.payload_bits_acknowledged = n * 800
    base.base.frames_sent = n
    base.base.modulation_histogram.extend([0, 0, 0, 0, n])

    def put(count, packets):
        count.packets, count.bytes = packets, 100 * packets

    put(getattr(base.downlink, "in"), n + queued)
    put(base.downlink.queued, queued)
    put(base.downlink.delivered, n)
    put(getattr(terminal.downlink, "in"), n - in_flight)
    put(terminal.downlink.delivered, n - in_flight)
    return facts.Statuses(air, base, terminal)


def tun_of(s):
    down = (s.base.downlink.delivered.packets, s.base.downlink.delivered.bytes)
    return {
        "base": {"to_macd": down, "from_macd": (0, 0)},
        "terminal": {"to_macd": (0, 0), "from_macd": down},
    }


def response(number, turn=0.0, delay=0.0, level=1.0, noise=0.0):
    """The bursts of two paths, each with values of its own; then as a terminal receives them."""
    pick = random.Random(number)
    first, second = ((pick.gauss(0, 1) + 1j * pick.gauss(0, 1)) for _ in range(2))
    values = [
        level * (first + second * cmath.exp(-0.9j * k)) * cmath.exp(1j * (turn + delay * k))
        + noise * (pick.gauss(0, 1) + 1j * pick.gauss(0, 1))
        for k in range(32)
    ]
    return [part for v in values for part in (v.real, v.imag)]


def bursts(s, spoil=lambda commanded, heard: None):
    """Eight that come through, on a clock of its own and with one of the fader's before them."""
    at = [5120 * slot for slot in (0, 12, 25, 39, 54, 70, 87, 105)]
    commanded = [
        {"centre": n, "response": response(i), "snr_db": 20.0, "not_judged": ""}
        for i, n in enumerate(at)
    ]
    heard = [{"centre": -30000, "response": response(9)}] + [
        {
            "centre": n + 777_123 + 40 * (i % 3),
            "response": response(i, 1 + i, 0.1 - 0.02 * i, 0.4, 0.01),
            "noise": 2e-4,
        }
        for i, n in enumerate(at)
    ]
    spoil(commanded, heard)
    for c in commanded:
        one = s.air.bursts.add(
            to="terminal", snr_db=c["snr_db"], not_judged=c["not_judged"], **{"from": "base"}
        )
        one.burst.centre = c["centre"]
        one.burst.response.extend(c["response"])
    for h in heard:
        s.terminal.radio.bursts.add(**h)


def swap_two(commanded, heard):
    commanded[1]["response"], commanded[2]["response"] = (
        commanded[2]["response"],
        commanded[1]["response"],
    )


def louder(commanded, heard):
    heard[4]["response"] = [2 * v for v in heard[4]["response"]]


class SoFar(unittest.TestCase):
    def setUp(self):
        self.so_far = judge.SoFar("demo")

    def verdict(self, *taken, heard=Heard(), waiting=0.0, tun=None):
        for s in taken:
            self.so_far.take(s)
        return self.so_far.verdict(heard, waiting, tun)

    def test_a_fader_that_loses_samples_or_makes_another_channel_is_not_valid(self):
        def after(lost=0, through=(), gone=(), clipped=0, **sounded):
            self.setUp()
            two = [statuses(1), statuses(2)]
            two[1].air.clipped = clipped
            for s in two:
                s.air.delay_samples, s.air.lost_samples, s.air.least_lead_us = 10240, lost, -1110
                s.air.fader_radios.MergeFrom(control.RadioEvents(**dict(gone)))
                # of all radios
                s.air.late, s.air.underflows, s.air.overflows = (
                    dict(gone).get("late", 0),
                    dict(gone).get("underflows", 0),
                    9,
                )
                bursts(s, *through)
                if sounded:
                    s.air.soundings.add(to="terminal", limit_db=-25, **{"from": "base"}, **sounded)
            return list(self.verdict(*two).reason)

        self.assertEqual(after(residual_db=-30), [])
        self.assertEqual(after(residual_db=0, not_judged="impairments of a path"), [])
        self.assertEqual(
            after(lost=7, residual_db=-30), ["fader: 7 samples lost at its receivers (0 overflows)"]
        )
        too_late = (
            "fader: samples left too late and were lost at its transmitters ({} late, {}"
            " underflows; -1.11 ms left at worst): a longer delay"
        )
        self.assertEqual(after(gone={"late": 1}, residual_db=-30), [too_late.format(1, 0)])
        self.assertEqual(after(gone={"underflows": 2}, residual_db=-30), [too_late.format(0, 2)])
        self.assertEqual(
            after(gone={"overflows": 2}, residual_db=-30),
            ["fader: 0 samples lost at its receivers (2 overflows)"],
        )
        self.assertEqual(
            after(gone={"silences": 1}, residual_db=-30),
            ["fader: its receivers were silent 1 times, for a second and more"],
        )
        self.assertEqual(after(clipped=768, residual_db=-30), [])  # of a second
        self.assertRegex(
            after(clipped=769, residual_db=-30)[0], "^clipping: 769 of 7680000 samples"
        )
        self.assertEqual(
            after(gone={"stalls": 3}, residual_db=-30),
            ["fader: its transmitters took nothing for a second, 3 times"],
        )
        self.assertEqual(
            after(residual_db=-24),
            [
                "fader: from base to terminal the channel is -24.0 dB off the commanded one (limit"
                " -25.0 dB)"
            ],
        )
        self.assertEqual(after(residual_db=float("nan"))[0][:20], "fader: from base to ")
        self.assertEqual(after(), ["fader: its channel was not sounded"])
        off = (
            "fader: through the radios the channel is [-0-9.]+ dB off the commanded one .limit"
            " -2[0-9.]+ dB"
        )
        for spoil, reason in (
            (swap_two, off),
            (lambda c, h: c[3].update(response=c[2]["response"]), off),
            (louder, off),
            (lambda c, h: c.clear(), "fader: the base station's bursts did not come to it"),
            (lambda c, h: h.clear(), "fader: through the radios 0 bursts of 8 were heard"),
            (
                lambda c, h: h.__delitem__(slice(6)),
                "fader: through the radios 3 bursts of 8 were heard",
            ),
        ):
            (said,) = after(residual_db=-30, through=(spoil,))
            self.assertRegex(said, reason)

        def said_to_the_monitor(spoil):
            after(residual_db=-30, through=(spoil,))
            return self.so_far.verdict(Heard(), 0.0).through_radios

        good, off, dumb = (
            said_to_the_monitor(s)
            for s in (lambda c, h: None, louder, lambda c, h: [b.update(snr_db=2.0) for b in c])
        )
        self.assertEqual(
            (good.bursts, good.heard, good.not_judged, good.wrong, off.wrong),
            (8, 8, "", False, True),
        )
        self.assertTrue(good.residual_db < good.limit_db < off.residual_db, (good, off))
        self.assertEqual(
            (dumb.not_judged, dumb.HasField("residual_db"), dumb.wrong),
            ("the channel is below its noise", False, False),
        )
        for spoil in (
            lambda c, h: h.__delitem__(slice(5)),
            lambda c, h: [b.update(snr_db=2.0) for b in c] + [h.clear()],
            lambda c, h: [b.update(not_judged="impairments of a path") for b in c],
        ):
            self.assertEqual(after(residual_db=-30, through=(spoil,)), [])

    def test_the_channel_of_a_transmitter_is_judged_by_its_bursts_too(self):
        def after(spoil=lambda c, h: None):
            self.setUp()
            two = [statuses(1), statuses(2)]
            for s in two:
                s.air.fader_paths.add(to="terminal", **{"from": "base"})
                bursts(s, spoil)
            found = self.verdict(*two)
            return list(found.reason), found.through_radios

        reasons, through = after()
        self.assertEqual((reasons, through.bursts, through.heard, through.wrong), ([], 8, 8, False))
        (said,), through = after(swap_two)
        self.assertRegex(
            said, "^transmitter: through the radios the channel is .* off the commanded one"
        )
        self.assertTrue(through.wrong)
        self.assertEqual(
            after(lambda c, h: c.clear())[0],
            ["transmitter: the base station's bursts did not come to it"],
        )
        self.assertEqual(
            after(lambda c, h: h.clear())[0],
            ["transmitter: through the radios 0 bursts of 8 were heard"],
        )
        self.assertEqual(
            list(self.verdict(statuses(3), statuses(4)).reason),
            [],
            "a cell without such a channel has none",
        )

    def test_of_several_starts_of_a_base_station_that_one_is_meant_which_the_terminal_heard(self):
        def found(first, second):
            s = statuses(1)
            bursts(
                s,
                lambda c, h: c.__setitem__(
                    slice(None),
                    [
                        b
                        | {
                            "centre": b["centre"] + shift,
                            "response": b["response"] if same else response(100 + i),
                        }
                        for shift, same in ((0, first), (50_000_000, second))
                        for i, b in enumerate(c)
                    ],
                ),
            )
            return through_radios.compare(s.air.bursts, s.terminal.radio.bursts)

        for starts in ((True, False), (False, True)):
            self.assertEqual(
                (found(*starts)["bursts"], found(*starts)["heard"], found(*starts)["wrong"]),
                (8, 8, []),
            )
        self.assertIn("dB off the commanded one", found(False, False)["wrong"][0])

    def test_an_attenuator_in_the_cable_that_stops_is_a_reason(self):
        looks = judge.Judge.__new__(judge.Judge)
        looks.so_far, looks.attenuator = self.so_far, mock.Mock()
        for said, reasons in (
            (control.AttenuatorStatus(state="armed", steps=9), []),
            (control.AttenuatorStatus(state="playing", steps=9), []),
            (
                control.AttenuatorStatus(state="playing", steps=9, silent_s=2),
                ["attenuator: it has not answered for 2.0 s"],
            ),
            (judge.control.NoAnswer("no"), ["attenuator: its process does not answer"]),
        ):
            looks.attenuator.status = mock.Mock(side_effect=[said])
            looks.look_at_attenuator()
            self.assertEqual(list(self.verdict(statuses(1), statuses(2)).reason), reasons)

    def test_what_the_keeper_noted_and_cannot_be_read_is_no_clean_sheet(self):
        looks = judge.Judge.__new__(judge.Judge)
        with tempfile.TemporaryDirectory() as folder:
            looks.so_far, looks.cell = self.so_far, mock.Mock(noted=pathlib.Path(folder, "noted"))
            self.assertEqual((looks.read_noted(), list(self.so_far.noted.lines)), ([], []))
            looks.cell.noted.write_bytes(b"0\nair was stopped\n\xff\n")
            looks.cell.noted.chmod(0o600)
            self.assertEqual(
                (looks.read_noted(), self.so_far.noted.lines[0]), ([], "air was stopped")
            )
            looks.cell.noted.unlink()
            looks.cell.noted.mkdir()
            (reason,) = looks.read_noted()
            self.assertEqual(
                (
                    reason.startswith(f"{folder}/noted cannot be read: "),
                    self.so_far.noted.lines[0],
                ),
                (True, "air was stopped"),
            )

    def test_before_the_terminal_has_locked_nothing_is_valid(self):
        v = self.verdict(statuses(1, locked=False), statuses(2, locked=False))
        self.assertFalse(v.valid)
        self.assertIn("has not locked yet", v.reason[0])
        v = self.so_far.verdict(Heard({"base": 0}, silent=["base"]), 0.0)
        self.assertEqual(v.reason[1:], ["control: base does not answer"])
        self.assertEqual(list(v.check), [telemetry_pb2.CHECK_START, telemetry_pb2.CHECK_TELEMETRY])

    def test_a_good_run_is_valid_and_packets_under_way_are_no_fault(self):
        v = self.verdict(statuses(1), statuses(5, queued=7, in_flight=3))
        self.assertTrue(v.valid, v.reason)
        self.assertEqual((v.seconds, v.command), (4, "demo"))
        self.assertEqual(v.real_time_factor, 1)

    def test_goodput_and_capacity_are_of_the_last_interval(self):
        v = self.verdict(statuses(1), statuses(2), statuses(3))
        self.assertAlmostEqual(v.goodput_bps, 800e3)
        self.assertAlmostEqual(v.capacity_bps, 1500 * 10 * (108 * 4 - 24))

    def test_every_rule_of_the_final_verdict_is_a_rule_so_far(self):
        for reason, faulty, extra in (
            ("pacing: real-time factor", statuses(9, pace=0.9), {}),
            ("were released more", statuses(9, behind=1000), {}),
            ("late: 2 slots", statuses(9, late=2), {}),
            ("lock: lost 1 times", statuses(9, losses=1), {}),
            (
                "telemetry: 3 messages",
                statuses(9),
                {"heard": Heard(lost={"base": 3})},
            ),
            ("waited for a processor core 90%", statuses(9), {"waiting": 0.9}),
        ):
            with self.subTest(reason):
                self.so_far = judge.SoFar("demo")
                v = self.verdict(statuses(1), faulty, **extra)
                self.assertFalse(v.valid)
                self.assertIn(reason, "; ".join(v.reason))

    def test_what_the_cell_stood_on_counts_from_the_beginning_of_the_measured_time(self):
        self.so_far.noted.add("base.macd was stopped by a debugger for 1.0 s")
        self.assertTrue(self.verdict(statuses(1), statuses(5)).valid)
        self.so_far.noted.add("air was stopped by a debugger for 2.0 s")
        self.assertEqual(
            list(self.verdict(statuses(9)).reason),
            ["surroundings: air was stopped by a debugger for 2.0 s"],
        )
        self.assertTrue(self.verdict(statuses(10, slots=10), statuses(12, slots=3010)).valid)

    def test_of_many_things_that_were_noted_the_last_are_kept_and_all_are_counted(self):
        noted = keeper.Noted()
        for i in range(5000):
            noted.add(f"base.macd was stopped {i}")
        self.assertEqual((len(noted), len(noted.lines)), (5000, keeper.Noted.MOST))
        read = keeper.Noted(noted.text())
        self.assertEqual((len(read), read.lines), (5000, noted.lines))
        self.so_far.noted = read
        self.assertTrue(self.verdict(statuses(1), statuses(5)).valid)
        read.add("air was stopped by a debugger for 2.0 s")
        self.assertEqual(
            list(self.verdict(statuses(9)).reason),
            ["surroundings: air was stopped by a debugger for 2.0 s"],
        )
        self.assertEqual(len(read.since(0)), keeper.Noted.MOST)

    def test_an_end_that_does_not_add_up_is_seen_at_once(self):
        broken = statuses(9)
        broken.base.downlink.delivered.packets -= 1
        v = self.verdict(statuses(1), broken)
        self.assertIn("sums: downlink at the base", v.reason[0])

    def test_packets_lost_between_the_ends_are_seen_when_the_link_stands_still(self):
        lost = statuses(9, in_flight=1)
        self.verdict(statuses(1), lost)
        self.assertEqual(self.so_far.still, 0)
        v = self.verdict(lost, lost, tun=tun_of(lost))
        self.assertGreaterEqual(self.so_far.still, judge.STANDING_STILL)
        self.assertIn("sums: downlink from TUN to TUN", "; ".join(v.reason))

    def test_a_reset_of_the_counters_begins_the_measured_time_again(self):
        self.verdict(statuses(1), statuses(5))
        self.assertTrue(self.so_far.take(statuses(6, slots=10)))
        self.assertEqual(self.verdict(statuses(8, slots=3010)).seconds, 2)

    def test_waiting_that_is_not_known_is_absent_and_no_reason(self):
        v = self.verdict(statuses(1), statuses(2), waiting=None)
        self.assertTrue(v.valid)
        self.assertFalse(v.HasField("applications_waiting"))

    def test_an_emulator_has_no_lock_to_lose(self):
        def emulated(second):
            s = statuses(second, locked=True)
            s.terminal.radio.mode = ""
            return s

        v = self.verdict(emulated(1), emulated(2))
        self.assertTrue(v.valid, v.reason)


class KernelCounts(unittest.TestCase):
    """The sums of a verdict so far against the kernel's counts, which are read now and then."""

    def setUp(self):
        self.kernel, self.reads = None, 0
        self.counts = judge.KernelCounts(self.read)
        self.so_far = judge.SoFar("emulate")

    def read(self):
        self.reads += 1
        return self.kernel

    def look(self, now, kernel, asked=True):
        """A turn of the judge; the reasons where somebody asks for the verdict."""
        self.kernel = kernel
        self.so_far.take(now)
        return (
            list(self.so_far.verdict(Heard(), 0.0, self.counts.of(now, self.so_far.still)).reason)
            if asked
            else None
        )

    def rest(self, now, kernel, looks=6):
        return [self.look(now, kernel) for _ in range(looks)]

    def test_two_looks_at_an_idle_link_with_traffic_between_them_are_both_valid(self):
        first, later = statuses(1), statuses(9)
        self.assertEqual(self.rest(first, tun_of(first)), [[]] * 6)
        for second in (3, 5, 7, 8, 9, 9, 9, 9):  # nobody listens to the topic
            self.look(statuses(second), tun_of(statuses(second)), asked=False)
        self.assertEqual(self.rest(later, tun_of(later)), [[]] * 6)

    def test_a_packet_that_comes_while_the_kernel_is_read_is_no_reason(self):
        first, later = statuses(1), statuses(9)
        self.rest(first, tun_of(first))
        self.so_far.still = 9
        # the kernel has the packet, the station not yet
        self.assertEqual(self.look(first, tun_of(later)), [])
        self.assertEqual(self.look(later, tun_of(later)), [])
        for _ in range(3):
            self.assertEqual(self.look(later, tun_of(later)), [])
        kernel_first = judge.KernelCounts(lambda: self.kernel)
        self.kernel = tun_of(later)
        self.assertIsNone(kernel_first.of(first, judge.STANDING_STILL))
        self.kernel = tun_of(first)
        self.assertIsNone(kernel_first.of(first, judge.STANDING_STILL))

    def test_what_the_kernel_counted_and_the_station_did_not_is_still_a_reason(self):
        now = statuses(5)
        reasons = self.rest(now, tun_of(statuses(6)))
        self.assertEqual(reasons[0], [])
        self.assertIn("sums: downlink, kernel to base.macd", reasons[-1][0])

    def test_a_link_that_stays_idle_costs_two_readings(self):
        now = statuses(5)
        self.rest(now, tun_of(now), looks=50)
        self.assertEqual(self.reads, 2)


class AtTheEnd(unittest.TestCase):
    """Counts of stations and kernel that belong to one moment (cell/running.py)."""

    def read(self, moments, tries=5):
        """`moments`: (the station's count, the kernel's count) as they are when the one and then
        the other is read."""
        left, now = list(moments), [None]

        def status():
            now[0] = left.pop(0) if left else now[0]
            return now[0][0]

        return running.read_at_rest(status, lambda s: s, lambda: now[0][1], lambda: None, tries)

    def test_counts_that_agree_twice_are_of_one_moment(self):
        self.assertEqual(self.read([(7, 7)]), (7, 7))
        self.assertEqual(self.read([(7, 8)]), (7, 8), "a difference that stays is one")

    def test_a_packet_between_the_two_readings_makes_them_be_read_again(self):
        self.assertEqual(self.read([(7, 8), (8, 8), (8, 8)]), (8, 8))
        self.assertEqual(self.read([(7, 7), (7, 8), (8, 8), (8, 8)]), (8, 8))

    def test_what_never_rests_is_not_compared_and_said(self):
        now, kernel = self.read([(n, n + 1) for n in range(99)])
        self.assertIsNone(kernel)
        both = statuses(5, in_flight=3)
        paths = conservation.paths_of(both.base, both.terminal)
        sums = conservation.sums_of_paths(paths, None, came_to_rest=False)
        (reason,) = checks.judge(facts.of_cell(statuses(1).air, both, sums))["reasons"]
        self.assertIn("packets still passed after the traffic had ended", reason)


class Published(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.endpoint = f"ipc://{folder.name}/keeper.telemetry"
        self.publisher = telemetry.Publisher(self.endpoint, ("verdict", "event"))
        self.addCleanup(self.publisher.close)

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_what_nobody_subscribed_to_is_not_wanted_and_a_reader_gets_it_numbered(self):
        self.assertFalse(self.publisher.wanted("verdict"))
        reader = telemetry.Reader({"keeper": self.endpoint}, ("verdict",))
        self.wait_for(lambda: self.publisher.wanted("verdict"))
        self.assertFalse(self.publisher.wanted("status"))
        for _ in range(2):
            self.publisher.publish("verdict", 7, verdict=telemetry_pb2.Verdict(valid=True))
        got = []
        self.wait_for(lambda: got.extend(reader.poll(0.1)) or len(got) == 2)
        self.assertEqual(
            [(m.telemetry.sequence, m.telemetry.slot, m.telemetry.verdict.valid) for m in got],
            [(1, 7, True), (2, 7, True)],
        )
        reader.close()
        self.wait_for(lambda: not self.publisher.wanted("verdict"))

    def test_what_is_no_subscription_changes_nothing(self):
        stranger = zmq.Context.instance().socket(zmq.XSUB)
        self.addCleanup(stranger.close, 0)
        stranger.sndhwm = 0
        stranger.connect(self.endpoint)
        for frames in ([b"nonsense"], [b"\1verdict", b"more"], [b"\1" + b"x" * 99]):
            stranger.send_multipart(frames)
        for i in range(1000):
            stranger.send(b"\1no topic %d" % i)
        stranger.send(b"\1event")
        self.wait_for(lambda: self.publisher.wanted("event"))
        self.assertFalse(self.publisher.wanted("status"))
        self.assertLessEqual(len(self.publisher._beginnings), 2)


class Waiting(unittest.TestCase):
    def test_is_a_share_of_the_life_of_the_process(self):
        self.assertEqual(timing.share_of_waiting(2.0, 4.0, 10.0), 0.5)

    def test_of_one_that_lived_shortly_it_does_not_matter(self):
        self.assertEqual(timing.share_of_waiting(0.05, 0.06, 100.0), 0.05 / 10)
        self.assertEqual(timing.share_of_waiting(0.5, 0.5, 1.0), 0.5)

    def reasons(self, share):
        return checks.judge(facts.Facts(waiting=facts.Waiting(share)))["reasons"]

    def test_the_limit_is_a_reason_and_what_is_not_known_is_none(self):
        self.assertEqual(self.reasons(None), [])
        self.assertEqual(self.reasons(checks.WAITING_LIMIT), [])
        self.assertEqual(len(self.reasons(checks.WAITING_LIMIT + 0.01)), 1)


class Applications(unittest.TestCase):
    """This process's own namespace stands for a station's."""

    def clock(self, own):
        with mock.patch.object(
            system, "namespace_file", lambda name: f"/proc/{os.getpid()}/ns/net"
        ):
            clock = applications.ApplicationClock({"base": "x"}, own)
            self.addCleanup(clock.end)
            return clock

    def test_a_process_in_the_namespace_is_one_unless_it_is_the_cells_own(self):
        child = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        child.stdout.readline()
        self.assertIn(child.pid, [a.pid for a in self.clock(lambda: [os.getpid()]).running()])
        self.assertNotIn(child.pid, [a.pid for a in self.clock(lambda: [child.pid]).running()])

    def test_what_the_kernel_counted_before_the_beginning_does_not_count(self):
        with (
            mock.patch.object(system, "namespace_file", lambda name: f"/proc/{os.getpid()}/ns/net"),
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(applications, "schedstat_of") as schedstat,
        ):
            schedstat.return_value = {"1": 50.0}
            clock = applications.ApplicationClock({"base": "x"}, lambda: ())
            self.addCleanup(clock.end)
            clock.begin()
            schedstat.return_value = {"1": 50.25, "2": 0.5}  # a second thread began
            report = clock.report()
        self.assertTrue(any(abs(s - 0.75) < 0.01 for s in report["waiting"].values()), report)
        self.assertEqual(report["worst"], max(report["waiting"].values()))

    def test_a_wait_that_has_not_ended_counts_until_the_kernel_counts_it(self):
        a = applications.Application(
            "base", "iperf3", 1, 0, first_s=0.0, last_s=0.0, threads={"1": 5.0}
        )
        a.look(0.5, {"1": 5.1}, {"1": b"7"})
        self.assertAlmostEqual(a.waited_s, 0.1)
        a.look(1.0, {"1": 5.1}, {"1": b"7"})  # ready, and not a step further
        a.look(1.5, {"1": 5.1}, {"1": b"7"})
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.0)
        a.look(2.0, {"1": 6.4}, {"1": b"8"})  # it ran; the kernel counts 1.3 s
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.3)
        a.look(2.5, {"1": 6.4}, {})  # it sleeps
        a.look(3.0, {"1": 6.4}, {})
        self.assertAlmostEqual(a.waited_s, 0.1 + 1.3)

    def ended(self, clock, n, name, waited=0.1):
        """`n` that lived for a second each have ended."""
        for i in range(n):
            clock._now = {
                (i, 0): applications.Application(
                    "base", name(i), i, 0, first_s=0.0, last_s=1.0, threads={}, ended_s=waited
                )
            }
            clock._scan()

    def test_however_many_have_ended_their_sums_are_kept_and_not_they(self):
        with (
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(system, "pids", list),
        ):
            clock = self.clock(lambda: ())
            clock.begin()
            self.ended(clock, 1000, lambda i: "curl")
            few = len(pickle.dumps(clock._ended))
            self.ended(clock, 4000, lambda i: "curl")
            self.assertEqual(len(pickle.dumps(clock._ended)), few)
            waited, lived = clock._ended.by_name["base", "curl"]
            self.assertAlmostEqual(waited, 500)
            self.assertEqual(lived, 5000)
            self.assertEqual(clock.report()["waiting"], {"base: curl": 0.1})

    def test_of_many_names_those_that_waited_most_keep_theirs(self):
        with (
            mock.patch.object(applications, "EVERY_S", 1000),
            mock.patch.object(system, "pids", list),
        ):
            clock = self.clock(lambda: ())
            clock.begin()
            self.ended(clock, 1, lambda i: "starved", waited=0.9)
            self.ended(clock, 1000, lambda i: f"name{i}")
            sums = clock._ended
            self.assertEqual(len(sums.by_name), applications.Sums.MOST)
            self.assertEqual(sums.by_name["base", "starved"], (0.9, 1.0))
            self.assertAlmostEqual(sum(w for w, _ in sums.by_name.values()), 100.9)
            self.assertEqual(sum(lived for _, lived in sums.by_name.values()), 1001)
            self.assertEqual(clock.report()["worst"], 0.9)
            self.assertLessEqual(len(clock.report()["waiting"]), applications.Sums.MOST)

    def test_a_kernel_that_does_not_tell_is_not_known(self):
        self.assertIsNone(applications.pressure_us("/nonexistent"))
        self.assertEqual(applications.ready_threads(2**22 + 1), {})
        self.assertIsNone(applications.schedstat_of(2**22 + 1))
        with tempfile.TemporaryDirectory() as proc:
            for text, expected in (
                ("0 0 0\n", None),
                ("5 2000000000 3\n", {"7": 2.0}),
                ("", None),
                ("x y z\n", None),
            ):
                os.makedirs(f"{proc}/7/task/7", exist_ok=True)
                with open(f"{proc}/7/task/7/schedstat", "w") as f:
                    f.write(text)
                self.assertEqual(applications.schedstat_of(7, proc), expected, text)
        clock = self.clock(lambda: ())
        clock._known = False
        with mock.patch.object(applications, "pressure_us", lambda: None):
            report = clock.report()
        self.assertEqual(
            (report["waiting"], report["worst"], report["pressure"]), (None, None, None)
        )

    def test_a_thread_that_ends_while_the_others_are_read_hides_none_of_them(self):
        with tempfile.TemporaryDirectory() as proc:
            for thread in ("7", "8", "9"):
                os.makedirs(f"{proc}/7/task/{thread}")
                if thread == "8":  # its files are gone
                    continue
                for name, text in (
                    ("schedstat", "5 2000000000 3\n"),
                    ("stat", f"{thread} (x y) R 1\n"),
                ):
                    with open(f"{proc}/7/task/{thread}/{name}", "w") as f:
                        f.write(text)
            self.assertEqual(applications.schedstat_of(7, proc), {"7": 2.0, "9": 2.0})
            self.assertEqual(set(applications.ready_threads(7, proc)), {"7", "9"})

    def test_a_process_whose_name_is_no_utf_8_is_one_like_any_other(self):
        """Its name may hold any bytes (prctl), as /proc/PID/stat and comm have them."""
        name = b"\xff) \xfe"
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                (
                    f"import ctypes; ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0);"
                    " print(flush=True); input()"
                ),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            process.stdout.readline()
            self.assertIsInstance(system.start_time(process.pid), int)
            self.assertIn(system.state(process.pid)[0], "SRD")
            self.assertFalse(system.locks_memory(process.pid))
            self.assertEqual(system.holders("/none", "nobody"), [])
        finally:
            process.communicate(b"\n", timeout=10)

    def test_waiting_of_a_thread_is_read_from_the_kernel(self):
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        waited = applications.schedstat_of(os.getpid())
        self.assertIn(str(os.getpid()), waited)
        self.assertTrue(all(s >= 0 for s in waited.values()))


if __name__ == "__main__":
    unittest.main()
