# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario files of experiments: what they expand to, and what a run is identified by."""

import unittest

from world import DEFAULTS, SMALL, TOP, World

from openwip_cli.campaign import (
    experiments,
    grid,
    plan,
    workloads,
)
from openwip_cli.errors import BadInput


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
        points = grid.expand(
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
        with self.assertRaisesRegex(
            BadInput, "time is 'virtual' and --time is real; valid: --time virtual"
        ):
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
        both = experiments.load(TOP, ["A4", "A5"], "quick")
        self.assertLess(len(plan.unique_runs(both)), sum(len(e.runs()) for e in both))

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


if __name__ == "__main__":
    unittest.main()
