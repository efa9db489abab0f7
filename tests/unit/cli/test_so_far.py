# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict so far, from hand-made statuses, and its publication."""

import pathlib
import tempfile
import time
import unittest
from unittest import mock

import zmq
from hand_made import bursts, louder, response, statuses, swap_two, tun_of
from openwip_schema import control_pb2 as control
from openwip_schema import telemetry_pb2

from openwip_cli.cell import supervisor
from openwip_cli.figures import through_radios
from openwip_cli.figures.facts import Heard
from openwip_cli.measure import verdict_monitor
from openwip_cli.messages import telemetry


class SoFar(unittest.TestCase):
    def setUp(self):
        self.so_far = verdict_monitor.SoFar("demo")

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
                # The counters of all radios.
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
            " underflows; -1.11 ms left at worst): set a longer fader.delay_samples"
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
        self.assertEqual(after(clipped=768, residual_db=-30), [])  # samples of one second
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
            (reported,) = after(residual_db=-30, through=(spoil,))
            self.assertRegex(reported, reason)

        def monitor_receives(spoil):
            after(residual_db=-30, through=(spoil,))
            return self.so_far.verdict(Heard(), 0.0).through_radios

        good, off, dumb = (
            monitor_receives(s)
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

    def test_the_channel_of_a_transmitter_is_evaluated_by_its_bursts_too(self):
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
        (reported,), through = after(swap_two)
        self.assertRegex(
            reported, "^transmitter: through the radios the channel is .* off the commanded one"
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
        looks = verdict_monitor.VerdictMonitor.__new__(verdict_monitor.VerdictMonitor)
        looks.so_far, looks.attenuator = self.so_far, mock.Mock()
        for reported, reasons in (
            (control.AttenuatorStatus(state="armed", steps=9), []),
            (control.AttenuatorStatus(state="playing", steps=9), []),
            (
                control.AttenuatorStatus(state="playing", steps=9, silent_s=2),
                ["attenuator: it has not answered for 2.0 s"],
            ),
            (verdict_monitor.control.NoAnswer("no"), ["attenuator: its process does not answer"]),
        ):
            looks.attenuator.status = mock.Mock(side_effect=[reported])
            looks.look_at_attenuator()
            self.assertEqual(list(self.verdict(statuses(1), statuses(2)).reason), reasons)

    def test_what_the_supervisor_noted_and_cannot_be_read_is_no_clean_sheet(self):
        looks = verdict_monitor.VerdictMonitor.__new__(verdict_monitor.VerdictMonitor)
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
                self.so_far = verdict_monitor.SoFar("demo")
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
        noted = supervisor.Noted()
        for i in range(5000):
            noted.add(f"base.macd was stopped {i}")
        self.assertEqual((len(noted), len(noted.lines)), (5000, supervisor.Noted.MOST))
        read = supervisor.Noted(noted.text())
        self.assertEqual((len(read), read.lines), (5000, noted.lines))
        self.so_far.noted = read
        self.assertTrue(self.verdict(statuses(1), statuses(5)).valid)
        read.add("air was stopped by a debugger for 2.0 s")
        self.assertEqual(
            list(self.verdict(statuses(9)).reason),
            ["surroundings: air was stopped by a debugger for 2.0 s"],
        )
        self.assertEqual(len(read.since(0)), supervisor.Noted.MOST)

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
        self.assertGreaterEqual(self.so_far.still, verdict_monitor.STANDING_STILL)
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


if __name__ == "__main__":
    unittest.main()
