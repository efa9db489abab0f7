# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen of `openwip top`: it fits whatever comes, and says what it does not know."""

import contextlib
import io
import itertools
import math
import os
import pathlib
import re
import tempfile
import time
import unittest
from unittest import mock

from openwip_schema import control_pb2 as control
from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.cell import cell as cells
from openwip_cli.figures import top_figures
from openwip_cli.machine import procfs, reason
from openwip_cli.messages import telemetry
from openwip_cli.views import top, top_screen, top_text

MOST = 2**64 - 1  # largest value of a counter
SECOND = 1_000_000_000  # ns


class World(unittest.TestCase):
    def setUp(self):
        self.figures = top_figures.Figures()
        self.now = 100 * SECOND
        self.sequence = itertools.count(1)

    def give(self, source, topic, slot=0, at=None, **what):
        message = pb.Telemetry(sequence=next(self.sequence), slot=slot, version=1, **what)
        self.figures.take(
            telemetry.Message(source, topic, message, 0, self.now if at is None else at)
        )

    def give_statuses(self, sent=(1000, 2000), failed=(10, 30)):
        """Statuses of the base station, one second apart."""
        for n, (s, f) in enumerate(zip(sent, failed)):
            m = control.MacStatus(role="base", slot=1500 * (n + 1))
            m.base.frames_sent, m.base.frames_failed = s, f
            m.base.modulation_histogram.extend([0, s // 2, 0, 0, s // 2, 0, 0, 0, 0])
            m.base.retransmission_histogram.extend([s - f, f])
            m.downlink.queued.packets = 7
            m.downlink.dropped.add(reason="queue_full").count.packets = 3
            self.give("base", "status", slot=m.slot, at=self.now - (1 - n) * SECOND, mac=m)

    def give_terminals(self, n):
        """Terminal u, from 0: 10 + u dB; in the last second u + 1 of 1000 frames failed and (u + 1)
        * 0.1 Mbit were acknowledged; every nth bin with u + 1 bits per symbol; u packets wait, 100
        u have arrived."""
        for second in (0, 1):
            base, terminal = control.MacStatus(slot=1500 * (second + 1)), control.MacStatus()
            terminal.radio.locked = True
            for u in range(n if n > 1 else 0):
                b, t = base.users.add(slot=1500 * (second + 1)), terminal.users.add()
                b.base.frames_sent, b.base.frames_failed = 1000 * second, (u + 1) * second
                b.base.payload_bits_acknowledged, b.downlink.queued.packets = (
                    (u + 1) * 100_000 * second,
                    u,
                )
                t.radio.locked, t.radio.mean_snr_db, t.radio.prediction_nmse = True, 10 + u, 0.125
                t.downlink.delivered.packets = 100 * u
            for source, m in (("base", base), ("terminal", terminal)):
                self.give(source, "status", slot=m.slot, at=self.now - (1 - second) * SECOND, mac=m)
        user_of_bin = bytes(b % n for b in range(25))
        for u in range(n):
            bits = bytes(u + 1 if w == u else 0 for w in user_of_bin)
            for source, sample in (
                ("base", pb.SlotSample(bits_per_symbol=bits, user=user_of_bin)),
                ("terminal", pb.SlotSample(snr_db=[10 + u] * 25)),
            ):
                message = pb.Telemetry(version=1, user=u, slot_sample=sample)
                self.figures.take(telemetry.Message(source, "slot", message, 0, self.now))

    def give_verdict(self, **what):
        self.give(
            "keeper",
            "verdict",
            verdict=pb.Verdict(
                **{
                    "valid": True,
                    "command": "demo",
                    "seconds": 12,
                    "goodput_bps": 4e6,
                    "capacity_bps": 5e6,
                }
                | what
            ),
        )

    def screen(self, width=80, height=24, **frame):
        lines = top_screen.render(
            self.figures, top_screen.Frame("demo", self.now, **frame), width, height
        )
        return [x.text for x in lines]

    def line(self, name, **frame):
        found = [x for x in self.screen(**frame) if x.startswith(name)]
        self.assertEqual(len(found), 1, self.screen())
        return found[0]


class WhatItSays(World):
    def test_nothing_known_is_said_line_by_line(self):
        text = "\n".join(self.screen())
        for words in (
            "no verdict comes from the supervisor",
            "goodput   not shown without a verdict",
            "TCP       not known",
            "CPU       not known",
            "pacing    not known",
        ):
            self.assertIn(words, text)

    def test_goodput_stands_beside_capacity_and_only_with_a_verdict(self):
        self.give_statuses()
        self.assertIn("not shown without a verdict", self.line("goodput"))
        self.give_verdict()
        self.assertIn("4.00 of 5.00 Mbit/s of the link, 80.0%", self.line("goodput"))
        self.now += 4 * SECOND  # the supervisor has fallen silent
        self.assertIn("not shown without a verdict", self.line("goodput"))

    def test_an_invalid_run_says_why(self):
        self.give_verdict(
            valid=False, reason=["lock: lost 2 times", "late: 1 slots missed their time"]
        )
        self.assertEqual(
            self.line("verdict"),
            "verdict   INVALID so far: lock: lost 2 times; late: 1 slots missed their time",
        )

    def test_a_replay_is_no_run_and_has_no_goodput(self):
        self.give_verdict(
            valid=False,
            command="replay",
            goodput_bps=0,
            capacity_bps=0,
            reason=["replay: run, recorded samples"],
        )
        self.assertEqual(self.line("verdict"), "verdict   REPLAY: run, recorded samples")
        self.assertEqual(
            self.line("goodput"),
            "goodput   none: recorded samples are played, nothing is transmitted",
        )
        self.assertNotIn("base", "\n".join(self.screen()))

    def test_rates_are_of_the_last_second(self):
        self.give_statuses(sent=(1000, 2000), failed=(10, 30))
        self.assertIn("FER 2.00 %", self.line("frames"))
        self.assertIn("BPSK   50.0%", self.line("sent"))
        self.assertIn("0: 98.0%  1: 2.00%", self.line("ARQ"))

    def test_the_last_second_is_ten_of_ten_statuses_a_second_although_they_jitter(self):
        for interval, window, statuses in ((1.0, 1, 31), (0.2, 1, 31), (30.0, 30, 400)):
            # lateness of the first status that counts, and of the last
            for late_ms in ((0, 0), (0, 12), (12, 0)):
                self.figures = top_figures.Figures(interval)
                for n in range(statuses):
                    late = {statuses - 1 - 10 * window: late_ms[0], statuses - 1: late_ms[1]}
                    m = control.MacStatus(role="base", slot=150 * n)
                    m.base.frames_sent = 1500 * n  # ten bins
                    at = n * SECOND // 10 + late.get(n, 5) * 1_000_000
                    self.give("base", "status", slot=m.slot, at=at, mac=m)
                with self.subTest(interval=interval, late_ms=late_ms):
                    self.assertEqual(self.figures.link()["frames_sent"], 15000 * window)

    def test_queues_and_drops_by_reason(self):
        self.give_statuses()
        self.assertIn("queue 7 packets", self.line("downlink"))
        self.assertIn("dropped 3 queue_full", "\n".join(self.screen()))

    def test_a_receiver_that_is_not_locked_stands_out(self):
        m = control.MacStatus(flowgraph_connected=True)
        m.radio.mode = "searching"
        self.give("terminal", "status", mac=m)
        self.assertIn("NOT LOCKED (searching)", self.line("radio"))
        m.terminal.frames_combined = 1
        m.radio.mode, m.radio.locked, m.radio.evm_percent = "locked", True, 12.5
        m.radio.mean_snr_db = 0
        self.give("terminal", "status", mac=m)
        self.assertIn("locked  SNR 0.0 dB  EVM 12.5 %", self.line("radio"))

    def test_a_link_without_an_snr_says_none(self):
        m = control.MacStatus(terminal={})
        m.radio.locked = True
        self.give("terminal", "status", mac=m)
        self.assertEqual(self.line("radio").strip(), "radio     emulated, no receiver")
        m.radio.mean_snr_db = 0  # an SNR of 0 dB is a valid value
        self.give("terminal", "status", mac=m)
        self.assertIn("no receiver  SNR 0.0 dB  NMSE 0.000", self.line("radio"))

    def test_the_bins_are_a_line_of_blocks(self):
        sample = pb.SlotSample(
            snr_db=[10 + n for n in range(25)], bits_per_symbol=bytes([4] * 10 + [0] * 15)
        )
        self.give("terminal", "slot", slot_sample=sample)
        self.assertEqual(len(self.line("SNR/bin").split()[1]), 25)
        self.assertIn("10.0 .. 34.0 dB", self.line("SNR/bin"))
        self.assertTrue(self.line("SNR/bin", ascii=True).isascii())
        self.assertIn("4444444444...............", self.line("bits/bin"))

    def test_one_terminal_has_no_table_of_terminals(self):
        self.give_terminals(1)
        self.assertFalse([x for x in self.screen() if "terminal" in x])

    def test_several_terminals_have_a_line_each(self):
        self.give_terminals(5)
        self.give_verdict()
        text = self.screen(80, 23, reader="100 messages, 0 lost")
        self.assertEqual(
            [x for x in text if x.startswith("terminals")][0].split()[:2], ["terminals", "5"]
        )
        rows = [x.split() for x in text if x.startswith("  terminal")]
        # terminal u + 1: 10 + u dB, of 1000 frames u + 1 failed, u + 1 fifteenths of the bits, 5
        # bins.
        self.assertEqual(
            rows,
            [
                [
                    "terminal",
                    str(u + 1),
                    f"{10 + u}.0",
                    "0.125",
                    f"0.{u + 1}0%",
                    f"0.{u + 1}0",
                    f"{(u + 1) / 0.15:.2f}%" if u == 0 else f"{(u + 1) / 0.15:.1f}%",
                    "5",
                    str(u),
                    str(100 * u),
                ]
                for u in range(5)
            ],
        )
        for name in (
            "verdict",
            "goodput",
            "radio     emulated, no receiver; mean SNR 10.0 .. 14.0 dB",
            "pacing",
            "downlink",
        ):
            self.assertTrue(any(x.startswith(name) for x in text), (name, text))
        self.assertIn("terminal  1234512345123451234512345", "\n".join(text))
        self.assertIn("bits/bin  12345123451234512345", "\n".join(text))
        self.assertIn("10.0 .. 14.0 dB", self.line("SNR/bin"))

    def assert_columns_line_up(self, head, rows):
        """Every heading is whole, and ends where the figures below it end."""
        headings = re.findall(r"SNR dB|\S+", head)[-8:]
        self.assertEqual(
            headings, ["SNR dB", "NMSE", "FER", "Mbit/s", "share", "bins", "queue", "arrived"]
        )
        ends = [m.end() for m in re.finditer(r"SNR dB|\S+", head)][-8:]
        for row in rows:
            self.assertEqual([m.end() for m in re.finditer(r"\S+", row)][-8:], ends, (head, row))

    def test_terminals_that_do_not_fit_are_counted(self):
        self.give_terminals(25)
        self.give_verdict()
        for height, shown in ((23, 7), (39, 23), (60, 25), (12, 1)):
            with self.subTest(height=height):
                text = self.screen(80, height)
                rows = [x for x in text if x.startswith("  terminal")]
                head = [x for x in text if x.startswith("terminals")][0]
                self.assertLessEqual(len(text), height)
                self.assertEqual(len(rows), shown)
                self.assertTrue(
                    head.startswith(
                        f"terminals {shown} of 25  " if shown < 25 else "terminals 25  "
                    ),
                    head,
                )
                self.assert_columns_line_up(head, rows)
        # However small: what is said to be left out is what is left out.
        for height in range(1, 12):
            text = self.screen(80, height)
            rows, head = (
                sum(x.startswith("  terminal") for x in text),
                [x for x in text if x.startswith("terminals")],
            )
            self.assertTrue(not head or head[0].startswith(f"terminals {rows} of 25 "), text)

    def test_a_link_with_more_terminals_than_bins_has_them_all(self):
        self.give_terminals(160)
        self.give_verdict()
        text = self.screen(80, 200)
        rows = [x for x in text if x.startswith("  terminal")]
        self.assertEqual(len(rows), 160)
        self.assertTrue([x for x in text if x.startswith("terminals 160  ")])
        # Those that have a letter in the line of bins say so.
        self.assertTrue(rows[24].startswith("  terminal 25 (p) "), rows[24])
        self.assertTrue(rows[25].startswith("  terminal 26  "), rows[25])

    def test_a_terminal_without_lock_and_one_that_is_not_heard_of_are_told(self):
        self.give_terminals(2)
        m = control.MacStatus()
        for locked in (True, False):
            m.users.add().radio.locked = locked
        self.give("terminal", "status", mac=m)
        self.assertIn("no lock", self.line("  terminal 2"))
        self.now += 4 * SECOND
        self.give("terminal", "status", mac=m)
        # No SNR is reported, and nothing comes from the base station.
        self.assertRegex(self.line("  terminal 1"), r" - +- +- +- +- +- +- +0$")

    def test_of_a_flow_the_sending_end_is_shown(self):
        flows = [
            pb.TcpFlow(
                station="base",
                local="10.42.0.1:5",
                remote="10.42.0.2:6",
                state="ESTAB",
                cwnd_segments=40,
                rtt_ms=15.25,
                bytes_acknowledged=9000,
                congestion_control="cubic",
            ),
            pb.TcpFlow(
                station="terminal",
                local="10.42.0.2:6",
                remote="10.42.0.1:5",
                state="ESTAB",
                cwnd_segments=10,
                bytes_received=9000,
                congestion_control="cubic",
            ),
        ]
        self.give("observer", "tcp", tcp=pb.TcpSample(flow=flows, left_out=2))
        self.assertIn("1 flows, 2 beyond", self.line("TCP"))
        self.assertIn("10.42.0.1:5>10.42.0.2:6", self.line("  10.42"))
        self.assertIn("40", self.line("  10.42"))

    def test_pressure_that_the_kernel_does_not_tell_is_not_known(self):
        self.give("observer", "cpu", cpu=pb.CpuSample(cores=2))
        self.assertIn("pressure unknown  apps wait unknown", self.line("CPU"))
        self.give("observer", "cpu", cpu=pb.CpuSample(cores=2, pressure_percent=12))
        self.give_verdict(applications_waiting=0.25)
        self.assertIn("pressure 12 %  apps wait 25.0 %", self.line("CPU"))

    def test_a_stream_that_stalls_and_what_this_reader_lost_are_said(self):
        text = "\n".join(
            self.screen(
                silent={"base": 4.2},
                reader="9 messages, 3 lost, 2 malformed, 1 of a later version",
                lost=3,
            )
        )
        self.assertIn("STALLED   nothing comes from base for 4.2 s", text)
        self.assertIn("reader    9 messages, 3 lost, 2 malformed, 1 of a later version", text)


class ItFits(World):
    """80x24 (and any other size), with the least, the greatest and the strangest of every field."""

    def fill(self, message, value, text, depth=0):
        for field in message.DESCRIPTOR.fields:
            repeated = field.label == field.LABEL_REPEATED
            if field.message_type is not None:
                if depth < 2 or (depth < 3 and not repeated):
                    for _ in range(9 if repeated else 1):
                        child = (
                            getattr(message, field.name).add()
                            if repeated
                            else getattr(message, field.name)
                        )
                        if not repeated:
                            child.SetInParent()
                        self.fill(child, value, text, depth + 1)
                continue
            v = self.valid(field, value, text)
            if v is not None:
                (
                    getattr(message, field.name).extend([v] * 70)
                    if repeated
                    else setattr(message, field.name, v)
                )

    @staticmethod
    def valid(field, value, text):
        kinds = field
        if field.cpp_type in (kinds.CPPTYPE_DOUBLE, kinds.CPPTYPE_FLOAT):
            return float(value)
        if field.cpp_type == kinds.CPPTYPE_BOOL:
            return bool(value == value and value)
        if field.cpp_type == kinds.CPPTYPE_STRING:
            return text if field.type == kinds.TYPE_STRING else bytes([255]) * 70
        if field.cpp_type == kinds.CPPTYPE_ENUM:
            return 0
        low, high = {
            kinds.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
            kinds.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
            kinds.CPPTYPE_UINT32: (0, 2**32 - 1),
            kinds.CPPTYPE_UINT64: (0, MOST),
        }[field.cpp_type]
        return low if value < 0 else high if value > 0 else 0

    def test_extreme_values_neither_overflow_nor_raise(self):
        text = "\x1b[2J\n\t\u7532\u0301 very long " * 30
        for value in (0.0, 1e308, -1e308, math.inf, -math.inf, math.nan, 1.0):
            self.figures = top_figures.Figures()
            for source, topic in itertools.product(
                ("base", "terminal", "observer", "keeper"), top_figures.TOPICS
            ):
                for n in (0, 1):
                    message = pb.Telemetry(slot=2**62 * n)
                    content = getattr(message, telemetry.CONTENT[topic])
                    content.SetInParent()
                    self.fill(content, value, text)
                    if topic == "status":
                        content.slot = n * 1500
                    self.figures.take(telemetry.Message(source, topic, message, 0, self.now + n))
            self.now += 1
            for width, height in ((80, 24), (200, 60), (40, 10), (20, 3), (1, 1)):
                with self.subTest(value=value, width=width, height=height):
                    lines = self.screen(
                        width, height, reader=text, silent={"base": math.inf}, note=text
                    )
                    self.assertLessEqual(len(lines), height)
                    self.assertLessEqual(max(map(len, lines)), width)
                    for line in lines:
                        self.assertTrue(
                            all(c in top_text.BLOCKS or " " <= c <= "~" for c in line), line
                        )

    def test_counts_that_go_backwards_and_short_lists_do_not_raise(self):
        self.give_statuses(sent=(2000, 10), failed=(30, 1))
        self.give(
            "terminal",
            "slot",
            slot_sample=pb.SlotSample(snr_db=[math.nan], bits_per_symbol=b"\xff\x00"),
        )
        self.assertLessEqual(len(self.screen()), 24)

    def test_what_matters_stays_when_the_window_is_small(self):
        self.give_statuses()
        self.give_verdict()
        text = self.screen(80, 3)
        self.assertTrue(text[0].startswith("openwip top  cell demo"))
        self.assertTrue(any(x.startswith("verdict   VALID") for x in text), text)

    def test_a_usual_screen_is_whole_at_80x24(self):
        self.give_statuses()
        self.give_verdict()
        self.give(
            "terminal",
            "slot",
            slot_sample=pb.SlotSample(snr_db=[16.0] * 25, bits_per_symbol=bytes([4] * 25)),
        )
        self.give("terminal", "status", mac=control.MacStatus())
        self.give("observer", "cpu", cpu=pb.CpuSample(cores=2))
        self.give("observer", "air", air=control.AirStatus(slots=10, speed=1, real_time_factor=1))
        self.give(
            "observer",
            "tcp",
            tcp=pb.TcpSample(flow=[pb.TcpFlow(local="10.42.0.1:5", remote="10.42.0.2:6")]),
        )
        lines = self.screen(80, 23, reader="100 messages, 0 lost")
        self.assertTrue(any("256-QAM" in x for x in lines))
        for name in (
            "verdict",
            "radio",
            "goodput",
            "frames",
            "SNR/bin",
            "bits/bin",
            "sent",
            "ARQ",
            "downlink",
            "uplink",
            "TCP",
            "pacing",
            "CPU",
            "reader",
        ):
            self.assertTrue(any(x.startswith(name) for x in lines), name)


class FromTheWire(unittest.TestCase):
    """The command's own reader and screen on a scripted publisher, with this process as the
    supervisor."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with mock.patch.object(cells, "RUN_ROOT", pathlib.Path(folder.name)):
            self.cell = cells.Cell("t")
        self.cell.run.mkdir()
        self.cell.write_state(
            {
                "cell": "t",
                "keeper": [os.getpid(), procfs.start_time(os.getpid())],
                "namespaces": self.cell.namespaces,
            }
        )
        self.supervisor = Publisher(self.cell.endpoint("keeper.telemetry"))
        self.addCleanup(self.supervisor.close)
        self.source = top.Source(self.cell, 1.0)
        self.addCleanup(self.source.reader.close)
        self.supervisor.await_subscribers("verdict")

    def poll_until(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            self.source.poll(0.1)

    def text(self):
        return "\n".join(
            x.text for x in top_screen.render(self.source.figures, self.source.frame(False))
        )

    def test_garbage_and_messages_of_a_later_version_are_counted_and_shown(self):
        good = pb.Verdict(valid=True, command="demo")
        self.supervisor.raw(b"verdict", b"\xff\xff garbage")
        self.supervisor.raw(b"verdict")
        self.supervisor.send(
            "verdict", version=99, verdict=pb.Verdict(valid=False, reason=["of the future"])
        )
        self.supervisor.send("verdict", verdict=good)
        self.supervisor.send("verdict", sequence=7, verdict=good)
        self.poll_until(lambda: self.source.reader.received() == 2)
        self.assertIn("2 messages, 4 lost, 2 malformed, 1 of a later version", self.text())
        self.assertIn("verdict   VALID so far", self.text())
        self.assertNotIn("future", self.text())

    def test_once_says_that_a_verdict_is_invalid_by_its_exit_code(self):
        for valid, code in ((True, 0), (False, 1)):
            self.supervisor.send(
                "verdict",
                verdict=pb.Verdict(valid=valid, reason=[] if valid else ["lock: lost 1 times"]),
            )
            n = self.source.reader.received()
            self.poll_until(lambda: self.source.reader.received() > n)
            with (
                mock.patch.object(top, "ONCE_PATIENCE_S", 0),
                contextlib.redirect_stdout(io.StringIO()) as out,
            ):
                self.assertEqual(top.once(self.source, 0.01), code)
            self.assertIn(
                "VALID so far" if valid else "INVALID so far: lock: lost 1 times", out.getvalue()
            )

    def test_once_fills_the_width_of_the_terminal(self):
        self.supervisor.send("verdict", verdict=pb.Verdict(reason=["lock: lost 1 times " * 20]))
        self.poll_until(lambda: self.source.reader.received() == 1)
        for columns, width in (("120", 120), ("", 80)):
            with (
                mock.patch.object(top, "ONCE_PATIENCE_S", 0),
                mock.patch.dict(os.environ, {"COLUMNS": columns}),
                contextlib.redirect_stdout(io.StringIO()) as out,
            ):
                top.once(self.source, 0.01)
            widest = max(map(len, out.getvalue().splitlines()))
            if columns or not os.isatty(1):
                self.assertEqual(widest, width)

    def test_once_of_a_cell_that_says_nothing_is_a_failure(self):
        with (
            mock.patch.object(top, "ONCE_PATIENCE_S", 0),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            self.assertEqual(top.once(self.source, 0.01), 3)
        self.assertIn("nothing comes from the cell", err.getvalue())

    def test_the_end_of_the_cell_is_seen_and_its_reason_kept(self):
        self.assertTrue(self.source.alive())
        reason.write(self.cell.run, reason.Reason(reason.Cause.ASKED, "stopped by ./openwip down"))
        self.source.supervisor = (os.getpid(), 1)  # another process by now
        self.assertFalse(self.source.alive())
        self.assertEqual(self.source.why, "stopped by ./openwip down")


if __name__ == "__main__":
    unittest.main()
