# SPDX-License-Identifier: GPL-3.0-or-later
"""A small experiment of one's own through the real emulator: every application, interruption, resume. Nothing here
judges the pace."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from demo_support import TOP, cells, environment, left_of, openwip, wait_until

DEFAULTS = TOP / "flowgraphs" / "scenarios" / "experiments" / "defaults.yaml"
SMALL = f"""
title: every application
defaults: {DEFAULTS}
grid: {{workload: [tcp, voip, flows], channel: jakes}}
full: {{realisations: 1, duration_s: 2, flows: [{{kb: 1, times: 3}}, {{kb: 100, times: 2}}]}}
quick: {{}}
figures:
  - {{name: small, number: 0, kind: bars, x: workload, series: channel, metric: frame_error_rate}}
statements:
  - {{id: fer, source: here, says: frames fail on a fading channel, kind: value, metric: frame_error_rate, where: {{workload: tcp}}, least: 0.01}}
"""
LONG = SMALL.replace("[tcp, voip, flows]", "tcp").replace("realisations: 1, duration_s: 2", "realisations: 4, duration_s: 4")


def built():
    return pathlib.Path(environment()["OPENWIP_BUILD"], "host/emulator/wip_emulator").exists()


def snakemake():
    return pathlib.Path(environment()["OPENWIP_BUILD"], "campaigns/bin/snakemake").exists()


HAS_KERNEL = pathlib.Path(environment()["OPENWIP_BUILD"], "virtual-time", "linux").exists()


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "the emulator is not built")
@unittest.skipUnless(snakemake(), "no Snakemake: ./openwip setup --campaigns")
class Experiment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.file = self.folder / "S1.yaml"

    def arguments(self, *more):
        return ["experiment", str(self.file), "--cores", "1", "--out", str(self.out), *more]

    def runs(self):
        return [json.loads(p.read_text()) for p in (self.out / "runs").glob("*.json")]

    def start_and_wait(self, finished):
        p = subprocess.Popen([TOP / "openwip", *self.arguments()], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             text=True, env=environment())
        self.addCleanup(p.stderr.close)
        for line in p.stderr:
            if re.search(rf" {finished}/4 ", line):
                break

        def mine():
            return [cells.Cell(d.name) for d in cells.RUN_ROOT.glob("x[0-9]*") if (d / "pids" / "emulator").exists()]

        self.assertTrue(wait_until(mine, 20))
        return p, mine()

    def test_tcp_voip_and_file_transfers_with_what_each_measures(self):
        self.file.write_text(SMALL)
        done = openwip(*self.arguments())
        self.assertIn(done.returncode, (0, 1), done.stderr)
        by_kind = {r["spec"]["workload"]["kind"]: r for r in self.runs()}
        self.assertEqual(set(by_kind), {"tcp", "voip", "flows"}, done.stderr)
        for kind, run in by_kind.items():
            checks = dict(run["result"]["verdict"]["checks"])
            checks.pop("pacing")
            self.assertTrue(all(checks.values()), (kind, run["attempts"]))
        tcp, voip, flows = (by_kind[k]["result"]["workload"] for k in ("tcp", "voip", "flows"))
        self.assertGreater(tcp["goodput_bps"], 1e6)
        settings = tcp["tcp_settings"]["base"]
        self.assertIn("window 64096", settings["route"][0])
        self.assertEqual((tcp["congestion_control"], settings["sysctl"]["tcp_sack"]), ("cubic", "1"))
        self.assertEqual((voip["sent"], voip["duplicates"]), (100, 0))
        self.assertLess(voip["loss"], 0.05)
        self.assertTrue(all(d > 10_000 for d in voip["delays_us"]))      # the wired delay
        self.assertEqual({kb: f["times"] for kb, f in flows["flows"].items()}, {"1": 3, "100": 2})
        # 2.5 round trips of a connection that takes more than the wired 20 ms.
        self.assertGreater(flows["flows"]["1"]["session_s"], 0.05)

    def test_ctrl_c_leaves_nothing_and_resume_does_the_rest(self):
        self.file.write_text(LONG)
        p, up = self.start_and_wait(finished=1)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(30), 130)
        self.assertEqual([x for c in up for x in left_of(c)], [])
        before = {r["key"]: r["attempts"] for r in self.runs()}
        self.assertTrue(1 <= len(before) < 4, before)
        done = openwip(*self.arguments())
        self.assertIn(done.returncode, (0, 1), done.stderr)
        after = {r["key"]: r for r in self.runs()}
        self.assertEqual(len(after), 4)
        for key, attempts in before.items():
            if attempts[-1]["valid"]:
                self.assertEqual(after[key]["attempts"], attempts)

    def test_a_killed_experiment_leaves_nothing(self):
        self.file.write_text(LONG)
        p, up = self.start_and_wait(finished=1)
        p.kill()
        p.wait()
        self.assertTrue(wait_until(lambda: not [x for c in up for x in left_of(c)], 15), [left_of(c) for c in up])

    def test_bad_input_is_one_line_and_exit_code_2(self):
        self.file.write_text(SMALL.replace("tcp, voip, flows", "ftp"))
        for arguments, pattern in ((self.arguments(), "workload is 'ftp'; valid: tcp|flows|voip"),
                                   (["experiment", "A9"], "unknown experiment A9"),
                                   (["experiment", "A1", "--out", "/proc/x"], "cannot be written"),
                                   (["campaign", "A1", "--cores", "x"], "--cores is 'x'"),
                                   (["campaign", "A1", "--profile", "slurm"], "valid: --time virtual")):
            with self.subTest(arguments):
                done = openwip(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(pattern, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1)


@unittest.skipUnless(snakemake(), "no Snakemake: ./openwip setup --campaigns")
@unittest.skipUnless(HAS_KERNEL, "no Linux kernel for virtual time: ./openwip setup --virtual-time")
class InVirtualTime(unittest.TestCase):
    """The same experiment without namespaces, rights and clock: the same files, and every attempt the same values."""

    def run_once(self, folder):
        file = pathlib.Path(folder, "S1.yaml")
        file.write_text(SMALL.replace("realisations: 1", "realisations: 2"))
        done = openwip("experiment", str(file), "--time", "virtual", "--cores", "2", "--out", f"{folder}/out")
        self.assertEqual(done.returncode, 0, done.stderr)
        comparison = json.loads(pathlib.Path(folder, "out", "comparison.json").read_text())["experiments"]["S1"]
        self.assertEqual((comparison["counts"]["valid"], comparison["statements"][0]["holds"]), (6, "yes"))
        runs = [json.loads(p.read_text()) for p in pathlib.Path(folder, "out", "runs").glob("*.json")]
        for r in runs:      # the host's kernel, and the one whose TCP it was
            self.assertTrue({"kernel", "virtual_kernel", "virtual_kernel_made_of"} <= set(r["versions"]))
            self.assertEqual(r["versions"]["virtual_kernel"], r["result"]["versions"]["virtual_kernel"])
        return {(r["spec"]["workload"]["kind"], r["spec"]["realisation"]): r["result"]["workload"] for r in runs}

    def test_every_application_measures_what_it_does_in_real_time_and_the_same_twice(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            runs, again = self.run_once(one), self.run_once(two)
        for w in (*runs.values(), *again.values()):
            w.pop("wall_s")
        self.assertEqual(runs, again)
        tcp, voip, flows = (runs[k, 1] for k in ("tcp", "voip", "flows"))
        self.assertGreater(tcp["goodput_bps"], 1e6)
        self.assertLess(tcp["rtt_ms"], 500)
        for station in ("base", "terminal"):
            settings = tcp["tcp_settings"][station]
            self.assertIn("window 64096", settings["route"][0])
            self.assertIn("congctl cubic", settings["route"][0])
            self.assertEqual((settings["sysctl"]["tcp_sack"], settings["sysctl"]["tcp_recovery"]), ("1", "0"))
        self.assertEqual(tcp["congestion_control"], "cubic")
        self.assertEqual((voip["sent"], voip["duplicates"]), (100, 0))
        self.assertLess(voip["loss"], 0.05)
        self.assertTrue(all(d > 10_000 for d in voip["delays_us"]))      # the wired delay
        self.assertEqual({kb: f["times"] for kb, f in flows["flows"].items()}, {"1": 3, "100": 2})
        self.assertGreater(flows["flows"]["1"]["session_s"], 0.05)      # 2.5 round trips of more than the wired 20 ms
        self.assertTrue(1 < flows["flows"]["100"]["window"] <= 45, flows)      # segments of 1448 bytes in 64096

    def test_variants_of_tcp_and_the_queue_of_a_bottleneck_are_settings_of_the_grid_and_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "S1.yaml")
            rest = "workload: tcp, channel: jakes, bottleneck_mbps: 1, wired_loss: 0.05"
            file.write_text(SMALL.replace("grid: {workload: [tcp, voip, flows], channel: jakes}", f"""grid:
  - {{congestion_control: [bbr, westwood], rack: 1, tail_loss_probe: 3, sysctl.tcp_sack: 0, qdisc: fq_codel, {rest}}}
  - {{congestion_control: [vegas, veno, dctcp], rack: 0, tail_loss_probe: 0, sysctl.tcp_sack: 1, qdisc: fifo, {rest}}}
  - {{congestion_control: cubic, rack: [0, 1], tail_loss_probe: 0, sysctl.tcp_sack: 1, qdisc: [codel, cake], {rest}}}"""))
            done = openwip("experiment", str(file), "--time", "virtual", "--out", f"{folder}/out")
            self.assertEqual(done.returncode, 0, done.stderr)
            runs = [json.loads(p.read_text()) for p in pathlib.Path(folder, "out", "runs").glob("*.json")]
        self.assertEqual(len(runs), 9)
        carried = {}
        for spec, r in ((run["spec"]["workload"], run["result"]["workload"]) for run in runs):
            control, qdisc, rack = spec["congestion_control"], spec["qdisc"], spec["tcp"]["sysctl"]["tcp_recovery"]
            self.assertEqual(r["congestion_control"], control)      # dctcp-reno, had it no ECN
            for end in ("base", "terminal"):
                sysctl = r["tcp_settings"][end]["sysctl"]
                self.assertEqual([sysctl[k] for k in ("tcp_recovery", "tcp_early_retrans", "tcp_sack")],
                                 [str(rack), *(("3", "0") if qdisc == "fq_codel" else ("0", "1"))])
            self.assertRegex(r["queue"], f"qdisc {'pfifo' if qdisc == 'fifo' else qdisc} ")
            self.assertLess(r["goodput_bps"], 1e6)
            self.assertGreater(r["goodput_bps"], 0.2e6)
            carried[control, qdisc, rack] = r["goodput_bps"], r["retransmits"], r["rtt_ms"]
        self.assertEqual(len(set(carried.values())), 9, carried)      # each is another one

    def test_a_link_over_which_nothing_comes_is_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "S1.yaml")
            file.write_text(SMALL.replace("[tcp, voip, flows]", "[tcp], snr: [-20]"))
            done = openwip("experiment", str(file), "--time", "virtual", "--out", f"{folder}/out")
            self.assertEqual(done.returncode, 0, done.stderr)
            run, = (json.loads(p.read_text()) for p in pathlib.Path(folder, "out", "runs").glob("*.json"))
        self.assertEqual((run["valid"], run["result"]["workload"]["goodput_bps"]), (True, 0))
        self.assertIn("connect", run["result"]["workload"]["problem"])


if __name__ == "__main__":
    unittest.main()
