# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments of flowgraphs/scenarios: all are there, well formed in both sizes, and ask for
what the literature says."""

import json
import pathlib
import unittest

import yaml
from world import TOP

from openwip_cli.campaign import (
    command,
    experiment_file,
    experiments,
    figure_kinds,
    grid,
    one_run,
    options,
    plan,
    settings,
    tcp_settings,
    virtual_work,
)
from openwip_cli.errors import BadInput
from openwip_cli.machine import places


def dict_point(sender):
    return grid.Point((("method", "DI"), ("sender", sender), ("wired_delay_ms", 10.0)))


class Shipped(unittest.TestCase):
    def test_all_eleven_experiments_are_there_and_well_formed_in_both_sizes(self):
        umts = [
            "U-A1",
            "U-A10",
            "U-A2",
            "U-A3",
            "U-A4",
            "U-A5",
            "U-A6",
            "U-A7",
            "U-A8",
            "U-A9",
            "U-B1",
            "U-B10",
            "U-B11",
            "U-B12",
            "U-B13",
            "U-B14",
            "U-B15",
            "U-B2",
            "U-B3",
            "U-B4",
            "U-B5",
            "U-B6",
            "U-B7",
            "U-B8",
            "U-B9",
        ]
        self.assertEqual(
            experiments.known(TOP),
            ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2", "L1", *umts],
        )
        for mode in experiment_file.MODES:
            self.assertNotIn("U-A1", [e.name for e in options.load(TOP, ["all"], mode)])
            for time in ("virtual", "ns3"):
                for e in options.load(TOP, ["all"], mode, time):
                    with self.subTest(f"{e.name} {mode} {time}"):
                        self.assertTrue(e.points and e.tree["figures"] and e.tree["statements"])
                        axes = [
                            n
                            for f in e.tree["figures"]
                            for a in figure_kinds.AXES & set(f)
                            for n in (f[a] if isinstance(f[a], list) else [f[a]])
                        ]
                        # A figure without it is not drawn.
                        self.assertEqual([n for n in axes if n not in e.varied], [])
                        self.assertTrue(time == "ns3" or e.tree.get("time") != "ns3")
        listed = [line.split()[0] for line in command.listing(TOP).splitlines()[1:]]
        self.assertEqual(
            listed,
            [
                *experiments.known(TOP),
                *experiments.known(TOP, experiments.PLACES[1:]),
                *experiments.SETS,
            ],
        )
        self.assertIn("D-table", listed)
        self.assertNotIn(
            "D-table", [e.name for e in options.load(TOP, ["all"], "quick", "virtual")]
        )
        listed = options.load(TOP, ["chapter6"], "quick")  # B1 and B2 share some
        self.assertEqual(plan.count(listed), len(plan.unique_runs(listed)))
        self.assertLess(plan.count(listed), sum(plan.count([e]) for e in listed))

    def test_the_quick_set_is_planned_for_less_than_45_minutes_on_two_cores(self):
        def seconds(spec):
            """The applications, beside 5 s of cell; flows with their slow start, then the link at 4
            Mbit/s."""
            work, rtt = spec["workload"], 2 * spec["emulator"]["wired.delay_ms"] / 1000 + 0.008
            bits = [(f["times"], 8000 * f["kb"]) for f in work.get("flows", [])]
            return (
                5
                + work.get("duration_s", 0)
                + sum(n * (2.5 * rtt + rtt * min(4, b / 34752) + b / 4e6) for n, b in bits)
            )

        runs = plan.unique_runs(experiments.load(TOP, ["all"], "quick"))
        self.assertGreater(len(runs), 900)
        self.assertLess(sum(seconds(r.spec) for r in runs), 45 * 60 * 2 * options.PER_CORE["real"])

    def test_chapter_6_is_a_name_for_its_eleven_experiments_in_every_time(self):
        eleven = ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2"]
        for time in ("real", "virtual", "ns3"):
            self.assertEqual(
                [e.name for e in options.load(TOP, ["chapter6"], "quick", time)], eleven
            )
        runs = [
            len(plan.unique_runs(options.load(TOP, ["chapter6"], mode, "virtual")))
            for mode in experiment_file.MODES
        ]
        self.assertEqual(runs, [937, 32640])  # docs/explanation/virtual-time.md says so
        with self.assertRaisesRegex(
            BadInput,
            "unknown experiment chapter6; valid: A1, .*; or one of all, chapter6, with no other name"
            " beside it$",
        ):
            options.load(TOP, ["chapter6", "L1"], "quick")

    def test_every_reading_of_the_shadowing_sets_what_the_emulator_runs_with(self):
        files = sorted((TOP / "flowgraphs/scenarios/readings").glob("*.yaml"))
        self.assertEqual(len(files), 4)
        for e in options.load(TOP, [str(f) for f in files], "quick"):
            with self.subTest(e.name):
                specs = [e.run(p, 1).spec["emulator"] for p in e.points]
                readings = {4.0, 2.0, "off"} | (set() if "combining" in e.name else {2.97})
                self.assertEqual({spec["channel.shadowing"] for spec in specs}, readings)
                self.assertEqual({spec["channel.model"] for spec in specs}, {"jakes"})

    def test_the_shadowing_that_the_attenuator_plays_is_a_definition_of_the_tree(self):
        (e,) = options.load(TOP, [str(TOP / "flowgraphs/scenarios/attenuator-jakes.yaml")], "quick")
        specs = [e.run(p, 1).spec["emulator"] for p in e.points]
        self.assertEqual(
            [(s["channel.model"], s["channel.speed_kmh"]) for s in specs],
            [("jakes", 75)] * 2 + [("flowgraphs/scenarios/jakes-attenuator.yaml", 75)] * 2,
        )
        made = one_run.emulator_of({"emulator": specs[-1]}, places.default())
        self.assertEqual(made | {"channel.model": specs[-1]["channel.model"]}, specs[-1])
        played = yaml.safe_load(pathlib.Path(made["channel.model"]).read_text())
        self.assertEqual(played["based_on"], "jakes")
        self.assertEqual(
            played["attenuator"],
            yaml.safe_load((TOP / "channels/profiles/attenuator.yaml").read_text())["attenuator"],
        )

    def test_a_download_with_a_handover_is_planned_as_table_7_1_says(self):
        e = options.load(TOP, ["H-1"], "full", "virtual")[0]
        self.assertEqual(len(e.points), 4 * 3 * 4 * 2 * 2)
        for point in e.points:
            spec = e.run(point, 1).spec
            cell, work = spec["emulator"], spec["workload"]
            networks = cell["hetnet.networks"].split(",")
            begins = cell["hetnet.network"]
            (other,) = set(networks) - {begins}
            self.assertEqual(dict(point.settings)["channel"], f"{begins}-{other}")
            self.assertEqual(cell["hetnet.plan"], f"{2**20 // 2}B@{other}")
            self.assertEqual(work["window_bytes"], 65535)
            self.assertEqual(work["tcp"]["sysctl"]["tcp_window_scaling"], 0)
            self.assertAlmostEqual(work["flows"][0]["kb"] * 1000, 2**20, delta=500)

    def test_tcp_in_wcdma_cells_is_planned_as_the_slides_say(self):
        kept = json.loads((TOP / "docs/results/data/wcdma-chains.json").read_text())
        chains = {(c["rate"], f"{c['hz']} Hz {c['users']}"): c for c in kept["chains"]}
        for mode in experiment_file.MODES:
            for e in options.load(TOP, ["W-120", "W-240", "W-clean"], mode, "ns3"):
                self.assertEqual(e.duration_s, {"quick": 60, "full": 600}[mode])
                for point in e.points:
                    spec = e.run(point, 1).spec
                    cell, work = spec["emulator"], spec["workload"]
                    self.assertEqual((cell["umts.mode"], cell["terminals"]), ("um", 7))
                    rate = str(cell["umts.down_kbps"])
                    chain = chains.get((rate, dict(point.settings).get("method")))
                    self.assertEqual(chain is None, e.name == "W-clean")
                    if chain:
                        self.assertEqual(
                            (cell["umts.errors"], cell["umts.error_burst"]),
                            (chain["error"]["mean"], chain["burst"]),
                        )
                    tcp = tcp_settings.of_ns3(work, spec["tcp"])
                    self.assertEqual(
                        [tcp[k] for k in ("mss", "initial_window", "min_rto_ms", "delayed_acks")],
                        [960, 4, 200, "1"],
                    )
                    # Seven blocks of 1200 bits for 1000 bytes, or four of 2400.
                    blocks = {"120": 7, "240": 4}[rate]
                    self.assertEqual(
                        2 * cell["umts.one_way_ms"] + 10 * (blocks - 1),
                        {"120": 120, "240": 80}[rate],
                    )
                    flows = virtual_work.plan_of(cell, work).flows
                    self.assertEqual(len(flows), 7)
                    kind = {"ftp": "bulk"}.get(app := dict(point.settings)["application"], app)
                    self.assertEqual({f["kind"] for f in flows}, {kind})
                    self.assertEqual(flows[0].get("packets_per_s"), 1 if kind == "telnet" else None)

    def test_experiments_of_802_11_are_planned_in_virtual_time_and_not_among_all(self):
        names = sorted(p.stem for p in (TOP / "flowgraphs/scenarios/wlan").glob("D-*.yaml"))
        of_ns3 = ["D-ns2", "D-senders-2003"]
        names = [name for name in names if name not in of_ns3]
        then = options.load(TOP, of_ns3, "quick", "ns3")
        with self.assertRaisesRegex(BadInput, "valid: --time ns3"):
            options.load(TOP, ["D-senders-2003"], "quick", "virtual")
        of_file = {
            "mss": "1000",
            "initial_window": "2",
            "delayed_acks": "1",
            "granularity_ms": "10",
        }
        self.assertEqual(then[0].run(then[0].points[0], 1).spec["tcp"], of_file)
        over = options.load(TOP, ["D-ns2"], "quick", "ns3", {"mss": "1448"})[0]
        self.assertEqual(over.run(over.points[0], 1).spec["tcp"], of_file | {"mss": "1448"})
        for e in then + options.load(TOP, names, "quick", "virtual"):
            with self.subTest(e.name):
                spec = e.run(e.points[0], 1).spec
                self.assertEqual(
                    (e.duration_s, spec["emulator"]["link.kind"]),
                    (60, {"D-ofdm": "ofdm", "D-links": "umts"}.get(e.name, "wlan")),
                )
                flows = virtual_work.plan_of(spec["emulator"], spec["workload"]).flows
                self.assertEqual(len(flows), spec["emulator"]["terminals"])
                for f in flows:  # each ends at 61 s, is counted from 21 s on
                    self.assertTrue(1 <= f["start_s"] <= 11)
                    self.assertAlmostEqual(f["start_s"] + f["seconds"], 61)
                    self.assertAlmostEqual(f["start_s"] + f["measured_from_s"], 21)
        with self.assertRaisesRegex(BadInput, "valid: --time virtual"):
            options.load(TOP, ["D-table"], "quick")
        old, new = (
            options.load(TOP, ["D-table"], "quick", "virtual")[0]
            .run(p, 1)
            .spec["workload"]["sender"]
            for p in (dict_point("old-20"), dict_point("linux"))
        )
        self.assertEqual(
            (old["net/ipv4/tcp_rto_min_us"], old["net/ipv4/tcp_frto"], new), ("20000", "0", {})
        )
        e.settings |= {
            "workload": "uploads",
            "sysctl.tcp_sack": 0,
            "rack": 0,
            "qdisc": "fifo",
            "bottleneck_mbps": 5,
        }
        asked = virtual_work.plan_of(
            {"seed": 1, "terminals": 2}, e.spec(e.points[0], 1)["workload"]
        )
        self.assertLessEqual(
            {("net/ipv4/tcp_sack", "0"), ("net/ipv4/tcp_recovery", "0")}, set(asked.sysctls.items())
        )
        self.assertEqual(
            [
                side
                for side, command in asked.programs
                if "pfifo" in command and f"dev eth{side} " in command
            ],
            [1, 2],
        )

    def test_every_queue_discipline_meets_every_sender_and_both_delays(self):
        (e,) = options.load(TOP, ["Q-1"], "full", "virtual")
        specs = [e.run(p, 1).spec for p in e.points]
        kinds = settings.SETTINGS["queue"].kind.words
        self.assertEqual(
            {(s["emulator"]["link.queue"], s["emulator"]["link.queue_marking"]) for s in specs},
            {(kind, "sojourn") for kind in kinds}
            | {(kind, "predicted") for kind in kinds if kind != "drop_tail"},
        )
        self.assertEqual(len(e.points), 9 * 4 * 2)
        for s in specs:
            self.assertEqual(s["workload"]["packet_delays"], "on")
            self.assertEqual(s["workload"]["window_bytes"], 0)
            self.assertNotIn("link.queue_target_ms", s["emulator"])  # those of the RFCs
        with self.assertRaisesRegex(BadInput, "valid: --time virtual"):
            options.load(TOP, ["Q-1"], "full", "real")

    def test_full_size_is_that_of_the_text(self):
        for e in experiments.load(TOP, ["all"], "full"):
            self.assertEqual((e.realisations, e.duration_s), (30, 30), e.name)

    def test_defaults_are_those_of_table_a_1(self):
        e = experiments.load(TOP, ["B1"], "full")[0]
        spec = e.run(e.points[0], 1).spec
        expected = {
            "link.bins": 10,
            "link.modulation": "adaptive",
            "link.allocation": "best",
            "link.switch_table": "nmse_0_1",
            "channel.prediction_nmse": 0.1,
            "link.max_retransmissions": 30,
            "link.retransmission_delay_ms": 2,
            "link.combining": "on",
            "link.deliver_corrupt": "on",
            "link.queue_packets": 54,
            "wired.delay_ms": 10,
            "wired.loss": 0,
            "uplink.kbps": 500,
            "channel.snr_db": 16,
        }
        self.assertEqual({k: spec["emulator"][k] for k in expected}, expected)


if __name__ == "__main__":
    unittest.main()
