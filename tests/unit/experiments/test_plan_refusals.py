# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiment files and command lines that are refused: by name, with the key, the value and what is
valid."""

import unittest

import world
import yaml
from world import DEFAULTS, SMALL, TOP, World

from openwip_cli.campaign import (
    experiments,
    options,
    plan,
    runner,
    settings,
)
from openwip_cli.errors import BadInput


class Refused(unittest.TestCase):
    def refused(self, pattern, text=SMALL, defaults=DEFAULTS):
        w = World(text, defaults=defaults)
        self.addCleanup(w.close)
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            options.load(TOP, [str(w.file)], "full")
        self.assertNotIn("\n", str(caught.exception))

    def test_a_bad_file_is_refused_with_its_name_the_key_and_what_is_valid(self):
        for old, new, pattern in (
            ("title: small", "titel: small", "S1.yaml: unknown key titel; valid: "),
            ("title: small", "title: [", "S1.yaml is not YAML"),
            (
                "defaults: defaults.yaml",
                "defaults: other.yaml",
                "other.yaml: cannot be read: No such file",
            ),
            (
                "allocation: static",
                "allocation: random",
                "allocation is 'random'; valid: static\\|best",
            ),
            (
                "allocation: static",
                "alocation: static",
                "unknown setting alocation; valid: channel, ",
            ),
            (
                "[jakes, winner]",
                "[jakes, moon]",
                "channel is 'moon'; valid: jakes, winner, measured",
            ),
            ("[adaptive, 1, 2, 3]", "[9]", r"modulation is 9; valid: adaptive\|1..8"),
            ("[adaptive, 1, 2, 3]", "[]", "the list of values of modulation is empty"),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  sysctl.tcp_sack: off",
                "sysctl.tcp_sack is 'off'; valid: a number",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  spike_s: 1",
                "only one of spike_at_s and spike_s is set; valid: both",
            ),
            (
                "kind: best",
                "averaged: place, kind: best",
                "statement best: averaged is 'place'; valid: a list of names of settings",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  packet_delays: [on]",
                "packet_delays is 'on' with --time real and workload 'tcp'; valid: --time virtual",
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
                "until is 0.02; valid: a mapping with the key half_width",
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0}",
                r"until: half_width is 0; valid: 0.001..1",
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0.1, at_least: 5}",
                r"until: at_least is 5; valid: 20..20",
            ),
            (
                "x: modulation",
                "x: [modulation, channel]",
                r"figure small: x is \['modulation', 'channel'\]; valid: channel, modulation, which the grid varies$",
            ),
            (
                "series: channel",
                "series: chanel",
                "figure small: series is 'chanel'; valid: one or a list of channel, modulation",
            ),
            (
                "series: channel",
                "series: channel, averaged: [modulaton]",
                (
                    "figure small: averaged is 'modulaton'; valid: one or a list of"
                    " channel, modulation"
                ),
            ),
            (
                SMALL[SMALL.index("figures:") :],
                "figures: []\nstatements: []\n",
                "no figure and no statement has the key metric; valid: at least one",
            ),
            (
                "metric: goodput_mbps}",
                "metric: modulation_share, categories: [a]}",
                (
                    "S1.yaml: figure small: metric is 'modulation_share:a'; valid:"
                    " modulation_share:NUMBER,"
                    " a whole number"
                ),
            ),
            (
                "metric: goodput_mbps}",
                "metric: goodput}",
                "S1.yaml: figure small: unknown metric goodput; valid: goodput_mbps, ",
            ),
            (
                "metric: goodput_mbps}",
                "metric: [goodput_mbps]}",
                r"figure small: unknown metric \['goodput_mbps'\]; valid",
            ),
            (
                "metric: goodput_mbps, over",
                "metric: 'modulation_share:1.5', over",
                (
                    "statement best: metric is 'modulation_share:1.5'; valid:"
                    " modulation_share:NUMBER, a whole number"
                ),
            ),
            (
                "title: small",
                "title: small\nuntil: {half_width: 0.1, metric: goodput}",
                "until: unknown metric goodput; valid",
            ),
            (
                "[adaptive, 1, 2, 3]",
                "1\n  umts.spikes: [[1, 0.5], [2, 0.5]]",
                r"grid: umts.spikes is \[1.0, 0.5\]; valid: a number or a word",
            ),
            (
                "duration_s: 2",
                "duration_s: 2, flows: 5",
                "full: flows is 5; valid: a list of flow sizes and how often each is sent",
            ),
            (
                "duration_s: 2",
                "duration_s: 2, flows: [{kb: 0.5, times: 1}]",
                "full: flows is .*; valid: a list of flow sizes and how often each is sent",
            ),
            ("kind: best", "kind: [value]", r"statement best: kind is \['value'\]; valid: value, "),
            ("kind: bars", "kind: [lines]", r"figure small: kind is \['lines'\]; valid: lines, "),
            (
                "kind: bars",
                "yscal: log, kind: bars",
                "figure small: unknown key yscal; valid: averaged, categories",
            ),
            (
                "kind: bars",
                "yscale: logg, kind: bars",
                r"figure small: yscale is 'logg'; valid: linear\|log",
            ),
            (
                "kind: bars",
                "where: null, kind: bars",
                "figure small: where is None; valid: a mapping of settings that the grid varies",
            ),
            (
                "kind: bars",
                "where: {chanel: jakes}, kind: bars",
                (
                    "figure small: where: chanel is 'jakes'; valid: settings that the grid"
                    " varies: channel, modulation"
                ),
            ),
            (
                "kind: bars",
                "where: {channel: jaks}, kind: bars",
                "figure small: where: channel is 'jaks'; valid: jakes, winner",
            ),
            (
                "kind: bars, x: modulation",
                "kind: bars",
                "figure small: missing keys: x or categories;",
            ),
            ("x: modulation", "x: bins", "figure small: x is 'bins'; valid: channel, modulation"),
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
                    "figure small: [xy] is (modulation|channel), which has the value '\\w+' in"
                    " the grid; valid: a setting whose values in the grid are numbers"
                ),
            ),
            (
                "name: small",
                "name: a/b",
                "figure a/b: name is 'a/b'; valid: a file name of letters, digits,",
            ),
            (
                SMALL[SMALL.index("figures:") :],
                "figures: [small]\nstatements: []\n",
                "figures is .*; valid: a list of mappings, each with the keys name and kind",
            ),
            (
                "kind: bars",
                "kind: bar",
                "figure small: kind is 'bar'; valid: lines, bars, cdf, surface, scatter, over_time",
            ),
            (
                "series: channel, metric: goodput_mbps}",
                "metrik: goodput_mbps}",
                "figure small: missing keys: metric, series;",
            ),
            ("title: small\n", "", "S1.yaml: missing keys: title;"),
            ("kind: best", "kind: bset", "statement best: kind is 'bset'; valid: value, ratio, "),
            (
                "metric: goodput_mbps, over",
                "metric: godput, over",
                "unknown metric godput; valid: goodput_mbps, ",
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
            (
                "tcp",
                "the setting 'tcp' is missing; valid: a value of it in settings, in the grid or in"
                " .*defaults.yaml",
            ),
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
                "S1.yaml: channel=jakes modulation=adaptive: the setting 'bulk' is missing; valid:"
                " a value",
            ),
        ):
            plan.Experiment(w.file, "full", "virtual")

    def test_of_fewer_realisations_than_a_point_needs_to_stop_all_are_run(self):
        with World(
            SMALL.replace("title: small", "title: small\nuntil: {half_width: 0.1, at_least: 20}")
        ) as w:
            for e in (
                w.experiment("quick"),
                plan.Experiment(w.file, "full", over=settings.Over({}, 19)),
            ):
                self.assertIsNone(e.until.enough(dict.fromkeys(range(1, e.realisations + 1), 1)))
                self.assertEqual(
                    len(runner.Progress(w.store, [e], e.runs(), print).next(1)), len(e.runs())
                )

    def test_a_point_that_leaves_a_varied_setting_open_is_refused(self):
        self.refused(
            "has no value of modulation",
            SMALL.replace("grid: {channel: jakes, modulation: [1, 2]}", "").replace(
                "grid:\n  channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]",
                "grid:\n  - {channel: jakes, modulation: 1}\n  - {channel: winner}",
            ),
        )

    def test_a_file_of_ones_own_is_taken_by_its_path_and_a_name_only_once(self):
        w = World(name="mine")
        self.addCleanup(w.close)
        self.assertEqual(
            [e.name for e in experiments.load(TOP, ["A1", str(w.file)], "quick")], ["A1", "mine"]
        )
        copy = w.path / "A1.yaml"
        copy.write_text(SMALL)
        with self.assertRaisesRegex(BadInput, "experiment A1 is named twice"):
            experiments.load(TOP, ["A1", str(copy)], "quick")
        with self.assertRaisesRegex(BadInput, "none.yaml: cannot be read: No such file"):
            experiments.load(TOP, ["/none.yaml"], "quick")

    def test_an_application_is_of_uploads_and_downloads_and_of_a_kind_that_they_have(self):
        defaults = DEFAULTS + "\napplications: {chat: {kind: telnet}, talk: {kind: voip}}\n"
        for application, pattern in (
            ("chat", "application is 'chat', of kind 'telnet', with workload 'tcp'; valid: kind"
             " bulk, telnet, http with workload uploads, downloads"),
            ("hum", "application is 'hum'; valid: chat, talk"),
        ):  # fmt: skip
            self.refused(
                pattern,
                SMALL.replace("static}", f"static, workload: tcp, application: {application}}}"),
                defaults,
            )
        self.refused(
            "application is 'talk', of kind 'voip', with workload 'tcp'",
            SMALL.replace("static}", "static, workload: tcp, application: talk}"),
            defaults,
        )

    def test_arguments(self):
        for arguments, pattern in (
            (["A9"], "unknown experiment A9; valid: A1, A2"),
            ([], "no experiment is named; valid: "),
            (["A1", "--machine-cores", "0"], "--machine-cores is '0'; valid: 1..999"),
            (["A1", "--machine-cores", "many"], "--machine-cores is"),
            (
                ["A1", "--profile", "slurm"],
                "--profile is slurm with --time real.*valid: --time virtual",
            ),
            (
                ["A1", "--time", "virtual", "--profile", "moon"],
                "--profile is 'moon'; valid: slurm, kubernetes, or a folder",
            ),
            (
                ["A1", "--time", "ns3", "--profile", "slurm"],
                "--profile is slurm with --time ns3.*valid: --time virtual",
            ),
            (["A1", "--tcp", "sack=off"], "--tcp sack is 'off'; valid: 0..1"),
            (["A1", "--tcp", "sack"], "--tcp is 'sack'; valid: NAME=VALUE"),
            (
                ["A1", "--tcp", "sender=tahoe"],
                (
                    "--tcp is sender=tahoe; valid: congestion_control, window_bytes, sack.*; with"
                    " --time ns3"
                ),
            ),
            (["A1", "--tcp", "snr=3"], "--tcp is snr=3; valid"),
            (["A1", "--tcp", "sysctl.x=3"], "--tcp is sysctl.x=3; valid"),
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
                "--tcp sysctl.tcp_recovery would replace rack, which the grid",
            ),
            (
                ["D-errors", "--time", "virtual", "--tcp", "rack=1"],
                "--tcp rack would replace sender, which the grid of the experiment varies",
            ),
            (
                ["C2", "--tcp", "sack=0"],
                "--tcp sack is given for workload 'voip', which sends no TCP",
            ),
            (
                ["U-B6", "--time", "virtual", "--tcp", "congestion_control=bbr"],
                "--tcp congestion_control would replace .* the grid",
            ),
            (
                ["A1", "--time", "ns3", "--tcp", "sender=tahoo"],
                "--tcp sender is 'tahoo'; valid: cubic, reno",
            ),
            (["A1", "--realisations", "0"], "--realisations is '0'; valid: 1..1000"),
            (["A1", "--set", "snr"], "--set is 'snr'; valid: KEY=VALUE"),
            (
                ["A1", "--set", "sack=0"],
                "--set sack=0: the emulator has no setting sack; .* given by --tcp",
            ),
            (
                ["A1", "--set", "umts.rubbish=1"],
                "--set umts.rubbish=1: the emulator has no setting umts.rubbish",
            ),
            (["A1", "--set", "snr=loud"], "--set snr is 'loud'; valid"),
            (
                ["A1", "--set", "seed=3"],
                "--set seed=3: an experiment's seed cannot be replaced by --set; valid:"
                " --realisations",
            ),
            (
                ["A1", "--set", "order=in_order", "--set", "link.order=in_order"],
                "link.order is given twice; valid: once",
            ),
            (
                ["U-A5", "--time", "virtual", "--set", "umts.spikes=1,2"],
                "--set umts.spikes would replace spike_s",
            ),
            (["A1", "--out", "/proc/nothing"], "--out /proc/nothing: cannot be written"),
            (
                ["--list", "A1"],
                "a NAME has no effect with --list; valid: --list alone",
            ),
            (["A1", "--fast"], "unrecognized"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, pattern):
                options.parse(arguments, world.places("/tmp"))


if __name__ == "__main__":
    unittest.main()
