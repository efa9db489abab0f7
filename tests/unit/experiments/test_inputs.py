# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that runs read are part of what identifies a run, by their contents."""

import contextlib
import errno
import hashlib
import io
import json
import os
import pathlib
import unittest
from unittest import mock

import world
from world import World

from openwip_cli.campaign import experiments, one_run, options, plan
from openwip_cli.errors import BadInput
from openwip_cli.runs import failure
from openwip_cli.runs.failure import Cause
from openwip_cli.settings import emulator, inputs

# fingerprint of A1 in quick mode, and the key of its first run
KEPT = ("a7b3a892a2786610", "340029ce7898bafe")


class Inputs(unittest.TestCase):
    """Files that runs read: a definition of a channel based on another one, and a trace."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.top = self.world.path / "top"
        (self.top / "channels").mkdir(parents=True)
        self.write("channels/mine.yaml", "based_on: base.yaml\n")
        self.write("channels/base.yaml", "based_on: jakes\n")
        self.write("trace.h5", "samples")

    def write(self, name, text):
        (self.top / name).write_text(text)

    def experiment(self, model):
        """An experiment whose channel `mine` is that file."""
        self.world.write(world.SMALL.replace("jakes", "mine"))
        (self.world.path / "defaults.yaml").write_text(
            world.DEFAULTS.replace(
                "\n  jakes: {",
                f"\n  mine: {{channel.model: {model}, channel.speed_kmh: 75}}\n  jakes: {{",
            )
        )
        return plan.Experiment(self.world.file, "quick", top=self.top)

    def keys(self, model):
        return {r.key for r in self.experiment(model).runs()}

    def test_another_content_of_a_file_is_another_run(self):
        for model, changed in (
            ("trace.h5", "trace.h5"),
            ("channels/mine.yaml", "channels/mine.yaml"),
            ("channels/mine.yaml", "channels/base.yaml"),
        ):
            with self.subTest(model, changed=changed):
                before = self.keys(model)
                self.assertEqual(self.keys(model), before)
                self.write(changed, (self.top / changed).read_text() + " ")
                self.assertFalse(self.keys(model) & before)

    def test_the_hashes_are_in_the_specification_under_the_names_of_the_files(self):
        for run in self.experiment("channels/mine.yaml").runs():
            self.assertEqual(
                run.spec["inputs"],
                {
                    name: hashlib.sha256((self.top / name).read_bytes()).hexdigest()
                    for name in ("channels/mine.yaml", "channels/base.yaml")
                },
            )

    def test_a_run_without_files_has_the_key_that_it_always_had(self):
        """Keys are those from before there were hashes, so published results stay valid."""
        e = plan.Experiment(experiments.folder(world.TOP) / "A1.yaml", "quick")
        self.assertEqual([k for r in e.runs() for k in r.spec if k == "inputs"], [])
        self.assertEqual((e.fingerprint, e.runs()[0].key), KEPT)

    def test_only_settings_whose_kind_says_so_name_files(self):
        self.assertEqual(
            [s.key for s in inputs.that_name_files(emulator.SETTINGS)],
            [
                "link.scheduler",
                "link.adaptation",
                "phy.predictor",
                "channel.model",
                "trace.file",
                "trace.up_file",
                "trace.light_file",
                "trace.up_light_file",
            ],
        )
        self.assertEqual(
            inputs.names_of({"channel.model": "jakes", "seed": 1}, emulator.SETTINGS), {}
        )

    def test_code_of_the_users_own_is_a_file_that_a_run_depends_on(self):
        for value, name, other in (
            ("python:a:b.py:Best", "a:b.py", "python:/top/a:b.py:Best"),
            ("library:own.so", "own.so", "library:/top/own.so"),
            ("library:own.so:k=3:4", "own.so", "library:/top/own.so:k=3:4"),
            ("built_in", None, "built_in"),
        ):
            values = {"link.scheduler": value, "channel.model": "jakes"}
            found = inputs.names_of(values, emulator.SETTINGS)
            self.assertEqual(found, {"link.scheduler": name} if name else {})
            self.assertEqual(
                inputs.under(values, emulator.SETTINGS, pathlib.Path("/top")),
                values | {"link.scheduler": other},
            )
        kind = next(s.kind for s in emulator.SETTINGS if s.key == "link.scheduler")
        for wrong in ("python:a.py", "python::A", "library:", "a.py:A", "", 3):
            with self.assertRaises(ValueError):
                kind.read(wrong)

    def test_a_file_that_is_not_there_or_is_none_is_refused_before_anything_runs(self):
        os.mkfifo(self.top / "fifo.h5")
        (self.top / "folder.h5").mkdir()
        for model, why in (
            ("no.h5", "No such file or directory"),
            ("fifo.h5", "it is not a regular file"),
            ("folder.h5", "Is a directory"),
        ):
            with (
                self.subTest(model),
                self.assertRaisesRegex(
                    BadInput,
                    f"channel.model is '{model}': {self.top}/{model}: {why}; valid: a file that can"
                    " be read",
                ),
            ):
                self.keys(model)

    def test_a_campaign_goes_on_with_no_other_content_and_the_file_is_named(self):
        plan_of = options.check_plan(self.world.store, [self.experiment("trace.h5")])
        self.world.store.write_plan(plan_of)
        options.check_plan(self.world.store, [self.experiment("trace.h5")])
        self.write("trace.h5", "other samples")
        with self.assertRaisesRegex(
            BadInput,
            "--out: the file trace.h5, which runs of S1 read, has changed since .* begun; use"
            " another --out",
        ):
            options.check_plan(self.world.store, [self.experiment("trace.h5")])

    def test_a_folder_of_before_there_were_hashes_is_refused_where_runs_read_files(self):
        e = self.experiment("trace.h5")
        old = {
            "experiments": {
                "S1": {"mode": "quick", "time": "real", "fingerprint": e.old_fingerprint}
            }
        }
        self.world.store.write_plan(old)
        with self.assertRaisesRegex(
            BadInput,
            r"S1 in .* was begun by an earlier release, which did not note the contents of the files"
            r" that the runs read \(trace.h5\)",
        ):
            options.check_plan(self.world.store, [e])

    def test_a_worker_with_another_file_refuses_and_one_whose_file_changes_meanwhile_too(self):
        run, *_ = self.experiment("trace.h5").runs()
        spec, out = self.world.path / f"{run.key}.json", self.world.path / "out.json"
        spec.write_text(json.dumps(run.spec | {"time": "virtual"}))
        places = world.places(self.world.path)._replace(top=self.top)

        def attempt(of, *_):
            self.assertEqual(
                one_run.emulator_of(of, places)["channel.model"], f"{self.top}/trace.h5"
            )
            if self.spoils:
                self.write("trace.h5", "others")
            return world.result()

        with mock.patch.object(
            one_run,
            "attempts_of",
            lambda *of: {"valid": True, "attempts": [], "result": attempt(*of)},
        ):
            self.spoils = False
            self.assertEqual(one_run.main([str(spec), str(out)], places), 0)
            self.assertEqual(json.loads(out.read_text())["inputs"], run.spec["inputs"])
            out.unlink()
            self.spoils = True
            for _ in ("meanwhile", "before"):
                with self.assertRaisesRegex(
                    BadInput, "^trace.h5 has SHA-256 .*: the file has changed since"
                ):
                    one_run.main([str(spec), str(out)], places)
            self.write("trace.h5", "as nobody planned it")
            spec.write_text(
                json.dumps(
                    {k: v for k, v in run.spec.items() if k != "inputs"} | {"time": "virtual"}
                )
            )
            with self.assertRaisesRegex(BadInput, "^trace.h5: changed while the run read it"):
                one_run.main([str(spec), str(out)], places)
        self.assertFalse(out.exists())

    def test_a_machine_that_has_no_more_of_something_is_told_from_a_run_that_fails(self):
        (self.world.path / "spec.json").write_text(
            json.dumps({"emulator": {}, "workload": {}, "time": "virtual"})
        )
        for fault in (OSError(errno.ENOSPC, "No space left on device"), MemoryError()):
            with (
                mock.patch.object(one_run, "attempts_of", side_effect=fault),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                self.assertEqual(
                    failure.of_exit(
                        one_run.main(
                            [str(self.world.path / "spec.json"), str(self.world.path / "made")],
                            world.places(self.world.path),
                        ),
                        "",
                        1,
                    ).cause,
                    Cause.EXHAUSTED,
                )


if __name__ == "__main__":
    unittest.main()
