# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator's firmware in QEMU: asked by a foreign client (pyvisa-py), played to, left alone;
what it wrote to SPI and latches is read from QEMU's trace of registers. Nothing here has met a
board."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
sys.path[:0] = [
    str(TOP / "host" / "cli"),
    str(TOP / "tests" / "bench"),
    str(TOP / "tests" / "support"),
    str(BUILD / "python"),
]

from openwip_schema import attenuator_pb2 as pb

import attenuator as bench
import interrupt_times
import qemu_trace
from openwip_cli.machine import qemu
from openwip_cli.messages import attenuator as link

FIRMWARE = BUILD / "firmware/arm/netduinoplus2.elf"
TICK_US = 1000
TRIGGER_OUT = 1 << 9  # pin of port B
PATIENCE_S = 20


class InQemu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "trace"
        self.start()

    def start(self):
        self.machine = qemu.Qemu(FIRMWARE, self.folder, self.trace)
        self.addCleanup(self.machine.end)
        self.device = link.Attenuator(self.machine.port, answer_s=3)
        self.addCleanup(self.device.line.close)
        self.device.find()
        self.machine.settle(lambda: self.device.status().tick)

    def be_patient(self):
        """For tests that are not about silence: the machine may be busy."""
        self.device.command("SYST:WATC:TIM 60")

    def steps(self):
        return qemu_trace.steps(self.trace)

    def pins(self):
        return [w for w in qemu_trace.outputs(self.trace) if isinstance(w, qemu_trace.Pins)]

    def until(self, what, happens):
        end = time.monotonic() + PATIENCE_S
        while not happens():
            if time.monotonic() > end:
                self.fail(f"waited {PATIENCE_S} s for {what}: {self.device.status()}")

    def at_once(self, *requests):
        """The reply to the last of these, which go out in one piece: silence is counted in QEMU's
        time, which need not wait for this host."""
        frames = [
            link.frame(pb.Request(id=0x10000 + k, **what).SerializeToString())
            for k, what in enumerate(requests)
        ]
        self.device.line.send(b"".join(frames))
        replies = {}

        def answered():
            self.device.line.receive(0.1)
            while self.device.line.messages:
                reply = pb.Reply.FromString(self.device.line.messages.popleft())
                replies[reply.id - 0x10000] = reply
            return len(requests) - 1 in replies

        self.until("a reply", answered)
        return replies[len(requests) - 1]


class Bench(unittest.TestCase):
    """tests/bench/attenuator.py."""

    def test_what_is_outside_its_budget_is_named_whichever_way(self):
        good = {
            "where": "here",
            "playback": [
                {
                    "channels": 1,
                    "state": "ENDED",
                    "errors": [],
                    "steps": {"found": 9, "budget": 9},
                    "underflows": {"found": 0, "budget": 0},
                }
            ],
            "silence": {
                "times": {"found": 2, "budget": 2},
                "worst_ms": {"found": 100, "budget": 100},
            },
            "memory": [{"flash": {"found": 5, "budget": 9}}],
        }
        self.assertEqual(bench.outside(good), [])
        for change, name in (
            (lambda r: r["playback"][0]["steps"].update(found=8), "playback[0].steps"),
            (lambda r: r["playback"][0].update(state="SILENT"), "playback[0].state"),
            (
                lambda r: r["playback"][0].update(errors=[(202, "Host silent")]),
                "playback[0].errors",
            ),
            (lambda r: r["playback"][0]["underflows"].update(found=1), "playback[0].underflows"),
            (lambda r: r["silence"]["times"].update(found=1), "silence.times"),
            (lambda r: r["silence"]["worst_ms"].update(found=None), "silence.worst_ms"),
            (lambda r: r["memory"][0]["flash"].update(found=10), "memory[0].flash"),
        ):
            result = json.loads(json.dumps(good))
            change(result)
            self.assertEqual(bench.outside(result), [name])


class InterruptTimes(unittest.TestCase):
    """Computed of the board's program (tests/bench/interrupt_times.py)."""

    def test_no_path_of_an_interrupt_is_longer_than_what_it_has(self):
        found = interrupt_times.bounds(FIRMWARE.with_name("nucleo_f446re.elf"))
        for name, bound in found.items():
            if isinstance(bound, dict) and "budget" in bound:
                with self.subTest(name):
                    self.assertLess(bound["found"], bound["budget"])
        self.assertGreater(
            found["tick_us"]["without_waits_for_flash"], found["tick_us"]["of_it_spi"]
        )
        self.assertGreater(found["tick_us"]["found"], found["tick_us"]["without_waits_for_flash"])

    def test_the_longest_of_all_ways_counts_and_a_loop_as_often_as_it_may_run(self):
        way = interrupt_times.Program.path
        program = interrupt_times.Program.__new__(interrupt_times.Program)
        times = interrupt_times.TIMES_OF["levels"]
        # 0 -> 1 or 2 -> 3; 3 -> 3 or 4
        blocks = {
            0: (10, [1, 2], False),
            1: (5, [3], False),
            2: (50, [3], False),
            3: (7, [3, 4], False),
            4: (1, [], False),
        }
        self.assertEqual(
            way(program, "levels", blocks, set(blocks), 0, None), 10 + 50 + times * 7 + 1
        )
        # A loop in a loop whose end is in its middle: once more begun.
        blocks = {
            0: (1, [1], False),
            1: (2, [2, 4], False),
            2: (3, [2, 3], False),
            3: (4, [1], False),
            4: (1, [], False),
        }
        inner = times * 3
        self.assertEqual(
            way(program, "levels", blocks, set(blocks), 0, None),
            1 + (times + 1) * (2 + inner + 4) + 1,
        )

    def test_what_has_no_bound_is_refused_in_a_line(self):
        def instruction(address, text):
            return interrupt_times.Instruction(address, 2, text)

        program = interrupt_times.Program.__new__(interrupt_times.Program)
        program.wait, ends = 0, instruction(0x12, "bx\tlr")
        for code, words in (
            (
                [instruction(0x10, "b.n\t00000010 <_Z1fv>")],
                "_Z1fv has a loop at 10 and no bound here",
            ),
            (
                [instruction(0x10, "blx\tr3"), ends],
                "what _Z1fv calls with blx r3 at 10 is no function",
            ),
            (
                [instruction(0x10, "bl\t00000400 <gone>"), ends],
                "what _Z1fv calls with bl .* is no function",
            ),
            ([instruction(0x10, "bx\tr3")], "_Z1fv goes where a register says"),
            ([instruction(0x10, "ldr.w\tpc, [r3, #4]")], "_Z1fv goes where a register says"),
        ):
            program.functions = {0x10: ("_Z1fv", code)}
            with self.subTest(words), self.assertRaisesRegex(SystemExit, words):
                interrupt_times.Program.longest.__wrapped__(program, 0x10)


class Playback(InQemu):
    def test_each_step_goes_to_all_chips_within_its_tick(self):
        self.be_patient()
        channels, nof_steps = range(1, 9), 500
        table = bytes((k + 16 * c) % 128 for k in range(nof_steps) for c in range(8))
        self.device.command("TRIG:OUTP ON")
        status = self.device.play(channels, table)
        self.assertEqual(
            (status.state, status.underflows, status.late, status.missed_ticks), (pb.ENDED, 0, 0, 0)
        )
        # The trigger output is up from the first step's tick to the next, and not again.
        around = [
            w if isinstance(w, qemu_trace.Pins) else w[1]
            for w in qemu_trace.outputs(self.trace)
            if isinstance(w, qemu_trace.Pins) and (w.up | w.down) & TRIGGER_OUT or w[0] == "step"
        ]
        self.assertEqual(
            around,
            [
                0,
                qemu_trace.Pins(TRIGGER_OUT, 0),
                1,
                qemu_trace.Pins(0, TRIGGER_OUT),
                *range(2, nof_steps),
            ],
        )
        played = self.steps()
        self.assertEqual([s.number for s in played], list(range(nof_steps)))
        for s in played:
            self.assertLess(abs(s.time_us - played[0].time_us - TICK_US * s.number), TICK_US)
            self.assertEqual(
                s.latches, [qemu_trace.Latch(c, (s.number + 16 * c) % 128) for c in range(8)]
            )
        self.assertEqual(self.device.errors(), [])

    def test_an_underflow_holds_and_is_reported(self):
        self.be_patient()
        period = 10  # slow enough for a busy host to get ahead of it again
        self.device.done(open=pb.Open(channels=1, period_ticks=period, trigger=pb.BUS))
        self.device.done(steps=pb.Steps(first=0, levels=bytes(range(20))))
        self.device.done(trigger=pb.Empty())
        self.until("an underflow", lambda: self.device.status().underflows > 0)
        status = self.device.status()
        self.assertEqual(status.state, pb.PLAYING)
        self.assertEqual(status.levels[0], 19)
        self.assertEqual(self.device.errors(), [(201, "Playback underflow")])
        self.assertEqual(
            [s.latches[0].word for s in self.steps()],
            list(range(20)),
            "no word while there is no step",
        )
        # The grid has gone on: of what comes now some is past, and the rest is played in its time.
        self.until(
            "a host that is ahead",
            lambda: self.send(100, 200).received > self.device.status().played + 20,
        )
        self.until("five steps more", lambda: len(self.steps()) >= 25)
        first, *others = self.steps()
        for s in others:
            self.assertLess(abs(s.time_us - first.time_us - period * TICK_US * s.number), TICK_US)
        self.assertEqual({s.latches[0].word for s in others[19:-1]}, {100})
        self.assertGreater(self.device.status().late, 0)

    def send(self, level, nof_steps):
        return self.device.done(
            steps=pb.Steps(first=self.device.status().received, levels=bytes([level]) * nof_steps)
        )

    def test_a_silent_host_ends_in_maximum_attenuation_within_a_tenth_of_a_second(self):
        # A whole message breaks the silence, and QEMU takes a byte about every half of a
        # millisecond.
        steps = [
            {"steps": pb.Steps(first=k, levels=bytes(22), last=k == 88)} for k in range(0, 110, 22)
        ]
        for _ in range(20):  # on a busy machine the first tries may be too early
            self.device.command("ABOR;*WAI;:INP:ATT:ALL 0")
            reply = self.at_once(
                {"open": pb.Open(channels=1, period_ticks=1, trigger=pb.BUS)},
                *steps,
                {"trigger": pb.Empty()},
            )
            if reply.error == 0 and reply.status.state in (pb.ARMED, pb.PLAYING):
                break
        else:
            self.fail(f"silent before all was said, 20 times: {reply}")
        last_word = reply.status
        maximum = [qemu_trace.Latch(c, 127) for c in range(8)]
        # A query would end the silence.
        self.until("maximum attenuation", lambda: time.sleep(0.05) or self.words()[-8:] == maximum)
        status = self.device.status()
        self.assertEqual(set(status.levels), {127})
        played = self.steps()
        # The reply to the host's last word tells the tick it was sent in, and how many steps had
        # been played by then: none yet, or those since. Silence ended in the tick after the last
        # step.
        quiet_ms = played[-1].number + 1 - last_word.played
        self.assertGreater(quiet_ms, 90)
        self.assertLessEqual(quiet_ms, 100)
        self.assertIn((202, "Host silent"), self.device.errors())

    def words(self):
        return [w for w in qemu_trace.outputs(self.trace) if isinstance(w, qemu_trace.Latch)]

    def test_the_watchdog_is_started_before_anything_else_and_fed_while_ticks_come(self):
        """QEMU has no watchdog: what is written to its registers is seen, that it bites is not."""

        def keys():
            return [
                value
                for address, value in qemu_trace.writes(self.trace)
                if address == qemu_trace.WATCHDOG_KEY
            ]

        def fed():
            return keys().count(0xAAAA)

        self.assertEqual(keys()[:3], [0xCCCC, 0x5555, 0xAAAA])
        first = next(qemu_trace.writes(self.trace))[0]
        # the flags of the last reset
        self.assertIn(first, ("0x40023874", qemu_trace.WATCHDOG_KEY))
        before, tick = fed(), self.device.status().tick
        self.until("a second of ticks", lambda: self.device.status().tick - tick > 1000)
        count = fed() - before
        self.assertGreater(count, 10)
        self.assertLess(count, (self.device.status().tick - tick) / 50 + 2)

    def test_settings_outlast_a_restart(self):
        self.device.command("INP1:SER ON")
        self.device.command("INP1:ATT 50.25;:INP4:ATT 3;:ROUT:SWIT 3;:SYST:WATC:TIM 0.2;*SAV 0")
        self.machine.end()
        self.trace.unlink()
        self.start()
        self.assertEqual(
            self.device.ask("INP:ATT:ALL?"), "50.25,31.75,3.00,31.75,31.75,31.75,31.75"
        )
        self.assertEqual(self.device.ask("ROUT:SWIT?;:SYST:WATC:TIM?"), "3;0.200")
        self.assertEqual(
            self.words()[:8],
            [qemu_trace.Latch(c, w) for c, w in enumerate([127, 74, 127, 12, 127, 127, 127, 127])],
        )


class ForeignClient(InQemu):
    def setUp(self):
        try:
            import pyvisa
        except ImportError:
            self.skipTest("python3-pyvisa-py is not installed")
        super().setUp()
        self.instrument = pyvisa.ResourceManager("@py").open_resource(
            f"ASRL{self.machine.port}::INSTR",
            baud_rate=921600,
            read_termination="\n",
            write_termination="\n",
            timeout=1000 * PATIENCE_S,
        )
        self.addCleanup(self.instrument.close)

    def test_common_commands_and_error_queue_are_those_of_ieee_488_2(self):
        ask, write = self.instrument.query, self.instrument.write
        self.assertRegex(ask("*IDN?"), "^OpenWIP,attenuator,0,[^,]+$")
        self.assertEqual(ask("*ESR?"), "128")
        write("INP1:ATT 12.5")
        self.assertEqual(ask("*OPC?"), "1")
        self.assertEqual(ask("INP1:ATT?"), "12.50")
        write("*RST")
        self.assertEqual(ask("*OPC?;:INP1:ATT?"), "1;31.75")
        self.assertEqual(ask("SYST:ERR?"), '0,"No error"')
        write("NONE:SUCH 1")
        write("INP1:ATT 99")
        self.assertEqual(ask("SYST:ERR:COUN?"), "2")
        self.assertEqual(ask("*ESR?"), "48")
        self.assertEqual(ask("SYST:ERR?"), '-113,"Undefined header"')
        self.assertEqual(ask("SYST:ERR?"), '-222,"Data out of range"')
        self.assertEqual(ask("SYST:ERR?"), '0,"No error"')
        for _ in range(20):
            write("NONE")
        last = [ask("SYST:ERR?") for _ in range(16)][-1]
        self.assertEqual(last, '-350,"Queue overflow"')
        write("*OPC")
        self.assertEqual(
            ask("*ESR?"), "41", "command and queue overflow errors, and operation complete"
        )
        self.assertEqual(ask("SYST:VERS?;*TST?"), "1999.0;0")


class CommandLine(InQemu):
    def openwip(self, *arguments):
        return subprocess.run(
            [TOP / "openwip", "attenuator", *arguments, "--port", self.machine.port],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | {"OPENWIP_NO_BUILD": "1"},
        )

    def play_trace(self):
        """Plays a trace of six slots, 1500 a second, in four steps of 1 ms, which take slots 0, 1,
        3 and 4. Returns the words that channel 1 gets in these steps and then holds."""
        with h5py.File(self.folder / "t.h5", "w") as f:
            f.attrs.update(
                {
                    "format": "openwip-snr-trace",
                    "version": 1,
                    "slots_per_second": 1500,
                    "bins": 25,
                    "channel": "steps",
                    "definition": "name: steps",
                    "software": "",
                    "seed": 1,
                    "mean_snr_db": 20.0,
                    "speed_kmh": 0.0,
                    "carrier_hz": 0.0,
                }
            )
            f["snr_db"] = numpy.repeat(
                numpy.float32([[20], [30], [80], [41], [-10], [0]]), 25, axis=1
            )
        before = len(self.steps())
        done = self.openwip("play", str(self.folder / "t.h5"), "--at-zero", "40")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("2 of 4 steps are clipped", done.stdout)
        return [s.latches[0].word for s in self.steps()[before:]]

    def test_a_trace_that_channel_render_wrote_is_played(self):
        trace = str(self.folder / "rendered.h5")
        subprocess.run(
            [
                TOP / "openwip",
                "channel",
                "render",
                "shadowing",
                "-o",
                trace,
                "--duration",
                "0.1",
                "--snr",
                "20",
            ],
            check=True,
            capture_output=True,
            env=os.environ | {"OPENWIP_NO_BUILD": "1"},
            timeout=60,
        )
        self.be_patient()
        done = self.openwip("play", trace, "--at-zero", "54")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("100 steps", done.stdout)

    def test_answers_that_came_late_are_not_taken_for_others(self):
        self.device.line.send(b"*IDN?\n" * 20)  # a client that gives up too early does this
        self.assertTrue(self.device.find().startswith("OpenWIP"))
        self.assertEqual(self.device.ask("SYST:VERS?"), "1999.0")

    def test_people_set_play_and_look(self):
        done = self.openwip("set", "all=20", "2=3.5", "--switch", "2", "--watchdog", "60000")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("20 3.5 20", done.stdout)
        for position in (1, 2, 3, 4):
            self.device.command(f"ROUT:SWIT {position}")
            code = position - 1  # code of the position, in binary on two pins
            self.until("the switch", lambda: self.pins()[-1] == qemu_trace.Pins(code, 3 & ~code))
        self.device.command("ROUT:SWIT 2")
        table = self.folder / "table.csv"
        table.write_text("# dB\n1,3\n" + "\n".join(f"{k % 30},{k % 7 + 0.25}" for k in range(300)))
        done = self.openwip("play", str(table), f"--json={self.folder / 'played.json'}")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        played = json.loads((self.folder / "played.json").read_text())
        self.assertEqual(
            (played["state"], played["played"], played["underflows"], played["errors"]),
            ("ended", 300, 0, []),
        )
        self.assertEqual(played["attenuation_db"][:3], [29.0, 3.5, 299 % 7 + 0.25])
        self.assertEqual(len(self.steps()), 300)
        done = self.openwip(
            "sweep",
            "--channel",
            "5",
            "--from",
            "10",
            "--to",
            "0",
            "--step",
            "2.5",
            "--period",
            "20",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([s.latches[4].word for s in self.steps()[300:]], [40, 30, 20, 10, 0])
        done = self.openwip("status")
        self.assertIn("ended", done.stdout)
        self.assertIn("switch 2", done.stdout)
        self.assertEqual(self.play_trace(), [80, 40, 0, 127])
        wrong = self.folder / "wrong.csv"
        wrong.write_text("1,3\n4,5\n6\n")
        for bad in (
            ("set", "9=3"),
            ("set", "1=64"),
            ("set",),
            ("play", "/nonexistent"),
            ("play", str(wrong)),
            ("sweep", "--step", "0"),
            ("sweep", "--to", "40"),
            ("play", "t.h5"),
        ):
            done = self.openwip(*bad)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (bad, done.stderr))
        done = self.openwip("set", "1=40")
        self.assertEqual((done.returncode, "error -222" in done.stderr), (1, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
