# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that tests/bench keeps and the evaluations it makes: runs that were made with another
build are not used, and a value that was not measured agrees with nothing."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from bench_support import bench, code_of

from openwip_cli.errors import BadInput

MADE = {"seconds": 10, "sender": "cubic", "version": "a"}


five, other = bench("five_fidelities"), bench("other_processors")
free, beside, clocks = bench("free_running"), bench("adjacent_channel"), bench("two_clocks")
applications, senders, stations = (
    bench("umts_applications"),
    bench("tahoe_to_bbr"),
    bench("demo_and_stations"),
)
westwood, rated = bench("westwood_estimate"), bench("rating_pages")
handovers = bench("handover_table")
wcdma, chains = bench("wcdma_tcp_table"), bench("wcdma_chains")


class WestwoodEstimate(unittest.TestCase):
    """Segments are acknowledged 200 ms after they leave, 2 and then 10 bytes a ms; then three
    duplicates and what ends the recovery."""

    SLOW, FAST = (range(n, m) for n, m in ((1, 41), (41, 341)))

    def events(self):
        ends = [n * westwood.MSS for n in (*self.SLOW, *self.FAST)]
        at = [n * westwood.MSS / 2 for n in self.SLOW]
        at += [at[-1] + (n + 1) * westwood.MSS / 10 for n in range(len(self.FAST))]
        found = [(ms, end, True) for ms, end in zip(at, ends)] + [
            (ms + 200, end, False) for ms, end in zip(at, ends)
        ]
        last = at[-1] + 200
        return (
            sorted(found)
            + [(last + n, ends[-1], False) for n in (1, 2, 3)]
            + [(last + 4, ends[-1] + 1, True), (last + 204, ends[-1] + 1, False)]
        )

    def test_what_is_not_rounded_comes_to_the_rate_and_the_kernels_stays_below_it(self):
        exact, kernel = (westwood.estimates(self.events(), 1, whole) for whole in (False, True))
        self.assertEqual((len(exact), len(kernel)), (1, 1))
        self.assertAlmostEqual(exact[0], 10 * 200 / westwood.MSS, delta=0.2)
        # segments, the least: it stands at 2 or 3 bytes a ms, 1.1 segments
        self.assertEqual(kernel[0], 2)


class TcpInWcdmaCells(unittest.TestCase):
    """Each version sends 100 kB without errors. With errors each but one sends less, the higher the
    Doppler frequency is."""

    def write(self, folder):
        head = "application,congestion_control,method,sack,realisation,run,metric,value"
        cells, clean = [head], [head.replace("method", "channel")]
        for app, base in (("ftp", 60), ("http", 70), ("telnet", 80)):
            for who, (control, sack) in wcdma.SENDERS.items():
                for r in (1, 2):
                    clean.append(f"{app},{control},120,{sack},{r},k,sent_kb,{100 + r}")
                    for hz in (6, 20, 80):
                        sent = base - hz / 10 * (-1 if who == "Vegas" else 1) + sack + r / 10
                        values = (sent, sent - 10, 0.9, 7)
                        metrics = ("sent_kb", "acked_kb", "acked_of_sent", "timeouts")
                        for metric, value in zip(metrics, values):
                            cells.append(
                                f"{app},{control},{hz} Hz 160,{sack},{r},k,{metric},{value}"
                            )
        pathlib.Path(folder, "W-120.csv").write_text("\n".join(cells))
        pathlib.Path(folder, "W-clean.csv").write_text("\n".join(clean))
        counts = {"counts": {"runs": 3, "valid": 3}, "realisations": 2, "statements": []}
        pathlib.Path(folder, "comparison.json").write_text(
            json.dumps({"experiments": {"W-120": counts, "W-clean": counts}})
        )

    def test_efficiencies_and_their_orders_are_those_of_the_values(self):
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            kept = pathlib.Path(folder, "kept.json")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(code_of_quiet(wcdma, folder, "--json", str(kept)), 0)
            made = json.loads(kept.read_text())
        self.assertIn("fall with the Doppler frequency: 12 of 15", said.getvalue())
        rows = {(r["application"], r["sender"]): r for r in made["efficiency"]}
        self.assertEqual(rows["ftp", "Tahoe"]["text"], [0.80, 0.40, 0.26])
        self.assertIsNone(rows["ftp", "BBR"]["text"])
        expected = (59.5 / 101 + 59.6 / 102) / 2
        self.assertAlmostEqual(rows["ftp", "Tahoe"]["measured"][0]["mean"], expected, places=3)
        self.assertFalse(rows["ftp", "Vegas"]["falls"])
        self.assertTrue(all(c["holds"] for c in made["orders"]["applications"]))
        # Vegas, which rises, is ahead by 0.16 at 80 Hz.
        wrong = [c for c in made["orders"]["sack"] if not c["holds"]]
        self.assertEqual({(c["hz"], c["best"]) for c in wrong}, {(20, "Vegas"), (80, "Vegas")})
        self.assertEqual(len(made["performance"]), 9)
        self.assertEqual(made["performance"][0]["Tahoe"]["performance"], 1)

    def test_a_value_that_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            path = pathlib.Path(folder, "W-120.csv")
            key = "ftp,vegas,20 Hz 160"
            path.write_text(path.read_text().replace(key, "other,vegas,20 Hz 160"))
            with self.assertRaisesRegex(SystemExit, "no sent_kb ftp vegas 0 20 Hz 160"):
                wcdma.rows_of(wcdma.Measured(pathlib.Path(folder)))

    def test_a_chain_counts_the_blocks_that_are_lost_after_a_lost_one(self):
        lost = chains.np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], dtype=chains.np.uint8)
        found = chains.chain([lost, lost])
        self.assertEqual((found["blocks"], found["error"]["mean"]), (20, 0.3))
        self.assertEqual(found["after_error"]["mean"], round(1 / 3, 5))
        self.assertAlmostEqual(found["burst"], 1.5, places=3)


def code_of_quiet(module, *arguments):
    with unittest.mock.patch.object(sys, "argv", [module.__name__, *arguments]):
        return module.main()


class RatedPages(unittest.TestCase):
    def runs(self, **scaled):
        """Runs of two seeds with the literature's delays, but for those of page B that are
        scaled."""
        return [
            {"page": page, "case": case, "seed": seed, "valid": True, "initial_s": 1.0}
            | {
                "total_s": rated.text_of(page, case)[1]
                * (scaled.get(f"b{case}", 1) if page == "page-b" else 1)
            }
            for page in rated.RATIOS
            for case in rated.cases.TEXT
            for seed in (1, 2)
        ]

    def test_the_text_is_as_the_text(self):
        found, good = rated.summary(self.runs())
        self.assertTrue(good and found["complete"])
        self.assertEqual({r["measured_over_text"] for r in found["ratios"]}, {1.0})
        self.assertEqual(len(found["ratios"]), 8)
        self.assertIn("--page page-a --seeds 1..2;", rated.command_of(self.runs()))

    def test_an_order_that_differs_is_seen(self):
        found, good = rated.summary(self.runs(b384_150_10=0.75))
        self.assertEqual([o["same"] for o in found["order"]], [True, False])
        self.assertTrue(all(r["within"] for r in found["ratios"]))
        self.assertFalse(good)

    def test_a_ratio_beyond_its_budget_is_seen(self):
        for scale, within in ((1.2, True), (1.3, False), (0.8, True), (0.7, False)):
            found, good = rated.summary(self.runs(b32_150_20=scale, b32_150_10=scale))
            (ratio,) = (
                r
                for r in found["ratios"]
                if r["ratio"] == "FER 20 over 1 %, rate 32" and r["page"] == "page-b"
            )
            self.assertEqual(ratio["within"], within)

    def test_what_is_invalid_was_not_measured(self):
        runs = [dict(r, valid=r["case"] != "32_150_1") for r in self.runs()]
        found, _ = rated.summary(runs)
        self.assertFalse(found["complete"])
        self.assertEqual(len(found["ratios"]), 4)


class FromTahoeToBbr(unittest.TestCase):
    HEAD = (
        "congestion_control,umts.errors,umts.order,rack,window_bytes,realisation,run,metric,value"
    )

    def test_senders_of_two_folders_stand_in_one_table_and_one_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            lines = {
                "U-B7": [
                    "tahoe,0.0,as_completed,,,1,x,download_s,100",
                    "tahoe,0.1,as_completed,,,1,x,download_s,450",
                    "bbr,0.0,as_completed,,,1,x,download_s,100",
                    "bbr,0.0,as_completed,,,1,x,flow_retransmitted,7",
                ],
                "U-B6": [
                    f"bbr,{errors},as_completed,{rack},13400,{seed},x,download_s,{seconds}"
                    for seed in (1, 2)
                    for errors, rack, seconds in (
                        (0.0, 0, 100),
                        (0.1, 0, 190),
                        (0.0, 1, 100),
                        (0.1, 1, 122 + seed),
                    )
                ],
            }
            for name, rows in lines.items():
                (out / f"{name}.csv").write_text("\n".join([self.HEAD, *rows]) + "\n")
            output = io.StringIO()
            with (
                unittest.mock.patch.object(sys, "argv", ["x", folder, folder, str(out / "f.png")]),
                contextlib.redirect_stdout(output),
            ):
                self.assertEqual(senders.main(), 0)
            rows = {line.split(" | ")[0]: line for line in output.getvalue().splitlines()}
            self.assertIn("| tahoe | +350.0 | - | - |", rows["| tahoe"])
            self.assertIn("| bbr | no valid run | +90.0 ± 0.0 | +23.5 ± 6.4 |", rows["| bbr"])
            self.assertGreater((out / "f.png").stat().st_size, 5000)
            (out / "U-B6.csv").unlink()
            code, last_line = code_of(senders, folder, folder, "f.png")
            self.assertEqual((code, "U-B6.csv: No such file" in last_line), (2, True))
            self.assertEqual(code_of(senders)[0], 2)


class Fidelities(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def kept(self, **values):
        kept = five.Kept(self.out / "none.json", MADE)
        kept.runs = {
            f"P|{name}|{seed}": float(v)
            for name, all_ in values.items()
            for seed, v in all_.items()
        }
        return kept

    def test_runs_made_with_something_else_are_refused(self):
        file = self.out / "runs.json"
        file.write_text(json.dumps(MADE | {"runs": {"P|ns3|1": 2.0}}))
        self.assertEqual(five.Kept(file, MADE).values("P", "ns3"), {1: 2.0})
        for name, value in (("seconds", 5), ("sender", "reno"), ("version", "b")):
            with self.assertRaisesRegex(BadInput, f"{name} .*another OUT"):
                five.Kept(file, MADE | {name: value})
        # a file of an earlier release, without that field
        file.write_text(json.dumps({"P|ns3|1": 2.0}))
        with self.assertRaisesRegex(BadInput, "another OUT"):
            five.Kept(file, MADE)

    def test_the_looser_rule_is_for_real_time_only(self):
        wide, near = {1: 1.0, 2: 1.0, **dict.fromkeys(range(3, 9), 2.0)}, {1: 0.98, 2: 0.985}
        # within 3 % of seeds 1 and 2
        self.assertTrue(self.kept(real=near, virtual=wide).agree("P", "real", "virtual"))
        self.assertFalse(self.kept(ns3=near, virtual=wide).agree("P", "ns3", "virtual"))

    def test_a_file_in_real_time_is_one_transfer_until_its_last_byte(self):
        name, values = next(p for p in five.POINTS if p[0] == "C1")
        report = {
            "verdict": {"valid": True, "reasons": []},
            "workload": {"flows": {"100": {"last_byte_s": 0.5, "goodput_bps": 1}}},
        }
        with (
            unittest.mock.patch.object(five.emulate, "run", return_value=report) as run,
            unittest.mock.patch.object(
                five.workloads, "make", side_effect=lambda work, places: work
            ),
        ):
            self.assertAlmostEqual(
                five.FIDELITIES["real"](five.Point(name, values, 1), 1, None), 1.6
            )
        work = run.call_args.args[1]
        self.assertEqual(
            (work["kind"], work["flows"], work["congestion_control"]),
            ("flows", [{"kb": 100, "times": 1}], "cubic"),
        )
        report["verdict"] = {"valid": False, "reasons": ["pacing"]}
        with (
            unittest.mock.patch.object(five.emulate, "run", return_value=report),
            unittest.mock.patch.object(
                five.workloads, "make", side_effect=lambda work, places: work
            ),
            self.assertRaisesRegex(RuntimeError, "pacing"),
        ):
            five.FIDELITIES["real"](five.Point(name, values, 1), 1, None)

    def test_what_was_not_measured_agrees_with_nothing(self):
        six = {seed: 1 + seed / 10 for seed in range(1, 7)}
        self.assertIsNone(self.kept(ns3={1: 1.0}, virtual=six).agree("P", "ns3", "virtual"))
        self.assertIsNone(self.kept(virtual=six).agree("P", "real", "virtual"))
        # The two have no seed in common.
        self.assertIsNone(
            self.kept(real={8: 1.0, 9: 1.0}, virtual=six).agree("P", "real", "virtual")
        )

    def test_bad_words_are_one_line(self):
        for words in (["--fidelities", "ns4"], ["--points", "Z9"], ["--seeds", "0"]):
            code, output = code_of(five, str(self.out), *words)
            self.assertEqual(code, 2)
            self.assertIn(words[0], output)


class Processors(unittest.TestCase):
    def test_no_machine_is_a_folder_of_results(self):
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder, "here.json")
            result.touch()
            for machines in ("", "tcg:max,", ",kvm:host", "xen:max", "tcg:", "tcg:../..", "here"):
                code, output = code_of(other, folder, "--machines", machines)
                self.assertEqual(code, 2)
                self.assertIn("--machines has", output)
            self.assertTrue(result.exists())
        self.assertTrue(other.MACHINE.fullmatch("tcg:max,-avx512f,vendor=GenuineIntel"))

    def test_on_64_bit_arm_the_runs_are_those_of_ns3(self):
        with (
            unittest.mock.patch.object(other.platform, "machine", lambda: "aarch64"),
            tempfile.TemporaryDirectory() as folder,
        ):
            code, output = code_of(other, folder, "--runs", "ns3,cubic")
            self.assertEqual(
                (
                    code,
                    "--runs has 'cubic'; valid on this processor: ns3, ns3-symbols, tdl" in output,
                ),
                (2, True),
                output,
            )
        with (
            unittest.mock.patch.object(other.platform, "machine", lambda: "riscv64"),
            tempfile.TemporaryDirectory() as folder,
        ):
            code, output = code_of(other, folder)
            self.assertEqual((code, "riscv64; valid: x86_64, aarch64" in output), (2, True), output)

    def test_what_a_page_has_is_compared_with_this_machine(self):
        mine, others = "a" * 64, "b" * 64

        def measured(out, runs, seconds):
            return {
                "processor": "P",
                "kernel": "6",
                "flags": [],
                "runs": {r: {"sha256": mine, "options": other.RUNS[r]} for r in runs},
            }

        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            command = (folder, "--machines", "none", "--runs", "ns3,umts", "--expect", str(page))
            with (
                unittest.mock.patch.multiple(other, measure=measured, PROGRAMS=()),
                contextlib.redirect_stdout(io.StringIO()) as output,
            ):
                for text, code in (
                    (f"| `ns3` | {mine} |\n| `umts` | {mine} |", 0),
                    (f"| `ns3` | {mine} |\n| `umts` | {others} |", 1),
                ):
                    page.write_text(text)
                    with unittest.mock.patch.object(sys, "argv", ["other_processors", *command]):
                        self.assertEqual(other.main(), code)
                self.assertEqual(
                    output.getvalue().splitlines()[-1], f"not the same: umts on {page}"
                )
                page.write_text(f"`ns3` {mine}")
                code, line = code_of(other, *command)
            self.assertEqual((code, "has no SHA-256 of umts" in line), (2, True))
        known = other.expected(other.TOP / "docs/results/virtual-time.md", list(other.RUNS))
        self.assertEqual(len(set(known.values())), len(other.RUNS))

    def test_runs_of_other_seconds_programs_and_options_are_made_again(self):
        asked = {"seconds": 60.0, "programs": {"a": "1"}}
        runs = {
            "cubic": {"sha256": "x", "options": other.RUNS["cubic"]},
            "ns3": {"sha256": "y", "options": ["--time", "virtual"]},
            "umts": {"failed": "so", "options": other.RUNS["umts"]},
        }
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "here.json")
            self.assertEqual(other.kept_runs(file, asked), {})
            file.write_text(json.dumps(asked | {"runs": runs}))
            self.assertEqual(list(other.kept_runs(file, asked)), ["cubic"])
            self.assertEqual(other.kept_runs(file, asked | {"seconds": 5.0}), {})
            self.assertEqual(other.kept_runs(file, asked | {"programs": {"a": "2"}}), {})


class Evaluated(unittest.TestCase):
    """The external causes that a bench of radios reports."""

    def test_a_cell_on_a_clock_that_does_not_wait(self):
        def run(valid=True, **found):
            figures = {
                "late_share": ("below", 1e-3, 0.0),
                "lock_losses": ("below", 1, 0),
                "tcp_of_capacity": ("least", 0.97, 0.97),
            }
            return {
                "product": "b210",
                "verdict": {"valid": valid},
                **{
                    name: {"found": found.get(name, usual), how: much}
                    for name, (how, much, usual) in figures.items()
                },
            }

        def stop(slots, locks):
            return {
                "air": {
                    "most_slots": {"found": slots, "below": 150},
                    "locks_lost": {"found": locks, "below": 1},
                }
            }

        self.assertEqual(free.outside([run()], stop(149, 0)), [])
        self.assertEqual(
            free.outside(
                [run(False, late_share=1e-3, lock_losses=1, tcp_of_capacity=0.969)], stop(150, 1)
            ),
            [
                "b210: verdict",
                "b210: late_share",
                "b210: lock_losses",
                "b210: tcp_of_capacity",
                "stop of air: most_slots",
                "stop of air: locks_lost",
            ],
        )
        self.assertEqual(
            free.outside([{"product": "ideal", "verdict": {"valid": False}}], {}),
            ["ideal: verdict"],
        )

        self.assertEqual(
            free.valid([run(), {"product": "ideal", "verdict": {"valid": True}}, run(False)]),
            {"b210": "1 of 2", "ideal": "1 of 1"},
        )
        self.assertEqual(free.cost([(149, 0), (150, 0), (0, 1)])["within"], "2 of 3")

    def test_two_stations_against_a_demo(self):
        def runs(*of):
            return [
                {"by": by, "valid": valid, "tcp_bps": bps, "lock_losses": lost}
                for by, bps, valid, lost in of
            ]

        demo = ("demo", 30e6, True, 0)
        self.assertEqual(stations.outside(runs(demo, ("stations", 29.41e6, True, 0))), [])
        self.assertEqual(
            stations.outside(runs(demo, ("stations", 29.39e6, False, 1))),
            ["stations: verdict", "stations: lock", "goodput"],
        )
        self.assertEqual(stations.outside(runs(demo, ("stations", None, True, 0))), ["goodput"])
        few = runs(
            demo,
            ("stations", 30e6, True, 0),
            demo,
            ("stations", 28e6, False, 0),
            demo,
            ("stations", 29.9e6, True, 0),
        )
        self.assertEqual(stations.outside(few), ["stations: verdict"])
        self.assertEqual(stations.summed(few)["stations"]["valid"], "2 of 3")

    def test_a_slot_that_came_to_nothing_counts_once(self):
        def lost(**counts):
            nothing = dict.fromkeys(("not_sent", "late_plans", "not_heard", "no_feedback"), 10)
            return free.slots_lost.between(
                nothing, nothing | {name: 10 + n for name, n in counts.items()}
            )

        self.assertEqual(lost(), 0)
        self.assertEqual(lost(not_sent=73, not_heard=73), 73)
        self.assertEqual(lost(not_sent=73, not_heard=75), 75)
        # A terminal that has not sent a report yet.
        self.assertEqual(lost(not_sent=73), 73)
        # These are received, but have no grant.
        self.assertEqual(lost(late_plans=73, not_heard=1), 74)
        self.assertEqual(lost(no_feedback=63, not_heard=5), 63)
        self.assertEqual(lost(no_feedback=3, not_sent=5, not_heard=9), 9)

    def test_what_is_beside_the_carrier(self):
        def rows(leakage, evm, power):
            return [
                {"edge_samples": 0, "evm_percent": 0.02},
                {
                    "edge_samples": 16,
                    "leakage_db": leakage,
                    "evm_percent": evm,
                    "most_dbm_inside_mask": {"Local Area": power, "Wide Area": 21},
                },
            ]

        self.assertEqual(beside.outside(rows(-45.1, 0.32, -5)), [])
        self.assertEqual(
            beside.outside(rows(-45, 0.33, -5.1)),
            ["leakage_db", "evm_percent", "most_dbm_inside_mask"],
        )

    def test_slots_that_a_clock_gains(self):
        self.assertTrue(clocks.gained_as_expected(58, 54))
        self.assertFalse(clocks.gained_as_expected(58.1, 54))
        self.assertFalse(clocks.gained_as_expected(0, 8))  # clocks that are alike
        self.assertIsNone(clocks.gained_as_expected(0, 7.9))


class Applications(unittest.TestCase):
    def test_what_comes_sooner_than_the_bearer_can_is_told_and_is_an_error(self):
        slow, soon = (
            {"page_s": [3.66, 3.68], "file_s": 27.5},
            {
                "page_s": [3.66, 2.9],
                "file_s": 25.2,
            },
        )
        self.assertEqual(applications.below_the_floor("umts-32", slow), [])
        self.assertEqual(applications.below_the_floor("umts-32", soon), ["page_s", "file_s"])
        self.assertEqual(applications.below_the_floor("umts-384", soon), [])
        self.assertEqual(applications.below_the_floor("umts-384", {}), [])
        for valid, workload, code in ((True, slow, 0), (True, soon, 1), (False, slow, 1)):
            report = {
                "workload": workload,
                "verdict": {"valid": valid},
                "realtime": {"pacing_us": {}},
            }
            with (
                unittest.mock.patch.object(applications.emulate, "run", return_value=report),
                contextlib.redirect_stdout(io.StringIO()),
                unittest.mock.patch.object(
                    sys, "argv", ["umts_applications", "--bearer", "umts-32"]
                ),
            ):
                self.assertEqual(applications.main(), code)


class HandoverTable(unittest.TestCase):
    """Table 7.2: grades of a row, and rows that agree in the best and the worst."""

    FASTEST = 10.0

    def folder(self, at, text):
        """Download times that have the literature's grades, but for a number of rows that are all
        the same."""
        times = {"++": self.FASTEST, "+": 12.0, "-": 18.0, "--": 20.0}
        rows = ["channel,buffering,handover_delay_s,timestamps,sack,metric,mean,half_interval_95,"]
        rows[0] += "realisations"
        for (delay, channel), grades in text.items():
            grades = iter(grades.split())
            for buffering in handovers.BUFFERING:
                for timestamps, sack in handovers.OPTIONS.values():
                    rows.append(
                        f"{channel},{buffering},{delay}.0,{timestamps},{sack},download_s,"
                        f"{times[next(grades)]},0.1,3"
                    )
        pathlib.Path(at, "H-1.means.csv").write_text("\n".join(rows) + "\n")
        experiment = {"realisations": 3, "counts": {"runs": 2, "valid": 2}, "statements": []}
        pathlib.Path(at, "comparison.json").write_text(
            json.dumps({"experiments": {"H-1": experiment}})
        )

    def code(self, text):
        with (
            tempfile.TemporaryDirectory() as at,
            contextlib.redirect_stdout(io.StringIO()) as output,
        ):
            self.folder(at, text)
            with unittest.mock.patch.object(sys, "argv", ["handover_table", at]):
                code = handovers.main()
        return code, output.getvalue().splitlines()[-1]

    def test_grades_are_by_the_best_the_worst_and_the_mean_of_a_row(self):
        self.assertEqual(
            handovers.grades([10, 10.05, 20, 30, 29.9, 14, 15]),
            ["++", "++", "-", "--", "--", "+", "+"],
        )
        self.assertEqual(handovers.grades([10, 10.05]), ["++", "++"])
        for ours, text, agree in (
            (["++", "--"], ["++", "--"], True),
            (["+", "--"], ["++", "--"], False),
            (["++", "-"], ["++", "--"], False),
            (["+", "+"], ["+", "-"], True),
        ):
            self.assertEqual(handovers.extremes_agree(ours, text), agree)

    def test_it_agrees_with_the_text_and_with_nothing_else(self):
        code, output = self.code(handovers.TEXT)
        self.assertEqual(output, "best and worst agree in 14 of 14 rows, 126 of 126 cells within 1")
        self.assertEqual(code, 0)
        turned = {"++": "--", "--": "++", "+": "-", "-": "+"}
        other = {
            row: " ".join(turned[g] for g in grades.split())
            for row, grades in handovers.TEXT.items()
        }
        code, output = self.code(other)
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith("best and worst agree in 0 of 14 rows"), output)

    def test_a_row_that_is_not_there_is_named(self):
        some = dict(list(handovers.TEXT.items())[1:])
        with self.assertRaisesRegex(SystemExit, "has no download_s of WLAN-UMTS"):
            self.code(some)


if __name__ == "__main__":
    unittest.main()
