# SPDX-License-Identifier: GPL-3.0-or-later
"""A terminal that moves between networks in a running cell: by hand, as planned, with what waits and
what is dropped counted to the packet; its report, record and journal."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from demo_support import wait_until
from emulate_support import PATIENT, PLACES, PRIVILEGED, openwip
from openwip_cli.cell import cell as cells
from openwip_cli.cell.program_check import check_config
from openwip_cli.commands import settings_command
from openwip_cli.errors import BadInput, CellDied
from openwip_cli.runs import emulate
from openwip_cli.settings.emulator import scenario_of

NAME = f"ho{os.getpid() % 100000}"
HETNET = PATIENT | {"link.kind": "hetnet"}


def ping(cell, *arguments):
    """Round trips in ms of the echoes that came back."""
    done = subprocess.run(
        ["ip", "netns", "exec", cell.namespace("base"), "ping", "-n", *arguments, "10.42.0.2"],
        capture_output=True,
        text=True,
    )
    return [float(t) for t in re.findall(r"time=([\d.]+) ms", done.stdout)]


class Refusals(unittest.TestCase):
    def test_the_command_refuses_what_does_not_fit_with_one_sentence(self):
        for arguments, said in (
            (["--link", "hetnet", "--buffering", "half"], "--buffering.*none.intermediate.full"),
            (["--link", "hetnet", "--handover-delay-s", "601"], "--handover-delay-s.*0..600"),
            (["--link", "hetnet", "--network-chain", "1"], "--network-chain.*--network-timer-s"),
            (
                ["--link", "hetnet", "--wired-loss", "0.1"],
                "--wired-loss is given with --link hetnet.*valid: with another --link",
            ),
            (
                ["--link", "hetnet", "--max-dat", "3"],
                "--max-dat is given with --link hetnet; valid: with --link umts",
            ),
            (
                ["--buffering", "full"],
                "--buffering is given with --link ofdm; valid: with --link hetnet",
            ),
        ):
            with self.subTest(arguments):
                code, _, error = openwip("emulate", *arguments)
                self.assertEqual(code, 2, error)
                self.assertRegex(error, said)
                self.assertNotIn("Traceback", error)

    def test_the_process_names_the_key_the_value_and_what_is_valid(self):
        for settings, said in (
            ({"hetnet.networks": "LTE"}, "hetnet.networks is LTE.*valid: WLAN, UMTS, GPRS"),
            ({"hetnet.network": "LTE"}, "hetnet.network is LTE.*valid: WLAN, UMTS, GPRS"),
            ({"hetnet.plan": "5@UMTS"}, "hetnet.plan is 5@UMTS.*30s"),
            (
                {"hetnet.network_timer_s": 1, "hetnet.network_chain": [1, 0]},
                "hetnet.network_chain.*9, a transition matrix of 3 rows of 3",
            ),
        ):
            scenario = scenario_of({"link.kind": "hetnet"} | settings)
            with self.subTest(settings), self.assertRaisesRegex(BadInput, said):
                check_config(
                    str(PLACES.path(emulate.PROGRAM)), emulate.config(cells.Cell("x"), scenario)
                )


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Handover(unittest.TestCase):
    def run_cell(self, settings, workload, **around):
        return emulate.run(HETNET | settings, workload, name=NAME, places=PLACES, **around)

    def check_sums(self, report):
        self.assertTrue(report["verdict"]["checks"]["sums"], report["verdict"]["reasons"])
        for way in ("downlink", "uplink"):
            p = report["packets"][way]
            self.assertEqual(p["in"], p["delivered"] + p["queued"] + sum(p["dropped"].values()))

    def test_a_running_terminal_is_moved_by_hand(self):
        def workload(cell):
            s = settings_command.RunningSettings(cell.name, cell.cell.endpoint)

            def mobility():
                s.read()
                return s.status["base"].mobility

            wlan = ping(cell, "-c", "3", "-i", "0.2")
            s.set({"hetnet.delay_s": 1.5, "hetnet.buffering": "full"})
            s.set({"hetnet.network": "UMTS"})
            waited = ping(cell, "-c", "1", "-W", "10")  # comes while the handover is under way
            wait_until(lambda: not mobility().handing_over, 10)
            umts = ping(cell, "-c", "3", "-i", "0.3")
            self.assertEqual(mobility().network, "UMTS")
            s.set({"hetnet.buffering": "none", "hetnet.network": "GPRS"})
            lost = ping(cell, "-c", "1", "-W", "1")
            wait_until(lambda: not mobility().handing_over, 10)
            gprs = ping(cell, "-c", "1", "-W", "10")
            with self.assertRaisesRegex(BadInput, "hetnet.network is LTE.*WLAN, UMTS, GPRS"):
                s.set({"hetnet.network": "LTE"})
            with self.assertRaisesRegex(BadInput, "hetnet.networks"):
                s.set({"hetnet.networks": "WLAN"})
            with self.assertRaisesRegex(
                BadInput, "channel.snr_db is 10: a link of kind hetnet has no such live setting"
            ):
                s.set({"channel.snr_db": 10})
            code, out, error = openwip("set", "--name", cell.name, "hetnet.network=WLAN")
            self.assertEqual(code, 0, error)
            wait_until(lambda: mobility().network == "WLAN", 10)
            return {"wlan": wlan, "waited": waited, "umts": umts, "lost": lost, "gprs": gprs}

        report = self.run_cell({}, workload)
        self.check_sums(report)
        w = report["workload"]
        # An echo of 84 bytes: eq. 7.1 both ways; later by as much as a busy machine likes.
        for network, least in (("wlan", 21.1), ("umts", 172.7), ("gprs", 742.0)):
            self.assertGreaterEqual(min(w[network]), round(least))
            self.assertLess(min(w[network]), 3 * least)
        self.assertGreater(w["waited"][0], 172)
        self.assertLess(w["waited"][0], 1500 + 3 * 172.7)
        self.assertEqual(w["lost"], [])
        self.assertEqual(report["packets"]["downlink"]["dropped"].get("handover_arrived"), 1)
        m = report["mobility"]
        self.assertEqual((m["handovers"], m["network"]), (3, "WLAN"))
        self.assertEqual([h["to"] for h in m["latest"]], ["UMTS", "GPRS", "WLAN"])
        for h in m["latest"]:
            self.assertAlmostEqual(h["over_s"] - h["began_s"], 1.5, places=6)
        self.assertLessEqual(
            {"hetnet.network", "hetnet.delay_s"}, {c["key"] for c in report["changes"]}
        )

    def test_a_plan_moves_it_and_the_setting_follows(self):
        def workload(cell):
            s = settings_command.RunningSettings(cell.name, cell.cell.endpoint)

            def network():
                s.read()
                return s.status["base"].mobility.network

            def setting():
                code, out, error = openwip("get", "--name", cell.name, "hetnet.network")
                self.assertEqual(code, 0, error)
                return out

            wait_until(lambda: network() == "UMTS", 20)
            wait_until(lambda: "UMTS" in setting(), 10)
            # Somebody changes something else: the terminal stays where it is.
            s.set({"hetnet.delay_s": 0.5})
            time.sleep(0.3)
            self.assertEqual(network(), "UMTS")
            s.set({"hetnet.network": "WLAN"})
            wait_until(lambda: network() == "WLAN", 10)
            return {}

        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "run.h5")
            report = self.run_cell(
                {"hetnet.plan": "2s@UMTS"}, workload, record=record, observers=True
            )
            self.check_sums(report)
            self.assertEqual(report["mobility"]["handovers"], 2)
            self.assertEqual(report["mobility"]["latest"][0]["began_s"], 2)
            done = subprocess.run(
                [sys.executable, "-m", "openwip_cli", "record", "info", record],
                capture_output=True,
                text=True,
            )
            self.assertIn("status    base", done.stdout)

    def test_the_journal_has_the_packets_of_both_directions(self):
        def workload(cell):
            told = subprocess.Popen(
                [sys.executable, "-m", "openwip_cli", "packets", "--name", cell.name]
                + ["--json", "--count", "4"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for _ in range(100):
                if told.poll() is not None:
                    break
                ping(cell, "-c", "2", "-i", "0.2")
            return {"told": [json.loads(x) for x in told.communicate(timeout=20)[0].splitlines()]}

        report = self.run_cell({"hetnet.network": "UMTS"}, workload)
        self.check_sums(report)
        told = report["workload"]["told"]
        self.assertEqual({t["uplink"] for t in told}, {False, True})
        for t in told:
            self.assertEqual(t["bytes"], 84)
            self.assertEqual(t["air_ns"], 96_000_000 if t["uplink"] else 76_750_000)
            self.assertEqual(t["total_ns"], t["queue_ns"] + t["scheduling_ns"] + t["air_ns"])

    def test_a_cell_that_is_killed_during_a_handover_is_named_and_nothing_is_left(self):
        def workload(cell):
            s = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
            s.set({"hetnet.delay_s": 60, "hetnet.buffering": "full"})
            s.set({"hetnet.network": "UMTS"})
            ping(cell, "-c", "1", "-W", "1")
            s.read()
            self.assertEqual(s.status["base"].mobility.waiting_packets, 1)
            os.kill(cell.supervisor.pids["emulator"], signal.SIGKILL)
            wait_until(lambda: not ping(cell, "-c", "1", "-W", "1"), 10)
            return {}

        with self.assertRaises(CellDied) as raised:
            self.run_cell({}, workload)
        self.assertIn("emulator was killed by SIGKILL", str(raised.exception))
        left = subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
        self.assertNotIn(NAME, left)


if __name__ == "__main__":
    unittest.main()
