# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a command line that go over an experiment file: `--tcp` and `--set`; and points that
ns-3 cannot run."""

import ipaddress
import unittest

from world import SMALL, TOP, World

from openwip_cli.campaign import (
    layers,
    options,
    plan,
    settings,
    tcp_settings,
)
from openwip_cli.errors import BadInput


class Over(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

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
        self.assertNotIn("tcp", other.runs()[0].spec)  # `tcp` holds settings of ns-3 only
        self.assertFalse({r.key for r in plain.runs()} & {r.key for r in other.runs()})
        same = [
            plan.Experiment(
                self.world.file, "full", "virtual", tcp_settings.read([word])
            ).fingerprint
            for word in ("rack=1", "sysctl.tcp_recovery=1")
        ]
        self.assertEqual(same[0], same[1])
        left: dict[str, str] = {}
        loaded = options.load(
            TOP, ["all"], "quick", "virtual", tcp_settings.read(["congestion_control=bbr"]), left
        )
        self.assertIn("C2", left)
        self.assertFalse({e.name for e in loaded} & left.keys())

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
                "--set link.modulation would replace modulation of the grid; valid: a setting that"
                " neither",
            ),
            (
                "channel.model=jakes",
                "--set channel.model would replace channels: jakes of the defaults",
            ),
            (
                "umts.errors=0.2",
                "--set umts.errors is given for an experiment with link.kind = ofdm; valid:"
                " settings of that",
            ),
        ):
            with self.subTest(word), self.assertRaisesRegex(layers.NothingToRun, pattern):
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
            "S1 in .* were made with time real link.order=in_order realisations=3, and time is real"
            " now; use another --out",
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
            list(e.skipped.items()),
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
        self.world.write(
            SMALL.replace("settings: {", "settings: {first_rto_ms: 3000, ").replace(
                "modulation: [adaptive, 1, 2, 3]", "rack: 0"
            )
        )
        work = plan.Experiment(self.world.file, "full", "ns3").runs()[0].spec["workload"]
        self.assertEqual(tcp_settings.sysctls_of(work)["tcp_first_rto_ms"], 3000)
        self.assertEqual(tcp_settings.of_ns3(work)["first_rto_ms"], "3000")
        with self.assertRaisesRegex(BadInput, "first_rto_ms is set with --time real"):
            plan.Experiment(self.world.file, "full")
        self.world.write(
            SMALL.replace(
                "modulation: [adaptive, 1, 2, 3]",
                "congestion_control: [reno, tahoe]\n  rack: [0, 1]",
            )
        )
        for over in ({"rack": "off"}, {"sender": "tahoe"}):
            with self.assertRaisesRegex(
                layers.NothingToRun,
                f"--tcp {next(iter(over))} would replace .*, which the grid of the",
            ):
                plan.Experiment(self.world.file, "full", "ns3", over)
        self.world.write(
            SMALL.replace("settings: {", "settings: {rack: 1, ").replace(
                "  modulation: [adaptive, 1, 2, 3]\n", ""
            )
        )
        without = plan.Experiment(self.world.file, "full", "ns3", {"rack": "off"})
        self.assertEqual((len(without.points), without.skipped), (2, {}))
        self.world.write(
            SMALL.replace("modulation: [adaptive, 1, 2, 3]", "qdisc: codel\n  bottleneck_mbps: 2")
        )
        with self.assertRaisesRegex(layers.NothingToRun, "qdisc is 'codel' with --time ns3"):
            plan.Experiment(self.world.file, "full", "ns3")

    def test_uploads_have_the_route_that_their_tcp_asks_for(self):
        given = tcp_settings.read(["initial_window=9", "mtu=1000", "rto_min_ms=100"])
        e = options.load(TOP, ["D-errors"], "quick", "virtual", given)[0]
        work = e.run(e.points[0], 1).spec["workload"]
        self.assertEqual(
            work["route"], {"initial_window_segments": 9, "mtu": 1000, "rto_min_ms": 100}
        )
        sides = [ipaddress.IPv4Interface(f"10.0.0.{n}/24") for n in (1, 2)]
        batches = tcp_settings.route_batches(sides, tcp_settings.route_metrics(work))
        self.assertEqual(
            batches[1, "ip -batch -"],
            (
                "route replace 10.0.0.0/24 dev eth1 proto kernel scope link src 10.0.0.2"
                f" initcwnd 9 rto_min 100ms mtu lock 1000 window {work['window_bytes']}",
                "route show",
            ),
        )
        of_then = work | {"sender": {"net/ipv4/tcp_timestamps": "0"}}
        tcp = tcp_settings.of_ns3(of_then)
        self.assertEqual((tcp["initial_window"], tcp["mss"], tcp["min_rto_ms"]), (9, 960, 100))
        self.assertEqual(tcp_settings.of_ns3(of_then, {"mss": 500})["mss"], 500)
        without = options.load(TOP, ["D-errors"], "quick", "virtual")[0]
        self.assertNotIn("route", without.run(without.points[0], 1).spec["workload"])

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


if __name__ == "__main__":
    unittest.main()
