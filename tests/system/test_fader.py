# SPDX-License-Identifier: GPL-3.0-or-later
"""The fader between software USRPs on cables: the medium is nothing but the cables."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw
import pictures as png
import screen as screens
from demo_support import GENTLE, TOP, Demo, environment, openwip, wait_until
from openwip_cli.figures import checks, fading, through_radios
from openwip_cli.figures.facts import Facts
from openwip_cli.iq import recordings
from openwip_cli.messages import control
from uhd_support import BUILD, Medium

HERE = pathlib.Path(__file__).resolve().parent
FADER = BUILD / "host/cabled/wip_fader"
NODES = "{base: {}, fader-base: {}, fader-terminal: {}, terminal: {}}"
CABLES = "[{from: base, to: fader-base}, {from: fader-terminal, to: terminal}]"
AIR = "clock: lockstep, speed: 0, wait_for: {transmitters: 2, receivers: 2}"
DELAY = 12345  # samples


def station(what, args, *numbers):
    return subprocess.Popen(
        [sys.executable, HERE / "uhd_station.py", what, args, *map(str, numbers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class Fader:
    """wip_fader with a configuration, at nodes of a medium."""

    def __init__(self, air, change=None):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-test-")
        config = {
            "air": {
                "name": "cabled",
                "control": f"ipc://{self.folder.name}/control",
                "priority": 0,
            },
            "fader": {"delay_samples": DELAY, "start_delay_s": 0.05},
            "nodes": {n: {"radio": air.args(f"fader-{n}")} for n in ("base", "terminal")},
            "paths": [{"from": "base", "to": "terminal"}],
        }
        if change:
            change(config)
        self.file = pathlib.Path(self.folder.name) / "fader.yaml"
        self.file.write_text(yaml.safe_dump(config))
        self.process = subprocess.Popen(
            [FADER, "--config", self.file],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        text = "" if self.process.stdout.closed else self.process.communicate(timeout=10)[0]
        self.folder.cleanup()
        return text

    def ask(self):
        other = Medium.__new__(Medium)  # the same control protocol
        import zmq

        other.context, other.endpoint = zmq.Context.instance(), f"ipc://{self.folder.name}/control"
        return other.ask().air


def any_answer(fader):
    """The samples it has received so far; -1: it does not answer yet."""
    import zmq

    try:
        return fader.ask().now
    except zmq.ZMQError:
        return -1


@unittest.skipUnless(FADER.exists(), "wip_fader is not built")
class Cabled(unittest.TestCase):
    def test_a_stream_comes_through_with_every_bit_exactly_the_delay_later(self):
        with Medium(AIR, NODES, CABLES) as air:
            fader = Fader(air)
            self.addCleanup(fader.end)
            receiver = station("receive", air.args("terminal"), 1_000_000, DELAY)
            sender = station("send", air.args("base"), 1_000_000 + 2**19)
            text = receiver.communicate(timeout=60)[0]
            self.assertEqual(receiver.returncode, 0, text)
            status = fader.ask()
            self.assertEqual(status.clock, "fader")
            self.assertEqual(status.delay_samples, DELAY)
            (sounded,) = status.soundings
            self.assertEqual(
                (sounded.not_judged, getattr(sounded, "from"), sounded.to), ("", "base", "terminal")
            )
            self.assertLess(sounded.residual_db, -60)  # there is neither noise nor fading
            self.assertEqual(
                [(list(p.tap_delay_us), list(p.tap_gain_db)) for p in status.fader_paths],
                [([0.0], [0.0])],
            )
            self.assertEqual(
                (
                    status.late,
                    status.underflows,
                    status.overflows,
                    status.lost_samples,
                    status.clipped,
                ),
                (0,) * 5,
            )
            self.assertGreater(status.now, 768000 + 1_000_000)
            self.assertEqual(
                [(n.name, n.radio) for n in status.nodes],
                [(n, air.args("fader-" + n)) for n in ("base", "terminal")],
            )
            sender.communicate(timeout=20)

    def test_it_ends_when_asked_and_its_radios_are_free_again(self):
        # time to begin
        with Medium(
            "clock: lockstep, speed: 1, wait_for: {transmitters: 1, receivers: 1}", NODES, CABLES
        ) as air:
            for _ in range(2):
                fader = Fader(air)
                deadline = time.monotonic() + 10
                while fader.ask().now == 0 and time.monotonic() < deadline:
                    time.sleep(0.02)
                fader.process.send_signal(signal.SIGTERM)
                code = fader.process.wait(5)
                text = fader.end()
                self.assertEqual((code, text.count("asked to stop")), (0, 1), text)
                self.assertIn(
                    "sent: 0 late, 0 underflows, 0 stalls; received: 0 overflows, 0 gaps (0"
                    " samples), 0 silences; 0 clipped",
                    text,
                )

    def test_one_of_several_paths_changes_by_its_name_in_fader_and_medium_alike(self):
        def both_ways(config):
            config["nodes"]["terminal"]["noise_dbfs"] = -40
            config["paths"] += [{"from": "terminal", "to": "base", "channel": "epa"}]

        def answer(what, of, *words, code=0):
            done = openwip(what, "--control", of, *words)
            self.assertEqual(done.returncode, code, done)
            return done.stdout if code == 0 else done.stderr

        with Medium(
            "clock: lockstep, speed: 1, wait_for: {transmitters: 2, receivers: 2}", NODES, CABLES
        ) as air:
            fader = Fader(air, both_ways)
            self.addCleanup(fader.end)
            self.assertTrue(wait_until(lambda: any_answer(fader) > 0, 10))
            of, path, other = f"ipc://{fader.folder.name}/control", "base:terminal", "terminal:base"
            printed = answer("set", of, "--path", path, "channel.model=jakes", "channel.snr_db=20")
            self.assertRegex(
                printed,
                rf"(?s)paths.{path}.channel.model +none -> jakes  from slot \d+ .*snr_db +\S+ dB ->"
                r" 20 dB",
            )
            printed = answer(
                "set",
                of,
                f"paths.{path}.channel.blackout=on",
                f"paths.{other}.channel.speed_kmh=75",
            ).splitlines()
            self.assertEqual(
                (len(printed), len({line.rpartition("from slot")[2] for line in printed})),
                (2, 1),
                "at the same slot",
            )
            self.assertRegex(
                answer("get", of),
                f"(?s)paths.{path}.channel.model +jakes.*paths.{other}.channel.speed_kmh +75 km/h",
            )
            self.assertIn(
                f"with --path, one of: {path}, {other}",
                answer("set", of, "channel.model=flat", code=2),
            )
            printed = answer("set", air.endpoint, "--path", "base:fader-base", "channel.model=flat")
            self.assertRegex(
                printed, "paths.base:fader-base.channel.model +none -> flat  from slot"
            )
            self.assertIn(
                "--path is base; valid: base:fader-base, fader-terminal:terminal",
                answer("set", air.endpoint, "--path=base", "channel.snr_db=3", code=2),
            )

    def is_mostly_on_time(self, fader):
        """Fewer than 100 of the thousand packets of 0.3 s are late: a machine that does other work
        may make some of them late, a burst that stays late all."""
        late = fader.ask().fader_radios.late
        time.sleep(0.3)
        return fader.ask().fader_radios.late - late < 100

    def test_what_is_lost_is_said_at_its_end_and_is_its_exit_code(self):
        """Alone and with recordings: 0.3 s without the fader, on a clock that does not wait."""
        with Medium("clock: realtime", NODES, CABLES) as air:
            fader = Fader(air)
            self.addCleanup(fader.end)
            fader.process.kill()
            fader.process.wait(5)
            run = subprocess.Popen(
                [
                    TOP / "openwip",
                    "fader",
                    fader.file,
                    "--record",
                    pathlib.Path(fader.folder.name) / "run",
                    "--duration",
                    "0.01",
                ],
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self.addCleanup(lambda: run.poll() is None and run.kill())
            self.assertTrue(wait_until(lambda: run.poll() is not None or any_answer(fader) > 0, 30))
            (program,) = subprocess.run(
                ["pgrep", "-f", f"wip_fader --config {fader.file}"], capture_output=True, text=True
            ).stdout.split()
            os.kill(int(program), signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(int(program), signal.SIGCONT)
            self.assertTrue(
                wait_until(
                    lambda: run.poll() is not None
                    or any(getattr(fader.ask().fader_radios, n) for n in ("late", "underflows")),
                    10,
                )
            )
            # A device that was late stays late until its burst has ended and a gap has passed.
            self.assertTrue(wait_until(lambda: self.is_mostly_on_time(fader), 10))
            time.sleep(1.5)
            run.terminate()
            text = run.communicate(timeout=20)[0]
            self.assertEqual(run.returncode, 1, text)
            # then, and at the end
            self.assertRegex(
                text.partition("asked to stop")[0],
                r"within a second: sent: \d+ late, [^\n]*\n(.*\n)*.*sent: ",
            )
            self.assertRegex(text, r"sent: \d+ late, \d+ underflows, 0 stalls; received: ")
            self.assertNotIn("sent: 0 late, 0 underflows", text)

    def test_what_cannot_be_is_refused_in_one_line(self):
        def refused(change, words, code=2):
            with Medium(AIR, NODES, CABLES) as air:
                fader = Fader(air, change)
                text = fader.process.communicate(timeout=20)[0]
                fader.folder.cleanup()
                self.assertEqual(fader.process.returncode, code, text)
                lines = [line for line in text.splitlines() if "[INFO] [UHD]" not in line]
                self.assertEqual(len(lines), 1, text)
                self.assertRegex(lines[0], words)

        refused(
            lambda c: c["fader"].update(delay_samples=2000),
            "fader.delay_samples is 2000; valid: at least twice fader.piece_samples, 2560",
        )
        refused(
            lambda c: c["nodes"]["terminal"].update(radio=c["nodes"]["base"]["radio"]),
            "nodes.terminal.channel is 0; valid: another one",
        )
        refused(lambda c: c["nodes"]["base"].update(channel=3), "channel 3 of 1 receive channels")
        for side, valid in (("receive", "-40..60"), ("transmit", "-80..20")):
            refused(
                lambda c: c["nodes"]["base"].update({f"{side}_gain_db": 70}),
                rf"nodes.base.{side}_gain_db is 70; valid with this radio: {valid} dB",
            )

        def both_on_a_b210(config):
            radio = config["nodes"]["base"]["radio"] + ":fader-terminal,product=b210"
            config["nodes"] = {
                node: {"radio": radio, "channel": i} for i, node in enumerate(("base", "terminal"))
            }

        refused(
            both_on_a_b210,
            r"nodes.terminal.radio is .*: its master clock is 61440000.0* Hz; valid: up to"
            r" 30720000 for two channels "
            r"\(master_clock_rate=30.72e6\)",
        )
        refused(lambda c: c.update(paths=[]), "paths is empty; valid: one or more")
        refused(
            lambda c: c["nodes"]["base"].update(radio=c["nodes"]["base"]["radio"] + "x"),
            "no node 'fader-basex'",
        )


@unittest.skipUnless(FADER.exists(), "wip_fader is not built")
class OnItsOwnCable(unittest.TestCase):
    """The fader's transmitter is cabled to its receiver, without stations."""

    def test_what_its_radios_do_is_measured_and_both_sides_are_recorded(self):
        faults = (
            "noise_dbfs: -70, impairments: [{dc_offset: {dbfs: -45}}, {iq_imbalance:"
            " {image_rejection_db: 20}}]"
        )
        with Medium(
            "clock: lockstep, speed: 1, wait_for: {transmitters: 1, receivers: 1}",
            f"{{fader-base: {{{faults}}}, fader-terminal: {{}}}}",
            "[{from: fader-terminal, to: fader-base, gain_db: -20, delay_samples: 9}]",
        ) as air:
            fader = Fader(air)
            self.addCleanup(fader.end)
            fader.process.kill()
            folder = pathlib.Path(fader.folder.name)
            out = folder / "calibration.json"
            done = openwip("fader", "calibrate", str(fader.file), "--out", str(out))
            # The power of the image alone.
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(
                [
                    line.split(":")[0]
                    for line in done.stdout.splitlines()
                    if line.startswith("COSTS")
                ],
                ["COSTS image, base to terminal"],
            )
            found = json.loads(out.read_text())
            self.assertIn("fader-base", found["devices"]["base"]["radio"])
            printed = {node: d["found"]["serial"] for node, d in found["devices"].items()}
            # The value that the device reports.
            self.assertEqual(printed, {n: f"{air.name}.fader-{n}" for n in ("base", "terminal")})
            self.assertRegex(found["date"], r"^20\d\d-\d\d-\d\dT[\d:]+Z$")
            (path,) = found["paths"]
            self.assertEqual(path["delays"], [9] * 20)
            for g, sent in zip(path["gain_db"], (-10, -20, -30)):
                self.assertEqual(g["sent_dbfs"], sent)
                self.assertAlmostEqual(g["gain_db"], -20, delta=0.1)
            for key, value in (
                ("noise_dbfs", -70),
                ("dc_dbfs", -45),
                ("dc_sending_dbfs", -45),
                ("image_db", 20),
            ):
                # the image of the constant is another one
                self.assertAlmostEqual(path[key], value, delta=1)
            self.record(fader, folder)

    def record(self, fader, folder):
        process = subprocess.Popen(
            [
                TOP / "openwip",
                "fader",
                fader.file,
                "--record",
                folder / "run",
                "--duration",
                "0.02",
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(lambda: process.poll() is None and process.kill())
        files = [folder / f"run-{side}.sigmf-data" for side in ("base-input", "terminal-output")]
        self.assertTrue(
            wait_until(
                lambda: process.poll() is not None
                or all(f.exists() and f.stat().st_size >= 8 * 153600 for f in files),
                60,
            )
        )
        process.terminate()
        printed = process.communicate(timeout=30)[0]
        self.assertEqual(process.returncode, 0, printed)
        # checks them
        sides = [
            recordings.Recording(folder / f"run-{side}")
            for side in ("base-input", "terminal-output")
        ]
        self.assertEqual(
            [(r.whole["openwip:node"], r.whole["openwip:side"], r.samples) for r in sides],
            [("base", "input", 153600), ("terminal", "output", 153600)],
        )
        began = [r.captures[0]["core:global_index"] for r in sides]
        self.assertEqual(began[1] - began[0], DELAY)
        heard, sent = (numpy.fromfile(r.data_path, numpy.complex64) for r in sides)
        # The time after the sounding.
        self.assertTrue((heard[20000:] == sent[20000:]).all() and heard[20000:].any())
        self.assertEqual(openwip("iq", "info", str(sides[0].meta_path)).returncode, 0)
        self.assertIn(
            "openwip:role is 'fader'; valid: terminal",
            openwip("iq", "replay", str(sides[0].meta_path)).stderr,
        )


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(FADER.exists(), "wip_fader is not built")
class Cell(unittest.TestCase):
    """demo --air cabled."""

    def test_its_channel_changes_in_the_fader_and_the_run_names_it_when_it_dies(self):
        name = f"f{os.getpid() % 100000}"
        run = Demo(
            name,
            *GENTLE,
            "--air",
            "cabled",
            "--product",
            "b210",
            # The gains have no error of their own, so that all that is heard is the fader's.
            *("--base-radio", "analog=0", "--fader-radio", "analog=0"),
            *("--terminal-radio", "analog=0"),
            "--duration",
            "60",
            "--pings",
            "5",
        )
        self.addCleanup(run.close)
        run.wait_for("TCP download")
        self.assertEqual(openwip("get", "--name", name, "channel.snr_db").stdout.split()[1], "16")
        done = openwip("set", "--name", name, "channel.snr_db=22.5", "channel.model=epa")
        self.assertEqual(done.returncode, 0, done.stderr)
        status = control.Control(run.cell.endpoint("air.control")).status(5)
        self.assertEqual(status.delay_samples, 10240)
        self.assertIn("snr_db: 22.5", status.effective_yaml)
        self.assertIn("model: epa", status.effective_yaml)
        self.assertEqual(
            (status.late, status.underflows, status.overflows, status.lost_samples), (0,) * 4
        )
        self.assertEqual(len(status.nodes), 4)
        of_fader = control.Control(run.cell.endpoint("fader.control")).status(5)
        # It also reports the total of which clipped samples are a share.
        self.assertTrue(0 < of_fader.slots <= status.slots + 1500, (of_fader.slots, status.slots))
        (sounded,) = status.soundings
        self.assertLess(sounded.residual_db, sounded.limit_db)
        self.through_the_radios(
            status, control.Control(run.cell.endpoint("terminal.control")).status(5).radio
        )
        # The retransmission delay cannot become shorter than the way through the fader.
        done = openwip("set", "--name", name, "link.retransmission_delay_ms=3")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(
            "its 5 slots are fewer than link.transmit_lead_slots = 0 + link.fader_slots = 3 + 3 for the"
            " feedback; valid: 4 ms or more",
            done.stderr,
        )

        def signal_received():
            return (
                control.Control(run.cell.endpoint("terminal.control")).status(5).radio.mean_snr_db
                > 19
            )

        self.assertTrue(wait_until(signal_received, 10))
        if mw.PROGRAM.exists() and not screens.missing():
            self.see_it(name)
        run.kill("fader")
        self.assertEqual(run.ended(30), 3, run.output)
        self.assertRegex(run.output, "(?m)^openwip: fader was killed by SIGKILL")

    def test_what_its_radios_receive_and_send_is_recorded_with_the_runs_verdict(self):
        """With awgn the output is the input, later by both delays, with noise."""
        name = f"r{os.getpid() % 100000}"
        with tempfile.TemporaryDirectory(prefix="openwip-fader-") as folder:
            base, report = pathlib.Path(folder, "run"), pathlib.Path(folder, "report.json")
            done = openwip(
                "demo",
                "--name",
                name,
                *GENTLE,
                "--air",
                "cabled",
                "--channel",
                "awgn",
                "--snr",
                "20",
                "--duration",
                "1",
                "--pings",
                "5",
                "--record-iq-fader",
                str(base),
                "--record-iq-seconds",
                "0.3",
                f"--json={report}",
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertRegex(
                done.stderr, "recorded .*run-base-input.sigmf-data: 0.300 s, 0 samples lost"
            )
            # checks them
            sides = [
                recordings.Recording(f"{base}-{side}") for side in ("base-input", "terminal-output")
            ]
            self.assertEqual(
                [(r.whole["openwip:node"], r.whole["openwip:side"], r.samples) for r in sides],
                [("base", "input", 2304000), ("terminal", "output", 2304000)],
            )
            began = [r.captures[0]["core:global_index"] for r in sides]
            self.assertEqual(began[1] - began[0], 10240)
            printed = json.loads(report.read_text())
            for r in sides:
                self.assertEqual(
                    (
                        r.whole["openwip:verdict"]["valid"],
                        r.whole["openwip:scenario"]["air"]["over"],
                    ),
                    (printed["verdict"]["valid"], "cabled"),
                )
            heard, sent = (numpy.fromfile(r.data_path, numpy.complex64)[-100_000:] for r in sides)
            self.assertGreater(10 * numpy.log10(numpy.mean(numpy.abs(heard) ** 2)), -30)
            # the path's own delay
            self.assertAlmostEqual(
                10 * numpy.log10(numpy.mean(numpy.abs(sent[6:] - heard[:-6]) ** 2)),
                -33.14,
                delta=0.2,
            )

    def through_the_radios(self, air, terminal):
        """The terminal's report of the base station's bursts is the fader's, and nothing else is in
        it."""
        found = through_radios.compare(air.bursts, terminal.bursts)
        self.assertEqual((found["bursts"], found["wrong"], found["not_judged"]), (8, [], ""), found)
        self.assertAlmostEqual(found["gain_db"], 0, delta=0.2)
        self.assertEqual(
            checks.evaluate(Facts(fader=fading.fader_of(air, terminal)))["reasons"], []
        )
        for b in air.bursts:  # reported with an echo of -6 dB 1 us later
            expected = numpy.array(through_radios.complex_of(b.burst)) * (
                1 + 0.5 * numpy.exp(-2j * numpy.pi * 0.15 * numpy.arange(32))
            )
            b.burst.response[:] = expected.view(float).tolist()
        (printed,) = checks.evaluate(Facts(fader=fading.fader_of(air, terminal)))["reasons"]
        self.assertRegex(
            printed, "^fader: through the radios the channel is .* off the commanded one"
        )

    def see_it(self, name):
        """The monitor's view, in a real window."""
        with (
            tempfile.TemporaryDirectory(prefix="openwip-monitor-") as folder,
            screens.Screen("1920x1400") as screen,
            mw.Window(screen, pathlib.Path(folder), "--name", name) as window,
        ):
            window.wait_for(
                lambda w: w["views"]["fader"]["lines"] > 15, "the fader's view has data", 60
            )
            pictures = window.pictures()
            shown = mw.inside_axes(pictures / "fader.png")
            self.assertGreater(int((shown == mw.SERIES[0]).sum()), 10, "input")
            self.assertGreater(int((shown == mw.SERIES[1]).sum()), 10, "output")
            self.assertGreater(
                int((png.load(pictures / "fader.png") == mw.SERIES[2]).sum()), 60, "taps"
            )
            with open(pictures / "fader.csv", newline="") as f:
                rows = list(csv.DictReader(f))
        taps = [float(row["tap_delay_us"]) for row in rows if row["tap_delay_us"]]
        self.assertEqual(len(taps), 7)  # the paths of channel epa
        self.assertAlmostEqual(taps[-1] - taps[0], 0.41, places=3)
        levels = [row for row in rows if row["input_dbfs"]]
        self.assertTrue(all(row["lost_samples"] == "0" for row in levels))
        # -15 dBFS with every bin in use
        self.assertTrue(-25 < float(levels[-1]["input_dbfs"]) < -14, levels[-1])

    def test_a_loop_shorter_than_the_fader_is_refused(self):
        done = openwip("demo", "--air", "cabled", "--retransmission-delay-ms", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            "--retransmission-delay-ms is 3: its 5 slots are fewer than --transmit-lead-slots = 0 +"
            " link.fader_slots = 3 + 3 for the feedback; valid: 4 ms or more",
            done.stderr,
        )


if __name__ == "__main__":
    unittest.main()
