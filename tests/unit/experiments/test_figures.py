# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures and tables of an experiment, drawn from results made by hand."""

import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import world
from statement_case import Case
from world import result, results

from openwip_cli.campaign import figures, flow_results, metrics, report


class Output(Case):
    def test_every_kind_of_figure_is_drawn_and_a_figure_without_runs_says_so(self):
        grid = (
            "channel: [jakes, winner]\n  retransmission_delay_ms: [2, 16]\n  queue_packets: [1, 5,"
            " 20]\n  flow_kb: 100"
        )
        kinds = [
            {
                "kind": "lines",
                "panels": "channel",
                "x": "queue_packets",
                "series": "retransmission_delay_ms",
                "metric": "goodput_mbps",
            },
            {
                "kind": "bars",
                "x": "queue_packets",
                "series": ["channel", "retransmission_delay_ms"],
                "metric": "goodput_mbps",
            },
            {
                "kind": "bars",
                "series": "channel",
                "metric": "modulation_share",
                "categories": [1, 2, 3],
                "where": {"queue_packets": 5, "retransmission_delay_ms": 2},
            },
            {
                "kind": "surface",
                "panels": "channel",
                "x": "queue_packets",
                "y": "retransmission_delay_ms",
                "metric": "goodput_mbps",
            },
            {
                "kind": "cdf",
                "panels": "channel",
                "series": "retransmission_delay_ms",
                "range_ms": [0, 40],
                "where": {"queue_packets": 5},
            },
            {
                "kind": "scatter",
                "series": "retransmission_delay_ms",
                "packets_per_s": 50,
                "where": {"channel": "jakes", "queue_packets": 5},
            },
            {
                "kind": "over_time",
                "series": "queue_packets",
                "where": {"channel": "jakes", "retransmission_delay_ms": 2},
            },
            {
                "kind": "against",
                "panels": "channel",
                "series": ["queue_packets", "retransmission_delay_ms"],
                "x_metric": "goodput_mbps",
                "metric": "tcp_rtt_ms",
            },
            {
                "kind": "lines",
                "x": "queue_packets",
                "metric": "goodput_mbps",
                "where": {"channel": "measured"},
            },
        ]
        e = self.experiment(grid)
        # one's own has no number
        e.tree["figures"] = [
            {"name": f"f{i}"} | ({"number": 1.1} if i else {}) | k for i, k in enumerate(kinds)
        ]

        def both(point, n):
            made = result(goodput_mbps=point["queue_packets"] + n / 10)
            made["workload"] |= {
                "sent": 50,
                "loss": 0.0,
                "delays_us": list(range(11000, 21000, 200)),
                "flows": {"100": {"arrived_s": [0.1, 0.4, 0.9]}},
            }
            return made

        r = results(e, both, metric_of=lambda **made: made)
        with tempfile.TemporaryDirectory() as folder:
            done = figures.draw(r, pathlib.Path(folder))
            self.assertEqual(
                [why for _, _, why in done], [None] * 8 + ["no valid run of these points"]
            )
            for name, _, _why in done[:8]:
                self.assertGreater(
                    (pathlib.Path(folder) / f"{name}.png").stat().st_size, 5000, name
                )

    def draw(self, r, *specs):
        """Figures as they are on paper, and what draw() says of them."""
        drawn, kept = [], figures.plt.close
        r.experiment.tree["figures"] = [{"name": f"f{i}"} | s for i, s in enumerate(specs)]
        self.addCleanup(kept, "all")
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(figures.plt, "close", drawn.append),
        ):
            for i, _ in enumerate(specs):
                pathlib.Path(folder, f"f{i}.png").write_text("of before")
            done = figures.draw(r, pathlib.Path(folder))
            self.assertEqual(
                [pathlib.Path(folder, f"{name}.png").exists() for name, _, _ in done],
                [why is None for _, _, why in done],
            )
        return drawn, done

    def test_the_legend_of_nine_series_leaves_most_of_the_height_to_the_axes(self):
        e = self.experiment("channel: jakes\n  queue_packets: [1, 5, 20]\n  modulation: [1, 2, 3]")
        r = results(
            e,
            lambda p, n: {"workload": {"rtt_ms": 20 + p["queue_packets"], "goodput_bps": 1e6 * n}},
        )
        shown = {"x_metric": "goodput_mbps", "metric": "tcp_rtt_ms"}
        drawn, _ = self.draw(
            r, {"kind": "against", "series": ["queue_packets", "modulation"]} | shown
        )
        fig = drawn[-1]
        self.assertEqual(len(fig.axes[0].get_legend().get_texts()), 9)
        self.assertGreater(fig.axes[0].get_position().height, 0.45)

    def test_a_point_without_the_metric_is_left_out_of_a_figure_which_says_so(self):
        """If a figure is not drawn, no former file of it stays, and tables and screen say which one
        is missing, and why."""
        e = self.experiment("channel: jakes\n  queue_packets: [1, 5, 20]\n  modulation: [1, 2]")
        r = results(
            e,
            lambda p, n: (
                {
                    "workload": {
                        "rtt_ms": None if p["queue_packets"] == 5 and p["modulation"] == 1 else 20,
                        "goodput_bps": 1e6,
                    }
                }
                if n < 4 or p["modulation"] == 1
                else None
            ),
        )
        shown = {"x": "queue_packets", "series": "modulation", "metric": "tcp_rtt_ms"}
        drawn, done = self.draw(
            r,
            {"kind": "lines"} | shown,
            {"kind": "bars"} | shown,
            {"kind": "surface", "x": "queue_packets", "y": "modulation", "metric": "tcp_rtt_ms"},
            {
                "kind": "lines",
                "x": "queue_packets",
                "series": "modulation",
                "metric": "prediction_nmse",
            },
            {"kind": "lines", "where": {"modulation": 3}} | shown,
        )
        self.assertEqual(
            [why for _, _, why in done],
            [None] * 3 + ["no run has prediction_nmse", "no valid run of these points"],
        )
        for figure in drawn:
            self.assertIn("[3 to 4 realisations, 1 without a value]", figure._suptitle.get_text())
        self.assertEqual(
            [list(line[0].get_xdata()) for line in drawn[0].axes[0].containers],
            [[1, 20], [1, 5, 20]],
        )
        self.assertEqual([t.get_text() for t in drawn[1].axes[0].texts], ["no value"])
        evaluated = [report.Evaluated(e, [], report.counts(r), done, [])]
        self.assertIn(
            "no figure f3 of S1: no run has prediction_nmse\nno figure f4 of S1: no valid run of these points\n",
            report.markdown(evaluated, {"mode": "full"}),
        )
        self.assertIn("  no figure      f3: no run has prediction_nmse\n", report.screen(evaluated))

    def test_one_realisation_has_no_interval_and_words_stand_behind_the_numbers_of_an_axis(self):
        r = results(
            self.experiment("channel: jakes\n  modulation: [adaptive, 2, 1]"),
            lambda p, n: {} if n == 1 else None,
        )
        (lines, bars), _ = self.draw(
            r,
            {"kind": "lines", "x": "modulation", "metric": "goodput_mbps"},
            {"kind": "bars", "x": "modulation", "series": "channel", "metric": "goodput_mbps"},
        )
        self.assertEqual(
            [t.get_text() for t in lines.axes[0].get_xticklabels()],
            [figures.QAM[m] for m in (1, 2, "adaptive")],
        )
        for axes in lines.axes[0], bars.axes[0]:
            self.assertIn("[1 realisation]", axes.figure._suptitle.get_text())
            self.assertFalse(any(getattr(c, "has_yerr", False) for c in axes.containers))
        r = results(
            self.experiment("channel: jakes\n  modulation: [1, 2]"),
            lambda p, n: {} if n == 1 or p["modulation"] == 2 else None,
        )
        for figure in self.draw(
            r,
            *(
                {"kind": kind, "x": "modulation", "series": "channel", "metric": "goodput_mbps"}
                for kind in ("lines", "bars")
            ),
        )[0]:
            (intervals,) = (
                c[2][0] for c in figure.axes[0].containers if getattr(c, "has_yerr", False)
            )
            self.assertEqual(
                [
                    bool(len(segment)) and math.isfinite(segment[0][1])
                    for segment in intervals.get_segments()
                ],
                [False, True],
            )

    def test_a_packet_stands_at_its_time_of_sending_where_the_run_tells_it(self):
        axis, numbers = "time of sending (s)", [0, 3, 2]
        for arrived, label, at in (
            ([[0, 9], [1, 8], [2, 7], [3, 6]], axis, [0, 1, 2, 3]),
            ([[0, 9], [3, 8], [2, 7], [3, 5]], axis, numbers),
            (None, r"nth packet that arrived (n/50)", [0, 1, 2]),
        ):
            work = flow_results.stream(4, arrived or [[n, 9] for n in numbers])
            if arrived is None:  # a result from before packets had numbers
                del work["numbers"]
            r = results(self.experiment(), lambda p, n: {"workload": work})
            axes = figures.scatter(
                r,
                {
                    "series": "channel",
                    "packets_per_s": 50,
                    "where": {"channel": "jakes", "modulation": 1},
                },
            ).axes[0]
            self.addCleanup(figures.plt.close, "all")
            self.assertEqual(
                (
                    axes.get_xlabel(),
                    [round(50 * x) for x in axes.lines[0].get_xdata()],
                    len(work["delays_us"]),
                ),
                (label, at, len(at)),
            )

    def test_a_bar_stands_at_its_category_and_a_missing_one_leaves_a_place_that_says_so(self):
        e = self.experiment("channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]")
        spec = {
            "kind": "bars",
            "x": "modulation",
            "series": "channel",
            "metric": "goodput_mbps",
            "missing": "not over",
        }
        absent = [("jakes", "adaptive"), ("jakes", 3), ("winner", 2)]
        r = results(
            e,
            lambda p, n: (
                None if (p["channel"], p["modulation"]) in absent else {"goodput_mbps": 1.0}
            ),
        )
        titles, series = figures.groups_of(r, spec, {})
        self.assertEqual(titles, [figures.QAM[m] for m in ("adaptive", 1, 2, 3)])
        self.assertEqual(
            {s: [i for i, v in places.items() if v is None] for s, places in series.items()},
            {("jakes",): [0, 3], ("winner",): [2]},
        )
        axes = figures.bars(r, spec).axes[0]
        self.addCleanup(figures.plt.close, "all")
        self.assertEqual([t.get_text() for t in axes.get_xticklabels()], titles)
        self.assertEqual(
            [
                round(b.get_x() + b.get_width() / 2, 1)
                for bars in axes.containers
                if hasattr(bars, "patches")
                for b in bars
            ],
            [0.8, 1.8, 0.2, 1.2, 3.2],
        )
        self.assertEqual(
            sorted((t.get_text(), round(t.xy[0], 1)) for t in axes.texts),
            [("not over", -0.2), ("not over", 2.2), ("not over", 2.8)],
        )
        with self.assertRaisesRegex(LookupError, "several points of the grid"):
            figures.groups_of(r, spec | {"x": "channel"}, {})

    def test_a_point_that_the_grid_leaves_out_is_no_gap_and_a_series_keeps_its_colour_in_every_panel(
        self,
    ):
        e = self.experiment(
            "- {channel: jakes, modulation: [1, 2], combining: ['on', 'off']}\n  - {channel:"
            " winner, modulation: 2, combining: 'off'}"
        )
        axes = figures.bars(
            results(e, lambda p, n: {}),
            {
                "panels": "channel",
                "x": "modulation",
                "series": "combining",
                "metric": "goodput_mbps",
            },
        ).axes
        self.addCleanup(figures.plt.close, "all")
        self.assertEqual([len(a.texts) for a in axes], [0, 0])
        colours = [
            [bars[0].get_facecolor() for bars in a.containers if hasattr(bars, "patches")]
            for a in axes
        ]
        self.assertEqual(colours[1], colours[0][1:])
        self.assertIsNotNone(axes[0].get_legend())

    def test_the_legend_has_the_series_of_all_panels_where_none_has_them_all(self):
        e = self.experiment(
            "- {channel: jakes, modulation: [1, 2], combining: 'on'}\n  - {channel: winner,"
            " modulation: [1, 2], combining: 'off'}"
        )
        shown = {"panels": "channel", "x": "modulation", "metric": "goodput_mbps"}
        for figure in (
            figures.lines(results(e, lambda p, n: {}), shown | {"series": "combining"}),
            figures.bars(results(e, lambda p, n: {}), shown | {"series": "combining"}),
        ):
            self.addCleanup(figures.plt.close, figure)
            legends = [
                [t.get_text() for t in a.get_legend().get_texts()]
                for a in figure.axes
                if a.get_legend()
            ]
            self.assertEqual(legends, [["combining (c)", "no combining (a)"]])

    def test_invalid_and_absent_runs_are_counted_and_left_out(self):
        e = self.experiment()

        def result_of(point, n):
            if point["modulation"] == 1 and n == 4:
                return None
            return {"valid": not (point["modulation"] == 2 and n == 3), "goodput_mbps": float(n)}

        r = results(e, result_of)
        self.assertEqual((r.runs, r.absent, r.invalid), (32, 2, 2))
        self.assertEqual(
            sorted(r.values(r.one({"channel": "jakes", "modulation": 2}), "goodput_mbps")),
            [1, 2, 4],
        )
        self.assertEqual(report.counts(r)["valid"], 28)

    def test_metrics_of_a_file_name_the_arguments(self):
        e = self.experiment()
        e.tree["figures"] = [{"metric": "modulation_share", "categories": [1, 2]}]
        self.assertEqual(
            report.metrics_of(e), ["modulation_share:1", "modulation_share:2", "goodput_mbps"]
        )
        with self.assertRaises(world.plan.BadInput):
            metrics.split("nothing:1")


class Folders(unittest.TestCase):
    """The folder into which Matplotlib writes as it is imported."""

    def drawn(self, **environment):
        """The output of a program that draws, and the names that are left in the folder of
        temporary files."""
        program = (
            "import io, os, sys; before = dict(os.environ)\n"
            "from openwip_cli.machine.canvas import plt\n"
            "figure, axes = plt.subplots()\n"
            "axes.set_title('$a_b$ of a'); figure.savefig(io.BytesIO(), format='png')\n"
            "assert dict(os.environ) == before; sys.stderr.flush(); os._exit(0)"
        )
        kept = {k: v for k, v in os.environ.items() if k[:4] not in ("XDG_", "MPLC")}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", "-c", program],
                env=kept
                | {"TMPDIR": folder, "PYTHONPATH": str(world.TOP / "host" / "cli")}
                | environment,
                capture_output=True,
                text=True,
            )
            return done.returncode, done.stderr, os.listdir(folder)

    def test_a_user_without_a_home_reads_no_words_of_matplotlib_and_no_folder_is_left(self):
        for more in (
            {"HOME": "/dev/null"},
            {"XDG_CONFIG_HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"},
        ):
            with self.subTest(**more):
                self.assertEqual(self.drawn(**more), (0, "", []))

    def test_the_folder_of_a_user_who_has_one_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            for more in ({"HOME": folder}, {"HOME": "/dev/null", "MPLCONFIGDIR": f"{folder}/own"}):
                self.assertEqual(self.drawn(**more), (0, "", []))
            lists = [path.parent for path in pathlib.Path(folder).rglob("fontlist*.json")]
            self.assertEqual(
                {str(path.relative_to(folder)) for path in lists}, {".cache/matplotlib", "own"}
            )

    def test_matplotlib_is_imported_in_one_place(self):
        importing = re.compile(r"^ *(import|from) matplotlib", re.MULTILINE)
        self.assertEqual(
            [
                path.name
                for folder in ("host/cli", "tests/curves")
                for path in (world.TOP / folder).rglob("*.py")
                if importing.search(path.read_text())
            ],
            ["canvas.py"],
        )


if __name__ == "__main__":
    unittest.main()
