# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate and validate from outside: refusals, a run with its sums, a file through a
fading channel, what a kill leaves behind, the generator."""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from emulate_support import BUILD, PATIENT, PLACES, PRIVILEGED, openwip
from openwip_cli.cell import cell as cells
from openwip_cli.errors import BadInput, CellDied
from openwip_cli.machine import system
from openwip_cli.runs import emulate, validate
from openwip_cli.settings import emulator


class Refusals(unittest.TestCase):
    def assert_refused(self, word, *arguments):
        code, _, err = openwip(*arguments)
        last = err.strip().splitlines()[-1]
        self.assertEqual(code, 2, err)
        self.assertIn(word, last)
        self.assertNotIn("Traceback", err)

    def test_a_bad_option_is_named(self):
        self.assert_refused("--bins", "emulate", "--bins", "26")
        self.assert_refused("--prediction-nmse", "emulate", "--prediction-nmse", "2")
        self.assert_refused("--bins-db", "emulate", "--bins-db", "8,x")
        self.assert_refused("--wired-loss", "emulate", "--wired-loss", "1.1")
        self.assert_refused("--duration", "validate", "--duration", "0")
        self.assert_refused("link.kind", "emulate", "--generator", "--link", "wlan")
        self.assert_refused("--pdu-octets", "emulate", "--link", "umts", "--pdu-octets", "3")

    def test_a_channel_that_is_not_there_is_named(self):
        self.assert_refused("nonsense", "emulate", "--generator", "--channel", "nonsense")
        self.assert_refused(
            "/tmp/missing.h5: cannot be read: No such file",
            "emulate",
            "--generator",
            "--channel",
            "/tmp/missing.h5",
        )

    def test_a_trace_is_played(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/t.h5"
            subprocess.run(
                [
                    BUILD / "host/channel/wip_channel",
                    "render",
                    "flat",
                    "-o",
                    trace,
                    "--seconds",
                    "0.5",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            for more in ((), ("--shadowing", "off")):
                code, out, err = openwip(
                    "emulate", "--generator", "--duration", "1", "--channel", trace, *more
                )
                self.assertEqual((code, err.count("openwip: ")), (0, 0), err)
                self.assertIn("verdict: VALID", out)
            self.assert_refused(
                "--shadowing is on",
                "emulate",
                "--generator",
                "--channel",
                trace,
                "--shadowing",
                "on",
            )

    def test_a_file_that_is_no_trace_is_refused(self):
        with tempfile.NamedTemporaryFile(suffix=".h5") as f:
            f.write(b"no trace at all")
            f.flush()
            self.assert_refused(
                f"{f.name}: is not an HDF5 file", "emulate", "--generator", "--channel", f.name
            )

    def assert_not_written(self, path):
        code, out, err = openwip("emulate", "--generator", "--duration", "1", f"--json={path}")
        self.assertEqual(code, 4, err)
        self.assertIn("verdict: ", out)
        self.assertEqual(
            err.strip().splitlines()[-1],
            f"openwip: --json {path}: cannot be written: No space left on device",
        )

    def test_a_report_that_cannot_be_written_is_on_the_screen_and_has_a_code_of_its_own(self):
        self.assert_not_written("/dev/full")

    @unittest.skipIf(os.geteuid() != 0, "mounting needs root")
    def test_a_full_disk_keeps_no_part_of_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder], check=True)
            try:
                pathlib.Path(folder, "full").write_bytes(bytes(4096))
                self.assert_not_written(pathlib.Path(folder, "report.json"))
                self.assertEqual(os.listdir(folder), ["full"])
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_the_predictor_is_refused_where_it_has_nothing_to_predict_from(self):
        self.assert_refused(
            "--terminals",
            "emulate",
            "--generator",
            "--prediction-nmse",
            "predictor",
            "--terminals",
            "2",
        )
        self.assert_refused(
            "missing.h5",
            "emulate",
            "--generator",
            "--prediction-nmse",
            "predictor",
            "--channel",
            "missing.h5",
        )

    def test_an_unknown_setting_is_refused(self):
        with self.assertRaises(BadInput):
            emulator.scenario_of({"link.bin": 3})


class Generator(unittest.TestCase):
    def generate(self, **settings):
        values = {k.replace("__", "."): v for k, v in settings.items()}
        return emulate.generate(emulator.scenario_of(values), 2, PLACES)[0]

    def test_a_rerun_is_the_same_and_another_seed_is_not(self):
        first, again, other = (self.generate(seed=s) for s in (1, 1, 2))
        self.assertEqual(first["link"], again["link"])
        self.assertNotEqual(first["link"], other["link"])
        self.assertTrue(first["verdict"]["valid"], first["verdict"]["reasons"])

    def test_capacity_is_the_theory_to_a_thousandth(self):
        for case in (("fixed", 13, 3), ("adaptive", 16, "adaptive")):
            row = validate.in_virtual_time(case, 5, PLACES)
            self.assertTrue(row["passed"], row)
            self.assertAlmostEqual(row["ratio"], 1, delta=0.001)

    def test_the_receivers_own_predictor_is_worse_than_the_truth_and_better_than_the_last_value(
        self,
    ):
        by_speed = [
            self.generate(
                channel__prediction_nmse="predictor", channel__speed_kmh=v, channel__shadowing="off"
            )["emulator"]["prediction_nmse"]
            for v in (10, 75)
        ]
        self.assertGreater(by_speed[0], 0)
        self.assertLess(by_speed[0], by_speed[1])
        self.assertLess(by_speed[1], 0.1)  # the last value: 0.7

    def test_the_truncation_of_the_text_comes_out(self):
        # table 5.6
        self.assertEqual(validate.truncation_bits(validate.frames_of("adaptive", 24)), 312)
        for k in range(1, 9):
            self.assertEqual(
                validate.truncation_bits(validate.frames_of(k, 13)), -12000 % (108 * k)
            )


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Running(unittest.TestCase):
    def run_cell(self, settings, workload, name, **around):
        return emulate.run(PATIENT | settings, workload, name=name, places=PLACES, **around)

    def test_iperf3_over_the_default_channel_ends_with_exact_sums(self):
        report = self.run_cell({"traffic.duration_s": 2}, None, "emutest1")
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])
        self.assertTrue(report["verdict"]["checks"]["telemetry"], report["verdict"]["reasons"])
        self.assertGreater(report["tcp"]["goodput_bps"], 1e6)
        self.assertGreater(sum(report["link"]["retransmission_histogram"][1:]), 0)
        self.assertEqual(
            report["packets"]["downlink"]["in"],
            sum(
                [
                    report["packets"]["downlink"]["delivered"],
                    *report["packets"]["downlink"]["dropped"].values(),
                ]
            ),
        )
        self.assertFalse(cells.Cell("emutest1").run.exists())

    def test_a_file_arrives_identical_over_a_fading_channel(self):
        data = os.urandom(1 << 20)

        def workload(cell):
            from openwip_cli.measure import traffic

            script = (
                "import socket,sys,hashlib\n"
                "s=socket.socket(); s.setsockopt(1,2,1); s.bind(('10.42.0.2',5400)); s.listen(1)\n"
                "print('listening',flush=True); c,_=s.accept(); h=hashlib.sha256()\n"
                "while d:=c.recv(65536): h.update(d)\n"
                "print(h.hexdigest())"
            )
            receiver = traffic.Program(cell.namespace("terminal"), [sys.executable, "-c", script])
            with tempfile.NamedTemporaryFile() as f:
                f.write(data)
                f.flush()
                receiver.wait(cell.supervisor, 10, until=lambda p: "listening" in p.stdout)
                sender = traffic.Program(
                    cell.namespace("base"),
                    [
                        sys.executable,
                        "-c",
                        (
                            "import socket,sys\ns=socket.create_connection(('10.42.0.2',5400))\n"
                            "s.sendall(open(sys.argv[1],'rb').read())"
                        ),
                        f.name,
                    ],
                )
                sender.wait(cell.supervisor, 60)
                receiver.wait(cell.supervisor, 60)
            digest = receiver.stdout.split()[-1]
            sender.kill(), receiver.kill()
            return {"digest": digest}

        # TCP fills any queue shorter than its window; what must not lose packets here is the link.
        report = self.run_cell({"link.bins": 25, "link.queue_packets": 1000}, workload, "emutest2")
        self.assertEqual(report["workload"]["digest"], hashlib.sha256(data).hexdigest())
        self.assertGreater(report["link"]["frames_failed"], 0)
        self.assertEqual(report["link"]["frames_given_up"], 0)
        self.assertEqual(report["packets"]["downlink"]["dropped"], {})
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])

    def test_everything_that_both_ends_publish_agrees_and_every_slot_can_be_recorded(self):
        from openwip_schema import control_pb2 as pb

        from openwip_cli.channel import record as channel_record
        from openwip_cli.messages import control
        from telemetry_support import Watched, check_all, stalled_reader

        def workload(cell):
            base = control.Control(cell.cell.endpoint("base.control"))
            base.ask(pb.Request(configure_yaml="telemetry: {slot_every: 1, receiver_every: 15}"))
            stalled = [stalled_reader(cell.cell.endpoint(f"{s}.telemetry")) for s in cells.STATIONS]
            with Watched(cell.cell) as watched:
                self.assertTrue(
                    watched.until(
                        lambda: watched.of("base", "slot") and watched.of("terminal", "slot")
                    )
                )
                self.assertEqual(
                    watched.run(
                        "ip",
                        "netns",
                        "exec",
                        cell.namespace("base"),
                        "ping",
                        "-n",
                        "-q",
                        "-c",
                        "300",
                        "-i",
                        "0.004",
                        "-s",
                        "900",
                        "10.42.0.2",
                    ),
                    0,
                )
                base.ask(pb.Request(configure_yaml="link: {bins: 9}"))
                self.assertTrue(
                    watched.until(lambda: ("base", "setting", "link.bins = 9") in watched.events())
                )
            with Watched(cell.cell) as longer:
                for delay_ms in (4, 2):  # slots are settled later, then several at once
                    base.ask(
                        pb.Request(configure_yaml=f"link: {{retransmission_delay_ms: {delay_ms}}}")
                    )
                    so_far = len(longer.of("base", "slot"))
                    self.assertTrue(
                        longer.until(lambda: len(longer.of("base", "slot")) > so_far + 200)
                    )
                slots = [m.slot for m in longer.of("base", "slot")]
                self.assertEqual(slots, list(range(slots[0], slots[0] + len(slots))))
            recording = channel_record.record(cell.cell, 600)
            for s in stalled:
                s.close()
            self.assertIn("slot_every: 1\n", base.status().effective_yaml)
            return {"watched": watched, "recording": recording}

        report = self.run_cell(
            {
                "link.bins": 10,
                "uplink.kbps": 5000,
                "channel.model": "jakes",
                "channel.snr_db": 16,
                "channel.symbol_noise": True,
            },
            workload,
            "emutest6",
        )
        self.assertTrue(report["verdict"]["checks"]["telemetry"], report["verdict"]["reasons"])
        watched, recording = report["workload"]["watched"], report["workload"]["recording"]
        check_all(self, watched)
        for sample in watched.samples("terminal").values():
            self.assertEqual(list(sample.true_snr_db), list(sample.snr_db))
        points = [m.receiver for m in watched.of("terminal", "receiver")]
        self.assertTrue(points)
        self.assertTrue(all(len(r.points) == 2 * sum(r.symbols_of_bin) > 0 for r in points))
        rows, gaps = recording.rows("refuse")
        self.assertEqual((rows.shape, gaps), ((600, 50), 0))

    def test_a_killed_emulator_is_named_and_nothing_is_left(self):
        def workload(cell):
            os.kill(cell.supervisor.pids["emulator"], signal.SIGKILL)
            cell.supervisor.pause(5)

        with self.assertRaises(CellDied) as raised:
            self.run_cell({}, workload, "emutest4")
        self.assertIn("emulator was killed by SIGKILL", str(raised.exception))
        self.assert_nothing_left("emutest4")

    def test_a_killed_launcher_leaves_nothing(self):
        launcher = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "openwip_cli",
                "emulate",
                "--name",
                "emutest5",
                "--duration",
                "60",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        cell = cells.Cell("emutest5")
        deadline = time.monotonic() + 30
        while not (cell.run / "pids" / "emulator").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        launcher.kill()
        launcher.wait()
        deadline = time.monotonic() + 10
        while cell.run.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assert_nothing_left("emutest5")

    def assert_nothing_left(self, name):
        cell = cells.Cell(name)
        self.assertFalse(cell.run.exists())
        for namespace in cell.namespaces:
            self.assertFalse(system.namespace_exists(namespace))


if __name__ == "__main__":
    unittest.main()
