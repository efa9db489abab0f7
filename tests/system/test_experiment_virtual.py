# SPDX-License-Identifier: GPL-3.0-or-later
"""The small experiment of test_experiment.py without namespaces, rights and clock: in virtual time,
where nothing depends on what else the machine does."""

import json
import pathlib
import tempfile
import unittest

from demo_support import environment, openwip
from experiment_support import SMALL, runs_of

HAS_KERNEL = pathlib.Path(environment()["OPENWIP_BUILD"], "virtual-time", "linux").exists()


@unittest.skipUnless(HAS_KERNEL, "no Linux kernel for virtual time: ./openwip setup --virtual-time")
class InVirtualTime(unittest.TestCase):
    """The same files, and every attempt the same values."""

    def run_once(self, folder):
        file = pathlib.Path(folder, "S1.yaml")
        file.write_text(SMALL.replace("realisations: 1", "realisations: 2"))
        done = openwip(
            "experiment",
            str(file),
            "--time",
            "virtual",
            "--machine-cores",
            "2",
            "--out",
            f"{folder}/out",
            timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        comparison = json.loads(pathlib.Path(folder, "out", "comparison.json").read_text())[
            "experiments"
        ]["S1"]
        self.assertEqual(
            (comparison["counts"]["valid"], comparison["statements"][0]["holds"]), (6, "yes")
        )
        runs = runs_of(f"{folder}/out")
        for r in runs:  # the host's kernel, and the one whose TCP it was
            self.assertTrue(
                {"kernel", "virtual_kernel", "virtual_kernel_made_of"} <= set(r["versions"])
            )
            self.assertEqual(
                r["versions"]["virtual_kernel"], r["result"]["versions"]["virtual_kernel"]
            )
        return {
            (r["spec"]["workload"]["kind"], r["spec"]["realisation"]): r["result"]["workload"]
            for r in runs
        }

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
            self.assertEqual(
                (settings["sysctl"]["tcp_sack"], settings["sysctl"]["tcp_recovery"]), ("1", "0")
            )
        self.assertEqual(tcp["congestion_control"], "cubic")
        self.assertEqual((voip["sent"], voip["duplicates"]), (100, 0))
        self.assertLess(voip["loss"], 0.05)
        self.assertTrue(all(d > 10_000 for d in voip["delays_us"]))  # the wired delay
        self.assertEqual({kb: f["times"] for kb, f in flows["flows"].items()}, {"1": 3, "100": 2})
        # 2.5 round trips of more than the wired 20 ms
        self.assertGreater(flows["flows"]["1"]["session_s"], 0.05)
        # segments of 1448 bytes in 64096
        self.assertTrue(1 < flows["flows"]["100"]["window"] <= 45, flows)

    def test_variants_of_tcp_and_the_queue_of_a_bottleneck_are_settings_of_the_grid_and_read_back(
        self,
    ):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "S1.yaml")
            rest = "workload: tcp, channel: jakes, bottleneck_mbps: 1, wired_loss: 0.05"
            file.write_text(
                SMALL.replace(
                    "grid: {workload: [tcp, voip, flows], channel: jakes}",
                    f"""grid:
  - {{congestion_control: [bbr, westwood], rack: 1, tail_loss_probe: 3, sysctl.tcp_sack: 0, qdisc: fq_codel, {rest}}}
  - {{congestion_control: [vegas, veno, dctcp], rack: 0, tail_loss_probe: 0, sysctl.tcp_sack: 1, qdisc: fifo, {rest}}}
  - {{congestion_control: cubic, rack: [0, 1], tail_loss_probe: 0, sysctl.tcp_sack: 1, qdisc: [codel, cake], {rest}}}""",
                )
            )
            done = openwip("experiment", str(file), "--time", "virtual", "--out", f"{folder}/out")
            self.assertEqual(done.returncode, 0, done.stderr)
            runs = runs_of(f"{folder}/out")
        self.assertEqual(len(runs), 9)
        carried = {}
        for spec, r in ((run["spec"]["workload"], run["result"]["workload"]) for run in runs):
            control, qdisc, rack = (
                spec["congestion_control"],
                spec["qdisc"],
                spec["tcp"]["sysctl"]["tcp_recovery"],
            )
            self.assertEqual(r["congestion_control"], control)  # dctcp-reno, had it no ECN
            for end in ("base", "terminal"):
                sysctl = r["tcp_settings"][end]["sysctl"]
                self.assertEqual(
                    [sysctl[k] for k in ("tcp_recovery", "tcp_early_retrans", "tcp_sack")],
                    [str(rack), *(("3", "0") if qdisc == "fq_codel" else ("0", "1"))],
                )
            self.assertRegex(r["queue"], f"qdisc {'pfifo' if qdisc == 'fifo' else qdisc} ")
            self.assertLess(r["goodput_bps"], 1e6)
            self.assertGreater(r["goodput_bps"], 0.2e6)
            carried[control, qdisc, rack] = r["goodput_bps"], r["retransmits"], r["rtt_ms"]
        self.assertEqual(len(set(carried.values())), 9, carried)  # each is another one

    def test_a_link_over_which_nothing_comes_is_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "S1.yaml")
            file.write_text(SMALL.replace("[tcp, voip, flows]", "[tcp], snr: [-20]"))
            done = openwip("experiment", str(file), "--time", "virtual", "--out", f"{folder}/out")
            self.assertEqual(done.returncode, 0, done.stderr)
            (run,) = runs_of(f"{folder}/out")
        self.assertEqual((run["valid"], run["result"]["workload"]["goodput_bps"]), (True, 0))
        self.assertIn("connect", run["result"]["workload"]["problem"])

    def test_a_link_over_which_half_a_handshake_comes_is_a_result(self):
        # The sender has its SYN's answer, the receiver never hears of it and resets what comes
        # after it has given up (seen in A1).
        emulator = {
            "channel.snr_db": 16.0,
            "channel.model": "eva",
            "channel.speed_kmh": 44.3,
            "channel.symbol_noise": "on",
            "seed": 9,
            "link.bins": 10,
            "link.modulation": 5,
            "link.allocation": "static",
            "link.max_retransmissions": 7,
            "link.combining": "off",
            "link.packing": "off",
            "link.deliver_corrupt": "on",
            "uplink.kbps": 500.0,
            "wired.delay_ms": 10.0,
        }
        tcp = {
            "initial_window_segments": 3,
            "rto_min_ms": 200,
            "sysctl": {"tcp_recovery": 0, "tcp_early_retrans": 0, "tcp_ecn": 0},
        }
        work = {
            "kind": "tcp",
            "congestion_control": "cubic",
            "window_bytes": 64096,
            "tcp": tcp,
            "duration_s": 30,
        }
        with tempfile.TemporaryDirectory() as folder:
            spec, out = pathlib.Path(folder, "spec.json"), pathlib.Path(folder, "out.json")
            spec.write_text(
                json.dumps(
                    {
                        "format": 1,
                        "channel": "measured",
                        "emulator": emulator,
                        "workload": work,
                        "realisation": 9,
                        "time": "virtual",
                    }
                )
            )
            done = openwip("experiment-run", str(spec), str(out))
            self.assertEqual(done.returncode, 0, done.stderr)
            run = json.loads(out.read_text())
        self.assertTrue(run["valid"], run["attempts"])
        self.assertEqual(run["result"]["workload"]["goodput_bps"], 0)
        self.assertEqual(run["result"]["workload"]["problem"], "connect: the other end has none")


if __name__ == "__main__":
    unittest.main()
