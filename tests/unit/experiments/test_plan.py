# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario files of experiments: what they expand to, what a run is identified by, and what is
refused."""

import pathlib
import unittest

import world
import yaml
from world import DEFAULTS, SMALL, TOP, World

from openwip_cli.campaign import (
    command,
    metrics,
    one_run,
    options,
    plan,
    runner,
    settings,
    tcp_settings,
    virtual_work,
    workloads,
)
from openwip_cli.errors import BadInput
from openwip_cli.machine import places


class Grid(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_every_combination_is_a_point_and_every_point_has_every_realisation(self):
        e = self.world.experiment()
        self.assertEqual(len(e.points), 8)
        self.assertEqual(len(e.runs()), 32)
        self.assertEqual(len({r.key for r in e.runs()}), 32)

    def test_a_list_of_grids_is_their_union_and_a_point_in_two_of_them_is_one(self):
        points = plan.expand(
            "x",
            [{"channel": "a", "modulation": [1, 2]}, {"channel": ["a", "b"], "modulation": [2, 3]}],
        )
        self.assertEqual(
            [p.text() for p in points],
            [
                f"channel={c} modulation={m}"
                for c, m in (("a", 1), ("a", 2), ("a", 3), ("b", 2), ("b", 3))
            ],
        )

    def test_quick_has_its_own_grid_and_size(self):
        e = self.world.experiment("quick")
        self.assertEqual((len(e.points), e.realisations, e.duration_s), (2, 2, 1))

    def test_tcp_of_the_grid_goes_over_that_of_the_defaults_and_any_setting_of_emulate_has_its_own_name(
        self,
    ):
        self.world.write(
            SMALL.replace("settings: {", "settings: {initial_window: 4, umts.max_dat: 7, ").replace(
                "modulation: [adaptive, 1, 2, 3]", "sack: [0, 1]"
            )
        )
        e = self.world.experiment()
        specs = [e.run(p, 1).spec for p in e.points]
        self.assertEqual(
            {
                (s["workload"]["tcp"]["initial_window_segments"], s["emulator"]["umts.max_dat"])
                for s in specs
            },
            {(4, 7)},
        )
        self.assertEqual({s["workload"]["tcp"]["sysctl"]["tcp_sack"] for s in specs}, {0, 1})
        self.assertEqual(e.common["tcp"]["sysctl"]["tcp_sack"], 1)

    def test_a_spike_is_told_from_the_start_of_the_traffic(self):
        self.world.write(
            SMALL.replace("modulation: [adaptive, 1, 2, 3]", "spike_at_s: [0, 0.5]\n  spike_s: 2")
        )
        e = self.world.experiment()
        self.assertEqual(
            [e.run(p, 1).spec["emulator"]["umts.spikes"] for p in e.points[:2]],
            [[1.0, 2.0], [1.5, 2.0]],
        )

    def test_an_experiment_of_one_time_is_refused_in_the_other(self):
        self.world.write("time: virtual\n" + SMALL)
        with self.assertRaisesRegex(BadInput, "time is 'virtual': give --time virtual"):
            self.world.experiment()

    def test_realisations_come_before_points_so_that_an_interrupted_experiment_is_complete_in_what_it_has(
        self,
    ):
        order = [r.spec["realisation"] for r in self.world.experiment().runs()]
        self.assertEqual(order, sorted(order))

    def test_settings_of_the_file_go_over_the_defaults_and_the_grid_over_both(self):
        e = self.world.experiment()
        run = e.run(e.points[1], 3)
        self.assertEqual(
            (
                run.spec["emulator"]["link.allocation"],
                run.spec["emulator"]["link.modulation"],
                run.spec["emulator"]["link.max_retransmissions"],
                run.spec["emulator"]["seed"],
            ),
            ("static", 1, 30, 3),
        )
        self.assertEqual(run.spec["workload"]["congestion_control"], "cubic")
        self.assertNotIn("tcp", run.spec["emulator"])

    def test_a_view_shares_the_run_and_everything_else_makes_another(self):
        self.world.write(
            SMALL.replace("settings: {", "settings: {workload: flows, ").replace(
                "modulation: [adaptive, 1, 2, 3]", "modulation: [1, 2]\n  flow_kb: [1, 10, 100]"
            )
        )
        e = self.world.experiment()
        self.assertEqual((len(e.points), len(e.runs())), (12, 4 * 4))

    def test_variants_of_tcp_are_settings_of_the_workload_and_go_over_those_of_the_defaults(self):
        self.world.write(
            SMALL.replace(
                "modulation: [adaptive, 1, 2, 3]",
                "modulation: 2\n  rack: [0, 1]\n  sysctl.tcp_sack: [0, 1]\n"
                "  sysctl.tcp_rmem: 4096 8192 16384\n  qdisc: [fifo, codel]\n  bottleneck_mbps: 2",
            )
        )
        works = [r.spec["workload"] for r in self.world.experiment().runs()]
        self.assertEqual(len(works), 2 * 8 * 4)
        seen = {
            tuple(
                workloads.sysctls_of(w | {"window_bytes": 0})[k]
                for k in ("tcp_recovery", "tcp_sack", "tcp_rmem")
            )
            for w in works
        }
        self.assertEqual(seen, {(r, s, "4096 8192 16384") for r in (0, 1) for s in (0, 1)})
        fifo, codel = ([w for w in works if w["qdisc"] == q][0] for q in ("fifo", "codel"))
        self.assertIn("htb rate 2000kbit", workloads.queue_commands(fifo, "eth0")[1])
        self.assertEqual(
            workloads.queue_commands(codel, "eth0")[2],
            "tc qdisc add dev eth0 parent 1:1 handle 10: codel",
        )
        self.assertEqual(workloads.queue_commands({}, "eth0"), [])
        with self.assertRaisesRegex(BadInput, "without bottleneck_mbps"):
            workloads.queue_commands({"qdisc": "cake"}, "eth0")

    def test_two_experiments_that_need_the_same_run_share_it(self):
        experiments = plan.load(TOP, ["A4", "A5"], "quick")
        self.assertLess(len(plan.unique_runs(experiments)), sum(len(e.runs()) for e in experiments))

    def test_the_identity_of_a_run_is_stable_and_depends_on_what_decides_its_outcome(self):
        first, again = World(), World(SMALL.replace("title: small", "title: other"))
        self.addCleanup(first.close)
        self.addCleanup(again.close)
        self.assertEqual(
            [r.key for r in first.experiment().runs()], [r.key for r in again.experiment().runs()]
        )
        self.assertEqual(first.experiment().fingerprint, again.experiment().fingerprint)
        changed = World(defaults=DEFAULTS.replace("rto_min_ms: 200", "rto_min_ms: 300"))
        self.addCleanup(changed.close)
        self.assertNotEqual(first.experiment().fingerprint, changed.experiment().fingerprint)
        self.assertFalse(
            {r.key for r in first.experiment().runs()}
            & {r.key for r in changed.experiment().runs()}
        )

    def test_tcp_of_the_command_line_goes_over_that_of_the_files_and_is_part_of_a_run(self):
        given = tcp_settings.read(
            [
                "congestion_control=bbr",
                "rack=1",
                "window_bytes=0",
                "initial_window=10",
                "sysctl.tcp_rmem=4096 8192 16384",
            ]
        )
        plain, other = (
            plan.Experiment(self.world.file, "full", "virtual", tcp) for tcp in ({}, given)
        )
        work = other.runs()[0].spec["workload"]
        self.assertEqual(
            (
                work["congestion_control"],
                work["window_bytes"],
                work["tcp"]["initial_window_segments"],
            ),
            ("bbr", 0, 10),
        )
        self.assertEqual(
            (work["tcp"]["sysctl"]["tcp_recovery"], work["tcp"]["sysctl"]["tcp_rmem"]),
            (1, "4096 8192 16384"),
        )
        self.assertEqual(plain.runs()[0].spec["workload"]["congestion_control"], "cubic")
        self.assertNotIn("tcp", other.runs()[0].spec)  # that of ns-3
        self.assertFalse({r.key for r in plain.runs()} & {r.key for r in other.runs()})
        same = [
            plan.Experiment(
                self.world.file, "full", "virtual", tcp_settings.read([word])
            ).fingerprint
            for word in ("rack=1", "sysctl.tcp_recovery=1")
        ]
        self.assertEqual(same[0], same[1])
        left: dict[str, str] = {}
        there = options.load(
            TOP, ["all"], "quick", "virtual", tcp_settings.read(["congestion_control=bbr"]), left
        )
        self.assertIn("C2", left)
        self.assertFalse({e.name for e in there} & left.keys())

    def test_settings_of_the_command_line_go_over_the_file_by_either_name_and_are_part_of_a_run(
        self,
    ):
        plain, other = (
            plan.Experiment(self.world.file, "full", over=given)
            for given in (
                settings.Over(),
                settings.read_over(["link.allocation=best", "order=in_order"], 2),
            )
        )
        self.assertEqual((other.realisations, len(other.runs()), len(plain.runs())), (2, 16, 32))
        asked = other.runs()[0].spec["emulator"]
        self.assertEqual(
            (
                asked["link.allocation"],
                asked["link.order"],
                plain.runs()[0].spec["emulator"]["link.allocation"],
            ),
            ("best", "in_order", "static"),
        )
        self.assertFalse({r.key for r in plain.runs()} & {r.key for r in other.runs()})
        few = plan.Experiment(self.world.file, "full", over=settings.read_over([], 2))
        # the same seeds, fewer of them
        self.assertLess({r.key for r in few.runs()}, {r.key for r in plain.runs()})
        for word, pattern in (
            (
                "link.modulation=2",
                "--set link.modulation is over modulation of the grid; valid: what neither says",
            ),
            ("channel.model=jakes", "--set channel.model is over channels: jakes of the defaults"),
            ("umts.errors=0.2", "--set umts.errors with the link ofdm; valid: settings of that"),
        ):
            with self.subTest(word), self.assertRaisesRegex(plan.NothingToRun, pattern):
                plan.Experiment(self.world.file, "full", over=settings.read_over([word], None))
        left: dict[str, str] = {}
        options.load(
            TOP,
            ["all"],
            "quick",
            "virtual",
            {},
            left,
            settings.read_over(["umts.poll_timer_ms=200"], None),
        )
        self.assertEqual({"A1", "U-A6"} - left.keys(), set())
        self.assertNotIn("U-B1", left)

    def test_a_folder_of_results_says_what_was_set_and_takes_nothing_else(self):
        given, plain = settings.read_over(["link.order=in_order"], 3), settings.Over()
        e = plan.Experiment(self.world.file, "full", over=given)
        planned = options.check_plan(self.world.store, [e])
        self.assertEqual(
            planned["experiments"]["S1"]["time"], "real link.order=in_order realisations=3"
        )
        self.world.store.write_plan(planned)
        options.check_plan(self.world.store, [plan.Experiment(self.world.file, "full", over=given)])
        with self.assertRaisesRegex(
            BadInput,
            "S1 in .* is real link.order=in_order realisations=3, not real; use another --out",
        ):
            options.check_plan(
                self.world.store, [plan.Experiment(self.world.file, "full", over=plain)]
            )

    def test_ns3_leaves_out_the_points_that_it_cannot_run_and_refuses_a_file_without_others(self):
        self.world.write(
            SMALL.replace(
                "modulation: [adaptive, 1, 2, 3]",
                "congestion_control: [reno, tahoe]\n  rack: [0, 1]",
            )
        )
        tcp = {"min_rto_ms": "300"}
        e = plan.Experiment(self.world.file, "full", "ns3", tcp)
        self.assertEqual({p["rack"] for p in e.points}, {0})
        self.assertEqual(
            list(e.left_out.items()),
            [("sysctl tcp_recovery is 1 with --time ns3, which has it as 0; valid: 0", 4)],
        )
        spec = e.runs()[0].spec
        self.assertEqual((spec["time"], spec["tcp"]), ("ns3", tcp))
        self.assertEqual(
            set(tcp_settings.of_ns3(spec["workload"], tcp).items()),
            {
                ("sender", "reno"),
                ("initial_window", 3),
                ("min_rto_ms", "300"),
                ("sack", "on"),
                ("timestamps", "on"),
                ("mss", 1448),
                ("window_scaling", "on"),
                ("receive_window", 64096),
            },
        )
        for over in ({"rack": "off"}, {"sender": "tahoe"}):
            with self.assertRaisesRegex(
                plan.NothingToRun, f"--tcp {next(iter(over))} is over .*, which the grid varies"
            ):
                plan.Experiment(self.world.file, "full", "ns3", over)
        self.world.write(
            SMALL.replace("settings: {", "settings: {rack: 1, ").replace(
                "  modulation: [adaptive, 1, 2, 3]\n", ""
            )
        )
        without = plan.Experiment(self.world.file, "full", "ns3", {"rack": "off"})
        self.assertEqual((len(without.points), without.left_out), (2, {}))
        self.world.write(
            SMALL.replace("modulation: [adaptive, 1, 2, 3]", "qdisc: codel\n  bottleneck_mbps: 2")
        )
        with self.assertRaisesRegex(plan.NothingToRun, "qdisc is 'codel' with --time ns3"):
            plan.Experiment(self.world.file, "full", "ns3")

    def test_a_packet_that_is_shorter_and_timestamps_make_the_segment_of_ns3(self):
        def mss(sender, mtu, timestamps):
            return tcp_settings.of_ns3(
                {
                    "kind": "tcp",
                    "congestion_control": sender,
                    "window_bytes": 0,
                    "tcp": (
                        {
                            "initial_window_segments": 1,
                            "rto_min_ms": 1000,
                            "sysctl": {"tcp_timestamps": timestamps},
                        }
                        | mtu
                    ),
                }
            )["mss"]

        self.assertEqual(
            [
                mss("reno", {}, 1),
                mss("reno", {}, 0),
                mss("reno", {"mtu": 576}, 1),
                mss("reno", {"mtu": 576}, 0),
                mss("coarse-reno", {"mtu": 576}, 1),
            ],
            [1448, 1460, 524, 536, 536],
        )


class Refused(unittest.TestCase):
    def refused(self, pattern, text=SMALL, defaults=DEFAULTS):
        w = World(text, defaults=defaults)
        self.addCleanup(w.close)
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            options.load(TOP, [str(w.file)], "full")
        self.assertNotIn("\n", str(caught.exception))

    def test_a_bad_file_is_refused_with_its_name_the_key_and_what_is_valid(self):
        for old, new, pattern in (
            ("title: small", "titel: small", "S1.yaml: unknown key titel; known: "),
            ("title: small", "title: [", "S1.yaml is not YAML"),
            ("defaults: defaults.yaml", "defaults: other.yaml", "other.yaml: No such file"),
            (
                "allocation: static",
                "allocation: random",
                "allocation is 'random'; valid: static\\|best",
            ),
            (
                "allocation: static",
                "alocation: static",
                "unknown setting alocation; known: channel, ",
            ),
            (
                "[jakes, winner]",
                "[jakes, moon]",
                "channel is 'moon'; valid: jakes, winner, measured",
            ),
            ("[adaptive, 1, 2, 3]", "[9]", r"modulation is 9; valid: adaptive\|1..8"),
            ("[adaptive, 1, 2, 3]", "[]", "modulation has no values"),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  sysctl.tcp_sack: off",
                "sysctl.tcp_sack is 'off'; valid: a number",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  spike_s: 1",
                "spike_at_s and spike_s: one is set; valid: both or none",
            ),
            (
                "kind: best",
                "averaged: place, kind: best",
                "statement best: averaged is 'place'; valid: a list of settings",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  qdisc: red",
                "qdisc is 'red'; valid: none|fifo|fq_codel".replace("|", r"\|"),
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  congestion_control: tahoe",
                "congestion_control is 'tahoe' with --time real; valid: cubic, reno",
            ),
            ("realisations: 4", "realisations: 0", "full: realisations is 0; valid: 1..1000"),
            ("duration_s: 2", "duration_s: long", "duration_s is 'long'; valid: 1..3600"),
            (
                "title: small",
                "title: small\ntcp: {mss: 1000}",
                "tcp is {'mss': 1000} with time 'real'; valid: a mapping, in a file with time: ns3",
            ),
            (
                "title: small",
                "title: small\nuntil: 0.02",
                "until is 0.02; valid: a mapping with half_width",
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0}",
                r"until: half_width is 0; valid: 0.001..1",
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0.1, at_least: 5}",
                r"until: at_least is 5; valid: 2..4",
            ),
            (
                "x: modulation",
                "x: [modulation, channel]",
                r"figure small: x is \['modulation', 'channel'\]; valid: a setting of the grid$",
            ),
            (
                "series: channel",
                "series: chanel",
                "figure small: series is 'chanel'; valid: a setting of the grid or a list of them",
            ),
            (
                "series: channel",
                "series: channel, averaged: [modulaton]",
                (
                    "figure small: averaged is 'modulaton'; valid: a setting of the grid or a list"
                    " of them"
                ),
            ),
            (
                SMALL[SMALL.index("figures:") :],
                "figures: []\nstatements: []\n",
                "no figure and no statement has a metric; valid: one that has",
            ),
            (
                "metric: goodput_mbps}",
                "metric: modulation_share, categories: [a]}",
                (
                    "S1.yaml: figure small: metric modulation_share:a; valid: modulation_share with"
                    " a number behind the colon, a whole one"
                ),
            ),
            (
                "metric: goodput_mbps}",
                "metric: goodput}",
                "S1.yaml: figure small: unknown metric goodput; known: goodput_mbps, ",
            ),
            (
                "metric: goodput_mbps}",
                "metric: [goodput_mbps]}",
                r"figure small: unknown metric \['goodput_mbps'\]; known",
            ),
            (
                "metric: goodput_mbps, over",
                "metric: 'modulation_share:1.5', over",
                (
                    "statement best: metric modulation_share:1.5; valid: modulation_share with a"
                    " number behind the colon, a whole"
                ),
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0.1, metric: goodput}",
                "until: unknown metric goodput; known",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  umts.spikes: [[1, 0.5], [2, 0.5]]",
                r"grid: umts.spikes is \[1.0, 0.5\]; valid: a number or a word",
            ),
            (
                "duration_s: 2",
                "duration_s: 2, flows: 5",
                "full: flows is 5; valid: a list of {kb: 1.., times: 1..}",
            ),
            (
                "duration_s: 2",
                "duration_s: 2, flows: [{kb: 0.5, times: 1}]",
                "full: flows is .*; valid: a list of {kb: 1.., times: 1..}",
            ),
            ("kind: best", "kind: [value]", r"statement best: kind is \['value'\]; valid: value, "),
            ("kind: bars", "kind: [lines]", r"figure small: kind is \['lines'\]; valid: lines, "),
            (
                "kind: bars",
                "yscal: log, kind: bars",
                "figure small: unknown key yscal; known: averaged, categories",
            ),
            (
                "kind: bars",
                "yscale: logg, kind: bars",
                r"figure small: yscale is 'logg'; valid: linear\|log",
            ),
            (
                "kind: bars",
                "where: null, kind: bars",
                "figure small: where is None; valid: a mapping of settings of the grid",
            ),
            (
                "kind: bars",
                "where: {chanel: jakes}, kind: bars",
                (
                    "figure small: where: chanel is 'jakes'; valid: settings of the grid, channel,"
                    " modulation"
                ),
            ),
            (
                "kind: bars",
                "where: {channel: jaks}, kind: bars",
                "figure small: where: channel is 'jaks'; valid: jakes, winner",
            ),
            ("kind: bars, x: modulation", "kind: bars", "figure small: x or categories is missing"),
            ("x: modulation", "x: bins", "figure small: x is 'bins'; valid: a setting of the grid"),
            (
                "kind: bars, x: modulation",
                "kind: bars, categories: 5",
                "figure small: categories is 5; valid: a list",
            ),
            (
                "kind: bars, x: modulation, series: channel,",
                "kind: cdf, series: channel, range_ms: [1],",
                r"figure small: unknown key metric",
            ),
            (
                "kind: bars, x: modulation, series: channel, metric: goodput_mbps}",
                "kind: cdf, series: channel, range_ms: [1]}",
                r"figure small: range_ms is \[1.0\]; valid: a list of two numbers",
            ),
            (
                "kind: bars, x: modulation, series: channel,",
                "kind: surface, x: modulation, y: channel,",
                (
                    "figure small: [xy] is (modulation|channel), which is '\\w+' in the grid;"
                    " valid: a setting that is numbers"
                ),
            ),
            ("name: small", "name: a/b", "figure a/b: name is 'a/b'; valid: letters, digits and"),
            (
                SMALL[SMALL.index("figures:") :],
                "figures: [small]\nstatements: []\n",
                "figures: a list is expected, of name, kind and more",
            ),
            (
                "kind: bars",
                "kind: bar",
                "figure small: kind is 'bar'; valid: lines, bars, cdf, surface, scatter, over_time",
            ),
            (
                "series: channel, metric: goodput_mbps}",
                "metrik: goodput_mbps}",
                "figure small: metric, series are missing",
            ),
            ("title: small\n", "", "S1.yaml: title is missing"),
            ("kind: best", "kind: bset", "statement best: kind is 'bset'; valid: value, ratio, "),
            (
                "metric: goodput_mbps, over",
                "metric: godput, over",
                "unknown metric godput; known: goodput_mbps, ",
            ),
        ):
            with self.subTest(new):
                self.assertIn(old, SMALL)
                self.refused(pattern, SMALL.replace(old, new))

    def test_what_would_be_laid_over_is_refused(self):
        for own, grid, pattern in (
            (
                "",
                "channel.speed_kmh: [3, 30, 120]",
                (
                    "grid: channel.speed_kmh is 3.0, and channels: jakes of the defaults has 75;"
                    " valid: one of the two"
                ),
            ),
            (
                "channel.speed_kmh: 30",
                "snr: 16",
                "settings: channel.speed_kmh is 30, and channels: jakes of the defaults has 75",
            ),
            (
                "channel.snr_db: 20",
                "snr: [10, 30]",
                "grid: snr is 10.0, and channel.snr_db is the same setting; valid: one of the two",
            ),
            (
                "rack: 1",
                "sysctl.tcp_recovery: [0, 1]",
                (
                    "grid: sysctl.tcp_recovery is 0, and rack is the same setting; valid: one of"
                    " the two"
                ),
            ),
            (
                "umts.spikes: [1, 2]",
                "spike_s: 1\n  spike_at_s: 1",
                r"settings: umts.spikes is \[1, 2\], and spike_s makes them; valid: one of the two",
            ),
            ("", "seed: [1, 2, 3]", "grid: seed is 1; valid: realisations instead"),
            ("seed: 3", "snr: 16", "settings: seed is 3; valid: realisations instead"),
            (
                "",
                "traffic.tcp_cc: [cubic, bbr]",
                (
                    "grid: traffic.tcp_cc is 'cubic'; valid: congestion_control, window_bytes,"
                    " duration_s of full"
                ),
            ),
        ):
            with self.subTest(own + grid):
                self.refused(
                    f"S1.yaml: {pattern}",
                    SMALL.replace("static}", f"static, {own}}}").replace(
                        "grid:\n", f"grid:\n  {grid}\n", 1
                    ),
                )
        with World(
            SMALL.replace("[jakes, winner]", "[jakes, jakes-30]").replace(
                "grid:\n", "grid:\n  snr: [10, 30]\n", 1
            ),
            defaults=DEFAULTS.replace("snr: 16", "channel.snr_db: 16"),
        ) as w:
            # the grid over the defaults, by either name
            self.assertEqual(
                {r.spec["emulator"]["channel.snr_db"] for r in w.experiment().runs()}, {10, 30}
            )

    def test_defaults_without_a_part_are_refused_with_their_name(self):
        whole = yaml.safe_load(DEFAULTS)
        for part, pattern in (
            ("full", "defaults.yaml: full is None; valid: a mapping"),
            ("settings", "defaults.yaml: settings is None"),
            ("channels", "channels is None; valid: a mapping of mappings"),
            ("tcp", "'tcp' is missing; valid: it stands in settings, the grid or .*defaults.yaml"),
        ):
            with self.subTest(part):
                self.refused(
                    pattern, defaults=yaml.safe_dump({k: v for k, v in whole.items() if k != part})
                )
        for wrong in ({"channels": {"jakes": 5}}, {"full": 5}, {"voip": [1]}):
            self.refused(
                f"defaults.yaml: {next(iter(wrong))} is .*; valid: a mapping",
                defaults=yaml.safe_dump(whole | wrong),
            )
        for name in ("channel", "workload", "window_bytes"):
            left = whole | {"settings": {k: v for k, v in whole["settings"].items() if k != name}}
            text = (
                SMALL.replace("  channel: [jakes, winner]\n", "")
                .replace("channel: jakes, ", "")
                .replace("series: channel", "series: modulation")
            )
            self.refused(f"'{name}' is missing", text, yaml.safe_dump(left))
        with (
            World(SMALL.replace("static}", "static, workload: uploads}")) as w,
            self.assertRaisesRegex(
                BadInput,
                "S1.yaml: channel=jakes modulation=adaptive: 'bulk' is missing; valid: it stands",
            ),
        ):
            plan.Experiment(w.file, "full", "virtual")

    def test_of_fewer_realisations_than_a_point_needs_to_stop_all_are_run(self):
        with World(
            SMALL.replace("title: small", "title: small\nuntil: {half_width: 0.1, at_least: 4}")
        ) as w:
            for e in (
                w.experiment("quick"),
                plan.Experiment(w.file, "full", over=settings.Over({}, 3)),
            ):
                self.assertIsNone(e.until.enough(dict.fromkeys(range(1, e.realisations + 1), 1)))
                self.assertEqual(
                    len(runner.Progress(w.store, [e], e.runs(), print).next(1)), len(e.runs())
                )

    def test_a_point_that_leaves_a_varied_setting_open_is_refused(self):
        self.refused(
            "does not say modulation",
            SMALL.replace("grid: {channel: jakes, modulation: [1, 2]}", "").replace(
                "grid:\n  channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]",
                "grid:\n  - {channel: jakes, modulation: 1}\n  - {channel: winner}",
            ),
        )

    def test_a_file_of_ones_own_is_taken_by_its_path_and_a_name_only_once(self):
        w = World(name="mine")
        self.addCleanup(w.close)
        self.assertEqual(
            [e.name for e in plan.load(TOP, ["A1", str(w.file)], "quick")], ["A1", "mine"]
        )
        copy = w.path / "A1.yaml"
        copy.write_text(SMALL)
        with self.assertRaisesRegex(BadInput, "experiment A1 is named twice"):
            plan.load(TOP, ["A1", str(copy)], "quick")
        with self.assertRaisesRegex(BadInput, "none.yaml: No such file"):
            plan.load(TOP, ["/none.yaml"], "quick")

    def test_arguments(self):
        for arguments, pattern in (
            (["A9"], "unknown experiment A9; known: A1, A2"),
            ([], "name an experiment"),
            (["A1", "--machine-cores", "0"], "--machine-cores is '0'; valid: 1..999"),
            (["A1", "--machine-cores", "many"], "--machine-cores is"),
            (
                ["A1", "--profile", "slurm"],
                "--profile slurm with --time real.*valid: --time virtual",
            ),
            (
                ["A1", "--time", "virtual", "--profile", "moon"],
                "--profile is 'moon'; valid: slurm, kubernetes, or a folder",
            ),
            (
                ["A1", "--time", "ns3", "--profile", "slurm"],
                "--profile slurm with --time ns3.*valid: --time virtual",
            ),
            (["A1", "--tcp", "sack=off"], "--tcp sack is 'off'; valid: 0..1"),
            (["A1", "--tcp", "sack"], "--tcp is 'sack'; valid: NAME=VALUE"),
            (
                ["A1", "--tcp", "sender=tahoe"],
                (
                    "--tcp sender=tahoe; valid: congestion_control, window_bytes, sack.*; with"
                    " --time ns3"
                ),
            ),
            (["A1", "--tcp", "snr=3"], "--tcp snr=3; valid"),
            (["A1", "--tcp", "sysctl.x=3"], "--tcp sysctl.x=3; valid"),
            (
                ["A1", "--tcp", "congestion_control=tahoe"],
                "--tcp congestion_control is 'tahoe'; valid: cubic",
            ),
            (
                ["A1", "--tcp", "rack=1", "--tcp", "sysctl.tcp_recovery=0"],
                "--tcp sysctl.tcp_recovery=0 is --tcp rack=1 by another name",
            ),
            (
                ["U-B6", "--time", "virtual", "--tcp", "sysctl.tcp_recovery=1"],
                "--tcp sysctl.tcp_recovery is over rack, which the grid",
            ),
            (
                ["D-errors", "--time", "virtual", "--tcp", "rack=1"],
                "--tcp rack is over sender, which the grid varies",
            ),
            (
                ["D-errors", "--time", "virtual", "--tcp", "initial_window=9"],
                "--tcp initial_window with workload 'uploads'",
            ),
            (["C2", "--tcp", "sack=0"], "--tcp sack with workload 'voip', which has no TCP"),
            (
                ["U-B6", "--time", "virtual", "--tcp", "congestion_control=bbr"],
                "--tcp congestion_control is over .* the grid",
            ),
            (
                ["A1", "--time", "ns3", "--tcp", "sender=tahoo"],
                "--tcp sender is 'tahoo'; valid: cubic, reno",
            ),
            (["A1", "--realisations", "0"], "--realisations is '0'; valid: 1..1000"),
            (["A1", "--set", "snr"], "--set is 'snr'; valid: KEY=VALUE"),
            (
                ["A1", "--set", "sack=0"],
                "--set sack=0: sack is no setting of the emulator.*of TCP: --tcp",
            ),
            (["A1", "--set", "umts.rubbish=1"], "--set umts.rubbish=1: umts.rubbish is no setting"),
            (["A1", "--set", "snr=loud"], "--set snr is 'loud'; valid"),
            (["A1", "--set", "seed=3"], "--set seed=3; valid instead: --realisations"),
            (
                ["A1", "--set", "order=in_order", "--set", "link.order=in_order"],
                "link.order is given twice; valid: once",
            ),
            (
                ["U-A5", "--time", "virtual", "--set", "umts.spikes=1,2"],
                "--set umts.spikes is over spike_s",
            ),
            (["A1", "--out", "/proc/nothing"], "--out /proc/nothing: cannot be written"),
            (["--list", "A1"], "--list with names, which it does not look at; valid: --list alone"),
            (["A1", "--fast"], "unrecognized"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, pattern):
                options.parse(arguments, world.places("/tmp"))


def dict_point(sender):
    return plan.Point((("method", "DI"), ("sender", sender), ("wired_delay_ms", 10.0)))


class Shipped(unittest.TestCase):
    def test_all_eleven_experiments_are_there_and_well_formed_in_both_sizes(self):
        umts = [
            "U-A1",
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
            plan.known(TOP),
            ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2", "L1", *umts],
        )
        for mode in plan.MODES:
            self.assertNotIn("U-A1", [e.name for e in options.load(TOP, ["all"], mode)])
            for time in ("virtual", "ns3"):
                for e in options.load(TOP, ["all"], mode, time):
                    with self.subTest(f"{e.name} {mode} {time}"):
                        self.assertTrue(e.points and e.tree["figures"] and e.tree["statements"])
                        axes = [
                            n
                            for f in e.tree["figures"]
                            for a in plan.AXES & set(f)
                            for n in (f[a] if isinstance(f[a], list) else [f[a]])
                        ]
                        # without it the figure is not drawn
                        self.assertEqual([n for n in axes if n not in e.varied], [])
                        self.assertTrue(time == "ns3" or e.tree.get("time") != "ns3")
        listed = [line.split()[0] for line in command.listing(TOP).splitlines()[1:]]
        self.assertEqual(listed, [*plan.known(TOP), *plan.known(TOP, plan.PLACES[1:]), *plan.SETS])
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

        runs = plan.unique_runs(plan.load(TOP, ["all"], "quick"))
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
            for mode in plan.MODES
        ]
        self.assertEqual(runs, [927, 32580])  # docs/explanation/virtual-time.md says so
        with self.assertRaisesRegex(
            BadInput, "unknown experiment chapter6; known: A1, .*; alone: all, chapter6$"
        ):
            options.load(TOP, ["chapter6", "L1"], "quick")

    def test_every_reading_of_the_shadowing_sets_what_the_emulator_runs_with(self):
        files = sorted((TOP / "flowgraphs/scenarios/readings").glob("*.yaml"))
        self.assertEqual(len(files), 4)
        for e in options.load(TOP, [str(f) for f in files], "quick"):
            with self.subTest(e.name):
                specs = [e.run(p, 1).spec["emulator"] for p in e.points]
                self.assertEqual({spec["channel.shadowing"] for spec in specs}, {4.0, 2.0, "off"})
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

    def test_experiments_of_802_11_are_planned_in_virtual_time_and_not_among_all(self):
        names = sorted(p.stem for p in (TOP / "flowgraphs/scenarios/wlan").glob("D-*.yaml"))
        of_ns3 = ["D-ns2", "D-senders-2003"]
        names = [name for name in names if name not in of_ns3]
        then = options.load(TOP, of_ns3, "quick", "ns3")
        with self.assertRaisesRegex(BadInput, "give --time ns3"):
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
                flows = [
                    f.split()
                    for f in virtual_work.plan_of(spec["emulator"], spec["workload"]).flows
                ]
                self.assertEqual(len(flows), spec["emulator"]["terminals"])
                for f in flows:  # each ends at 61 s, is counted from 21 s on
                    self.assertTrue(1 <= float(f[3]) <= 11)
                    self.assertAlmostEqual(float(f[3]) + float(f[4]), 61)
                    self.assertAlmostEqual(float(f[3]) + float(f[7]), 21)
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

    def test_two_uploads_are_added_up_and_their_timeouts_are_as_of_120_s(self):
        def sender(spurious):
            return {
                "since": {
                    "seconds": 40.0,
                    "bytes_acked": 5_000_000,
                    "bytes_sent": 6_000_000,
                    "bytes_retransmitted": 600_000,
                    "rtt_ms": 80,
                    "TCPTimeouts": 10,
                    "TCPLossUndo": spurious,
                }
            }

        verdict = {
            "valid": True,
            "reasons": [],
            "checks": {"sums": True, "traffic": True},
            "findings": [],
        }
        both = {"verdict": verdict, "flows": [sender(4), {"end": "receiver"}, sender(1)]}
        report = virtual_work.result_of(both, "uploads")
        self.assertEqual(report["verdict"], verdict)
        work = report["workload"]
        self.assertEqual((work["goodput_bps"], work["rtt_ms"]), (2e6, 80))
        self.assertEqual(
            (work["timeouts"], work["timeouts_spurious"], work["timeouts_real"]), (60, 15, 45)
        )
        self.assertAlmostEqual(metrics.METRICS["useful"][1]({"workload": work}), 0.9)
        # Two stations: each with its own counters. One server that sends to both: its counters,
        # told twice, the second time from later on.
        for side, expected in ((2, (60, 15, 45)), (1, (30, 12, 18))):
            flows = [
                {"since": sender(4)["since"] | {"side": 1}},
                {
                    "since": (
                        sender(1)["since"] | {"side": side, "TCPTimeouts": 8 if side == 1 else 10}
                    )
                },
            ]
            work = virtual_work.result_of({"verdict": verdict, "flows": flows}, "downloads")[
                "workload"
            ]
            self.assertEqual(
                (
                    work["timeouts"],
                    work["timeouts_spurious"],
                    work["timeouts_real"],
                    work["goodput_bps"],
                ),
                (*expected, 2e6),
            )
        nothing = virtual_work.result_of({"verdict": verdict, "flows": []}, "uploads")["workload"]
        self.assertEqual((nothing["goodput_bps"], nothing["timeouts"]), (0, 0))
        alone = virtual_work.result_of(
            both
            | {
                "flows": [
                    sender(4),
                    {"flow": 1, "end": "sender", "problem": "connect: Connection timed out"},
                ]
            },
            "uploads",
        )
        words = "flow 1: connect: Connection timed out"
        self.assertEqual(
            alone["verdict"],
            {
                "valid": False,
                "reasons": [f"traffic: {words}"],
                "checks": {"sums": True, "traffic": False},
                "findings": [
                    {"check": "traffic", "reason": f"traffic: {words}", "figures": {"what": words}}
                ],
            },
        )

    def test_what_each_station_gets_and_how_fair_it_is(self):
        # As the programs end: the ends that receive say nothing of it.
        flows = [
            {"flow": n, "end": "sender", "since": {"bytes_acked": mb * 1e6, "seconds": 8}}
            for n, mb in ((1, 3), (0, 1))
        ]
        result = {"flows": [*flows, {"flow": 1, "end": "receiver", "bytes": 5}]}
        station, jain = (metrics.METRICS[name][1] for name in ("station_mbps", "jain"))
        self.assertEqual([station(result, None, n) for n in ("1", "2")], [1, 3])
        self.assertAlmostEqual(jain(result, None, None), 16 / (2 * 10))
        self.assertAlmostEqual(jain({"flows": flows[:1]}, None, None), 1)
        self.assertRaises(LookupError, station, result, None, "3")  # no row in the tables
        for wrong in ("0", "two", None):
            with self.assertRaisesRegex(
                BadInput, f"station_mbps:{wrong}: valid: station_mbps:1 for"
            ):
                station(result, None, wrong)

    def test_the_length_of_the_loop_is_shown_with_the_error_of_its_prediction_and_its_delay(self):
        e = plan.load(TOP, ["L1"], "quick")[0]
        self.assertEqual(metrics.metrics_of(e), ["goodput_mbps", "prediction_nmse", "tcp_rtt_ms"])
        result = {
            "emulator": {"prediction_nmse": 0.02},
            "workload": {"rtt_ms": 80, "goodput_bps": 3e6},
        }
        self.assertEqual(
            [metrics.read(result, e.points[0], m) for m in metrics.metrics_of(e)], [3.0, 0.02, 80]
        )

    def test_full_size_is_that_of_the_text(self):
        for e in plan.load(TOP, ["all"], "full"):
            self.assertEqual((e.realisations, e.duration_s), (30, 30), e.name)

    def test_defaults_are_those_of_table_a_1(self):
        e = plan.load(TOP, ["B1"], "full")[0]
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
