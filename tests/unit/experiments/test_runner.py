# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns with an emulator that is a formula, and without Snakemake: attempts, progress, which
runs are next, the command."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.campaign import command, experiments, metrics, one_run, plan, stopping
from openwip_cli.campaign.store import State, Store
from openwip_cli.errors import BadInput, CellDied, Terminated
from openwip_cli.runs import pool


class Attempts(unittest.TestCase):
    """`good`: the attempt that comes off."""

    def setUp(self):
        # others may be taken by a campaign
        own = mock.patch.object(one_run, "CELL_SOCKETS", f"openwip-test-{os.getpid()}")
        own.start()
        self.addCleanup(own.stop)

    def attempts(self, spec, good, fault):
        tried = []

        def one(spec, places, progress):
            tried.append(1)
            if len(tried) >= good:
                return world.result()
            if isinstance(fault, Exception):
                raise fault
            return world.result(valid=False, reasons=[fault])

        made = one_run.attempts_of(spec, None, lambda text: None, one)
        self.assertEqual(len(made["attempts"]), len(tried))
        return len(tried), made

    def test_an_invalid_run_is_repeated_a_bounded_number_of_times_and_every_attempt_is_kept(self):
        tried, made = self.attempts({}, 3, "pacing: bad day")
        self.assertEqual(
            (tried, made["valid"], made["result"]["verdict"]["valid"]), (3, True, True)
        )
        self.assertEqual([a["reasons"] for a in made["attempts"]], [["pacing: bad day"]] * 2 + [[]])
        tried, made = self.attempts({}, 9, "pacing: bad day")
        self.assertEqual((tried, made["valid"]), (one_run.ATTEMPTS, False))

    def test_a_cell_that_dies_is_an_invalid_attempt(self):
        tried, made = self.attempts(
            {}, 2, CellDied("emulator was killed by SIGSEGV", [("emulator", "last words")])
        )
        self.assertEqual(
            made["attempts"][0]["reasons"],
            ["died: emulator was killed by SIGSEGV", "emulator: last words"],
        )
        self.assertEqual((tried, made["valid"]), (2, True))

    def test_what_would_come_out_the_same_is_not_tried_again(self):
        self.assertEqual(self.attempts({"time": "virtual"}, 2, "sums: one packet too many")[0], 1)
        self.assertEqual(self.attempts({"tcp-l": {}}, 2, "sums: one packet too many")[0], 1)
        self.assertEqual(self.attempts({"tcp-l": {}}, 2, "pacing: a packet left 28 ms late")[0], 2)
        self.assertEqual(
            self.attempts({"tcp-l": {}}, 2, CellDied("the supervisor was killed"))[0], 2
        )

    def test_runs_beside_each_other_have_cells_and_cores_of_their_own(self):
        with (
            one_run.reserved_cell("seat") as (first, cores),
            one_run.reserved_cell("seat") as (second, others),
        ):
            self.assertEqual((first, second), ("seat0", "seat1"))
        with one_run.reserved_cell("seat") as (again, _):
            self.assertEqual(again, "seat0")

    def test_a_number_that_cannot_be_taken_for_another_reason_than_that_it_is_taken_is_said(self):
        with (
            mock.patch.object(
                one_run.socket.socket,
                "bind",
                side_effect=PermissionError(1, "Operation not permitted"),
            ),
            self.assertRaises(PermissionError),
        ):
            with one_run.reserved_cell("seat"):
                pass

    def test_a_run_in_virtual_time_stays_on_one_core_and_those_beside_it_on_others(self):
        given = []

        def run(*_, cores, **__):
            given.append(cores.slot_path)
            if len(given) < 2:
                attempt()

        def attempt():
            one_run.attempt(
                {"time": "virtual", "emulator": {}, "workload": {}},
                world.places("."),
                lambda text: None,
            )

        with mock.patch.object(one_run.in_virtual_time, "run", run):
            attempt()
        self.assertEqual([len(cores) for cores in given], [1, 1])
        if len(one_run.placement.usable()) > 1:
            self.assertNotEqual(*given)

    def test_a_specification_that_is_none_is_refused(self):
        with World() as w:
            for text, pattern in (
                ("{", "it is not JSON"),
                (100_000 * "[", "it is not JSON"),
                ("{}", "lacks the key emulator or the key workload"),
                ('{"emulator": 3, "workload": {}}', "lacks the key emulator or the key workload"),
            ):
                (w.path / "spec").write_text(text)
                with self.assertRaisesRegex(BadInput, pattern):
                    one_run.main([str(w.path / "spec"), str(w.path / "out")], None)


class Next(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_a_realisation_of_all_points_comes_before_the_next_one(self):
        chosen = self.world.progress().next(9)
        self.assertEqual([r.spec["realisation"] for r in chosen], [1] * 8 + [2] * 8)

    def test_what_has_a_valid_file_is_not_next(self):
        runs = self.world.experiment().runs()
        self.world.make(runs[:10])
        self.world.make(
            runs[10:11], lambda *_: world.result(valid=False, reasons=["pacing: bad day"])
        )
        self.world.store.path(runs[3].key).write_text('{"half": ')
        left = [r.key for r in self.world.progress().next(99)]
        self.assertEqual(sorted(left), sorted([runs[3].key] + [r.key for r in runs[10:]]))

    def test_a_file_of_another_run_is_none_of_this_one(self):
        one, other = self.world.experiment().runs()[:2]
        self.world.make([one])
        self.world.store.path(other.key).write_text(self.world.store.path(one.key).read_text())
        self.assertEqual(self.world.store.read(one.key).state, State.VALID)
        self.assertEqual(self.world.store.read(other.key).state, State.INVALID)

    def test_a_run_without_what_is_watched_is_no_end_of_the_campaign(self):
        progress = self.world.progress()
        run, *_ = progress.next(1)
        made = world.result()
        del made["workload"]["goodput_bps"]
        self.world.make([run], lambda *_: made)
        progress.take(run.key)
        self.assertRegex(self.world.output[-1], r"^1/32 S1 .* #1: no result, valid; ")

    def test_progress_says_result_interval_and_time_left(self):
        progress = self.world.progress()
        chosen = progress.next(16)
        self.world.make(chosen)
        for run in chosen:
            progress.take(run.key)
        self.assertRegex(
            self.world.output[-1],
            r"^16/32 S1 channel=\w+ modulation=\w+ #2: \d\.\d\d Mbit/s, valid; "
            r"goodput_mbps \d\.\d{3} ± \d\.\d{3} of 2; \d+ s left$",
        )
        self.assertEqual(len(progress.next(99)), 16)


class Stop(unittest.TestCase):
    """Half the interval of 1, 2 .. n realisations of `values`."""

    LONG = world.SMALL.replace("full: {realisations: 4", "full: {realisations: 70")

    def campaign(self, until, width, values=world.formula):
        with World(self.LONG.replace("title: small", f"title: small\nuntil: {until}")) as w:
            progress = w.progress()
            while chosen := progress.next(width):
                w.make(chosen, lambda spec, *_: world.result(goodput_mbps=values(spec["emulator"])))
                for run in chosen:
                    progress.take(run.key)
            e = w.experiment()
            results = metrics.Results(e, w.store.read)
            return {p.text(): sorted(results.found[p]) for p in e.points}, results

    def test_a_point_stops_when_its_interval_is_narrow_enough_and_others_go_on(self):
        used, results = self.campaign(
            "{half_width: 0.05, rare: 0.2}",
            8,
            lambda o: 1 + o["seed"] * 0.2 * (o["link.modulation"] == 1),
        )
        self.assertEqual({len(n) for name, n in used.items() if "modulation=1" not in name}, {20})
        self.assertEqual({len(n) for name, n in used.items() if "modulation=1" in name}, {70})
        self.assertEqual((results.absent, results.invalid), (0, 0))

    def test_what_is_used_does_not_depend_on_how_many_run_at_a_time(self):
        few, many = (
            self.campaign("{half_width: 0.1, rare: 0.14}", 8, self.spread)[0],
            self.campaign("{half_width: 0.1, rare: 0.14}", 1000, self.spread)[0],
        )
        self.assertEqual(few, many)
        self.assertTrue(20 <= min(map(len, few.values())) < max(map(len, few.values())) < 70)

    @staticmethod
    def spread(options):
        """The more, the higher the modulation."""
        k = {"adaptive": 4}.get(options["link.modulation"], options["link.modulation"])
        return 1 + 0.1 * k * ((options["seed"] * 7) % 5 - 2) / 2

    def test_a_realisation_that_is_still_missing_holds_back_the_later_ones(self):
        until = stopping.Until(0.1, rare=0.2)
        self.assertEqual(
            [
                until.enough(dict.fromkeys(there, 1.0))
                for there in (range(1, 20), range(1, 30), range(2, 80, 3))
            ],
            [None, 20, 59],
        )
        with World(
            self.LONG.replace("title: small", "title: small\nuntil: {half_width: 0.1, rare: 0.2}")
        ) as w:
            e = w.experiment()
            w.make(
                [r for r in e.runs() if r.realisation not in (2, 25)],
                lambda *_: world.result(),
            )
            progress = w.progress()
            self.assertEqual({r.realisation for r in progress.next(99)}, {2, 25})
            w.make([r for r in e.runs() if r.realisation == 2], lambda *_: world.result())
            self.assertEqual(w.progress().next(99), [])

    def test_no_point_stops_before_what_is_rare_was_seen_with_95_percent(self):
        self.assertEqual(
            [stopping.Until(0.1, rare=r).least for r in (0.5, 0.14, 0.1, 0.05, 0.01)],
            [20, 20, 29, 59, 299],
        )
        self.assertEqual(stopping.Until(0.1, 100).least, 100)


class SerialPool(pool.Pool):
    """A pool without processes. `attempt`: function that makes an attempt at a run."""

    world = attempt = None

    def run(self, specs, take):
        for key, spec in specs.items():
            self.world.make([plan.Run(key, spec, "")], self.attempt)
            take(key)


class Command(unittest.TestCase):
    """./openwip experiment from its arguments to its files, the emulator and the pool replaced."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.out = self.world.path / "results"
        self.world.store = Store(self.out)
        for where, name, value in (
            (experiments, "folder", lambda top: self.world.path),
            (experiments, "known", lambda top, *_: ["S1"]),
            (command, "check_machine", lambda *_: None),
            (pool, "Pool", SerialPool),
            (SerialPool, "world", self.world),
        ):
            patch = mock.patch.object(where, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def command(self, *arguments, attempt=None):
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(SerialPool, "attempt", attempt and staticmethod(attempt)),
        ):
            code = command.main(
                ["S1", "--out", str(self.out), *arguments], world.places(self.world.path)
            )
        return code, out.getvalue(), err.getvalue()

    def test_results_figure_and_table_are_written(self):
        code, out, err = self.command()
        self.assertEqual(code, 0)
        self.assertIn("32 to do", err)
        self.assertIn("statements: 1 hold, 0 do not, 0 not measured", out)
        self.assertEqual((self.out / "small.png").read_bytes()[:4], b"\x89PNG")
        rows = (self.out / "S1.csv").read_text().splitlines()
        self.assertEqual(
            (rows[0], len(rows)), ("channel,modulation,realisation,run,metric,value", 33)
        )
        means = (self.out / "S1.means.csv").read_text().splitlines()
        self.assertEqual(len(means), 9)
        table = json.loads((self.out / "comparison.json").read_text())["experiments"]["S1"]
        self.assertEqual((table["counts"]["valid"], table["statements"][0]["holds"]), (32, "yes"))
        self.assertIn(
            "| S1 | 2 is best [here] | jakes: 2 (2.2", (self.out / "comparison.md").read_text()
        )

    def test_statements_of_several_folders_stand_side_by_side(self):
        self.command()
        tree = json.loads((self.out / "comparison.json").read_text())
        (first,) = tree["experiments"]["S1"]["statements"]
        changed = first | {"holds": "no (not sure)", "measured": "a|b"}
        tree["experiments"]["S1"]["statements"] = [
            changed,
            first | {"id": "more", "holds": "not measured", "measured": ""},
        ]
        other = self.out.parent / "other=1"
        other.mkdir()
        (other / "comparison.json").write_text(json.dumps(tree))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = command.main(
                ["--beside", str(self.out), f"BBR=3={self.out}", str(other)],
                world.places(self.world.path),
            )
        head, _, *rows, last = out.getvalue().splitlines()
        self.assertEqual(
            (code, head), (0, "| statement | the text says | real, full | BBR=3 | real, full |")
        )
        self.assertEqual(
            rows[0],
            f"| S1 {first['id']} | 2 is best | **yes**: {first['measured']} | **yes**:"
            f" {first['measured']} | **no (not sure)**: a\\|b |",
        )
        self.assertEqual(rows[1:], ["| S1 more | 2 is best | - | - | **not measured**: - |"])
        self.assertEqual(last, "| hold, of those measured | | 1 of 1 | 1 of 1 | 0 of 1 |")

    def test_what_has_no_statements_to_put_beside_others_is_refused(self):
        (self.out / "runs").mkdir(parents=True)
        for content, words in (
            (None, "No such file"),
            ("[]", "no comparison.json of"),
            ('{"experiments": {"S1": 1}}', "no comparison.json of"),
            (
                (
                    '{"about": {"time": "", "mode": ""}, "experiments": {"S1": {"statements":'
                    ' [{"id": "a", "says": "b", "holds": 1, "measured": ""}]}}}'
                ),
                "no comparison",
            ),
            ("{", "no comparison.json of"),
        ):
            if content is not None:
                (self.out / "comparison.json").write_text(content)
            with (
                self.subTest(content),
                self.assertRaisesRegex(BadInput, f"--beside {self.out}: .*{words}"),
            ):
                command.main(["--beside", str(self.out)], world.places(self.world.path))
        with self.assertRaisesRegex(BadInput, "valid: FOLDER or TITLE=FOLDER"):
            command.main(["--beside", f"={self.out}"], world.places(self.world.path))

    def test_what_is_said_without_a_run_takes_no_other_options(self):
        for given, reported in (
            (["A1", "--beside", "x"], "a NAME has no effect with --beside"),
            (["--list", "--out", "x"], "--out has no effect with --list"),
            (["--describe", "--quick"], "--quick has no effect with --describe"),
            (["--beside", "x", "--tcp", "sack=0"], "--tcp has no effect with --beside"),
            (["--list", "--beside", "x"], "--beside has no effect with --list"),
        ):
            with (
                self.subTest(reported),
                self.assertRaisesRegex(
                    BadInput,
                    f"^{reported}; valid: {reported.rpartition(' ')[2]} alone$",
                ),
            ):
                command.main(given, world.places(self.world.path))

    def test_a_plan_with_other_contents_is_refused_and_a_run_with_such_is_made_again(self):
        self.command("--quick")
        path, whole = self.out / "plan.json", (self.out / "plan.json").read_text()
        for text in (
            "{",
            "[]",
            '{"experiments": 1}',
            '{"experiments": {"S1": []}}',
            '{"experiments": {"S1": {"mode": "quick"}}}',
            '{"experiments": {"S1": {"mode": "quick", "fingerprint": "", "programs": [1]}}}',
            "\udcff",
        ):
            path.write_text(text, errors="surrogateescape")
            with (
                self.subTest(text),
                self.assertRaisesRegex(
                    BadInput,
                    f"^--out: {path}: it is not what ./openwip experiment wrote; use another"
                    " --out$",
                ),
            ):
                self.command("--quick")
        path.write_text(whole)
        run = self.world.experiment("quick").runs()[0]
        whole = json.dumps(self.world.store.read(run.key).run)
        self.world.store.archive.path.unlink()
        self.command("--quick")
        for part, wrong in (
            ("result", [1]),
            ("result", {"workload": {"goodput_bps": "x"}}),
            ("attempts", [1]),
            ("attempts", 3),
            ("spec", 3),
        ):
            self.world.store.archive.close()
            self.world.store.archive.path.unlink()
            self.world.store.path(run.key).write_text(json.dumps(json.loads(whole) | {part: wrong}))
            with self.subTest(part, wrong=wrong):
                self.assertEqual(self.command("--quick")[0], 0)

    def test_the_help_is_that_of_the_command(self):
        for call, name in ((command.main, "experiment"), (command.campaign, "campaign")):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
                call(["--help"], world.places(self.world.path))
            self.assertRegex(out.getvalue(), f"^usage: ./openwip {name} ")

    def test_the_same_command_goes_on_and_repeats_nothing(self):
        self.command("--quick")
        code, _, err = self.command("--quick")
        self.assertEqual((code, len(self.world.ran())), (0, 4))
        self.assertIn("4 of them finished before; 0 to do", err)

    def test_a_changed_scenario_is_refused(self):
        self.command("--quick")
        with self.assertRaisesRegex(BadInput, "were made with mode quick, and mode is full now"):
            self.command()
        self.world.write(world.SMALL.replace("allocation: static", "allocation: best"))
        with self.assertRaisesRegex(
            BadInput, r"S1\.yaml or its file of defaults has changed since"
        ):
            self.command("--quick")

    def test_virtual_time_makes_other_runs_and_the_two_are_not_mixed(self):
        self.command("--quick")
        with self.assertRaisesRegex(
            BadInput, "S1 in .* were made with time real, and time is virtual"
        ):
            self.command("--quick", "--time", "virtual")
        real, virtual = (
            plan.Experiment(self.world.file, "quick", time).runs() for time in ("real", "virtual")
        )
        self.assertEqual({r.key for r in real} & {r.key for r in virtual}, set())
        self.assertEqual([r.spec | {"time": "virtual"} for r in real], [r.spec for r in virtual])

    def test_results_of_another_kernel_are_not_mixed_and_which_it_was_is_said(self):
        kernel = self.world.path / "virtual-time" / "linux"
        kernel.parent.mkdir()

        def built(release, made_of):
            kernel.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo {release}\n")
            kernel.chmod(0o755)
            (kernel.parent / "made-of").write_text(f"{made_of}  -")

        quick = ("--quick", "--time", "virtual")
        # A folder from before the kernel was recorded, or with a kernel that did not exist then.
        self.command(*quick)
        built("6.12.1", "a" * 64)
        for _ in range(2):
            self.assertEqual(self.command(*quick)[0], 0)
            self.assertIn(
                f"Linux of virtual time: 6.12.1 {'a' * 16}",
                (self.out / "comparison.md").read_text(),
            )
        for release, made_of in (("6.12.2", "a" * 64), ("6.12.1", "b" * 64)):
            built(release, made_of)
            with self.assertRaisesRegex(
                BadInput,
                f"S1 in .* begun with Linux 6.12.1 a{{16}}, and that of this build is {release}"
                f" {made_of[:16]}; use",
            ):
                self.command(*quick)
        self.assertEqual(self.command(*quick, "--only-evaluate")[0], 0)
        self.assertEqual(
            json.loads((self.out / "plan.json").read_text())["experiments"]["S1"]["kernel"],
            f"6.12.1 {'a' * 16}",
        )

    def test_results_of_other_programs_are_not_mixed(self):
        def built(**programs):
            for name, text in programs.items():
                program = (
                    self.world.path
                    / "host"
                    / {"wip_guest": "virtual", "wip_ns3": "simulator"}.get(name, "emulator")
                    / name
                )
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text(text)

        self.command("--quick")  # a folder from before programs were recorded
        built(wip_emulator="one", wip_guest="one", wip_ns3="one")
        for _ in range(2):
            self.assertEqual(self.command("--quick")[0], 0)
        built(wip_guest="two", wip_ns3="two")  # programs of virtual time and of ns-3
        self.assertEqual(self.command("--quick")[0], 0)
        built(wip_emulator="two")
        one, two = (hashlib.sha256(text).hexdigest()[:16] for text in (b"one", b"two"))
        with self.assertRaisesRegex(
            BadInput,
            f"S1 in .* begun with wip_emulator {one}, and that of this build is {two}; use another"
            " --out",
        ):
            self.command("--quick")
        self.assertEqual(self.command("--quick", "--only-evaluate")[0], 0)
        built(wip_emulator="one")
        self.assertEqual(self.command("--quick")[0], 0)
        for time, program in (("virtual", "wip_guest"), ("ns3", "wip_ns3")):
            shutil.rmtree(self.out)
            self.command("--quick", "--time", time)
            built(**{program: "three"})
            with (
                self.subTest(program),
                self.assertRaisesRegex(BadInput, f"begun with {program} {two}"),
            ):
                self.command("--quick", "--time", time)

    def test_two_campaigns_in_one_folder_are_refused(self):
        def attempt(*_):
            self.command()

        with self.assertRaisesRegex(
            BadInput, "another ./openwip experiment or campaign is using this folder"
        ):
            self.command(attempt=attempt)

    def test_an_invalid_run_is_left_out_of_the_means_shown_and_makes_the_exit_code_1(self):
        def attempt(spec, *_):
            bad = spec["emulator"]["seed"] == 4
            return world.result(
                valid=not bad,
                reasons=["late: 3 slots"] * bad,
                goodput_mbps=1e3 if bad else world.formula(spec["emulator"]),
            )

        code, out, _ = self.command(attempt=attempt)
        self.assertEqual(code, 1)
        self.assertIn("24 of 32 runs valid", out)
        repeated = 8 * (one_run.ATTEMPTS - 1)  # the last one was not
        self.assertRegex(
            (self.out / "comparison.md").read_text(),
            rf"\| 24 \| 8 \| {repeated} \|\n\n(?s:(?!attempts).)*$",
        )
        self.assertNotIn("1000", (self.out / "S1.means.csv").read_text())

    def test_a_command_that_runs_nothing_keeps_how_long_the_runs_took(self):
        self.command()
        path = self.out / "comparison.json"
        for words in ((), ("--only-evaluate",)):
            tree = json.loads(path.read_text())
            path.write_text(json.dumps(tree | {"about": tree["about"] | {"minutes": 31.5}}))
            self.command(*words)
            self.assertEqual(json.loads(path.read_text())["about"]["minutes"], 31.5)
        path.unlink()
        self.command("--only-evaluate")
        self.assertNotIn("minutes", json.loads(path.read_text())["about"])

    def test_after_a_signal_the_exit_code_is_the_signals_and_what_was_finished_stays(self):
        def attempt(spec, *_):
            if spec["emulator"]["seed"] == 2:
                raise Terminated(2)
            return world.result()

        code, _, err = self.command(attempt=attempt)
        self.assertEqual(code, 130)
        self.assertIn("everything is removed, 8 runs were finished; the same command goes on", err)
        self.assertEqual(
            [self.world.store.read(r.key).counts for r in self.world.experiment().runs()],
            [True] * 8 + [False] * 24,
        )


if __name__ == "__main__":
    unittest.main()
