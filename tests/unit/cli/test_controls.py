# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of settings: complete, without contradiction, and true to the processes that it names;
set and get against scripted processes."""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import yaml
import zmq
from openwip_schema import control_pb2 as pb

from openwip_cli.cell import cell as cells
from openwip_cli.cell import configuration
from openwip_cli.commands import settings_command
from openwip_cli.errors import BadInput
from openwip_cli.figures import capacities, checks, live_changes
from openwip_cli.figures.facts import Facts, Lock
from openwip_cli.runs import emulate as emulated
from openwip_cli.runs import tcpl, transfers
from openwip_cli.settings import controls, emulator, kinds, monitor, table
from openwip_cli.settings import scenario as scenarios

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))


class Table(unittest.TestCase):
    def test_every_setting_of_a_scenario_can_change_or_says_why_not(self):
        for kind, settings in (("demo", scenarios.SETTINGS), ("emulate", emulator.SETTINGS)):
            rows = controls.table(kind)
            self.assertLessEqual({s.key for s in settings}, set(rows))
            for row in rows.values():
                self.assertTrue(
                    row.why_not
                    or row.process in (*settings_command.PROCESSES, settings_command.ATTENUATOR),
                    row.key,
                )
                self.assertNotIn("\n", row.why_not)

    def test_what_the_issue_asks_for_can_change_in_both_cells(self):
        both = (
            "link.modulation",
            "link.allocation",
            "link.bins",
            "link.max_retransmissions",
            "link.combining",
            "link.retransmission_delay_ms",
            "channel.model",
            "channel.speed_kmh",
            "channel.snr_db",
            "channel.blackout",
        )
        for kind in controls.CELLS:
            rows = controls.table(kind)
            for key in both:
                self.assertEqual(rows[key].why_not, "", (kind, key))
        self.assertEqual(controls.table("demo")["phy.predictor"].process, "terminal")
        self.assertEqual(controls.table("emulate")["scheduling.method"].why_not, "")
        self.assertIn("one terminal", controls.table("demo")["scheduling.method"].why_not)

    def test_what_can_change_is_a_key_of_the_process_that_takes_it(self):
        processes = {
            "demo": {"base": "macd", "terminal": "macd", "air": "medium", "attenuator": "demo"},
            "emulate": dict.fromkeys(settings_command.PROCESSES, "emulator"),
        }
        for command, program_of in processes.items():
            changeable = [c for c in controls.table(command).values() if not c.why_not]
            self.assertGreater(len(changeable), 15)
            for c in changeable:
                self.assertIn(program_of[c.process], table.programs(c.process_key), c.key)

    def test_what_a_command_hands_over_is_known_to_its_process(self):
        demo, emulate, tcpl_ = (
            scenarios.Scenario({}, table.settings_of(c)) for c in table.COMMANDS
        )
        cell = cells.Cell("x")
        for process, tree in (
            ("macd", configuration.mac_config(cell, demo, "base")),
            ("emulator", emulated.config(cell, emulate)),
            ("tcpl", transfers.config(cell, tcpl_, next(tcpl.points_of(tcpl_)))),
            ("medium", {"air": configuration.air_config(cell, demo)["air"]}),
        ):
            known = set(table.keys_of(process))
            leaves = {
                f"{group}.{key}"
                for group, keys in tree.items()
                if isinstance(keys, dict)
                for key in keys
            }
            leaves |= {key for key, value in tree.items() if not isinstance(value, dict)}
            self.assertGreater(len(leaves), 7)
            self.assertEqual(
                {
                    key
                    for key in leaves
                    if key not in known and not any(k.startswith(f"{key}.") for k in known)
                },
                set(),
                process,
            )

    def test_a_setting_that_is_told_as_another_one_is_handed_over_as_itself(self):
        s = scenarios.Scenario(
            {"umts.spikes": [1.0, 2.0], "umts.outages": [5.0, 1.0]}, table.settings_of("emulate")
        )
        tree = emulated.config(cells.Cell("x"), s)["umts"]
        self.assertEqual((tree["spikes"], tree["outages"]), ("1,2", "5,1"))

    def test_a_choice_of_an_earlier_release_is_taken_with_a_warning(self):
        kind = table.setting("umts.error_model", "emulate").kind
        kinds._warn_of_earlier.cache_clear()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual([kind.read("markov3"), kind.read("markov3")], ["birth_death"] * 2)
        self.assertEqual(
            said.getvalue(),
            "openwip: markov3 is called birth_death now; the next release does not take markov3\n",
        )
        self.assertNotIn("markov3", kind.valid)
        with self.assertRaises(ValueError):
            kind.read("markov4")

    def test_a_value_is_written_as_the_processes_write_it(self):
        for value, text in (
            (True, "on"),
            (2.5e-5, "2.5e-05"),
            ([8.0, 12.5], "8,12.5"),
            (None, ""),
            ([], ""),
            (
                [{"cfo_hz": 300}, {"tone": {"hz": 1e6}}],
                "{'cfo_hz': 300},{'tone': {'hz': 1000000.0}}",
            ),
        ):
            self.assertEqual(scenarios.text_of(value), text)

    def test_the_channels_are_those_that_there_are(self):
        profiles = {path.stem for path in (TOP / "channels/profiles").glob("*.yaml")}
        self.assertEqual(set(controls.table("demo")["channel.model"].kind.words), profiles)

    def test_the_monitors_panel_offers_only_what_a_cell_takes(self):
        offered = monitor.choices()
        self.assertGreaterEqual(len(offered), 10)
        for name, words in offered.items():
            takers = [
                c
                for kind in controls.CELLS
                for c in controls.table(kind).values()
                if f"{c.process} {c.process_key}" == name and not c.why_not
            ]
            self.assertTrue(takers, f"{name}: no cell can change it")
            for word in words:
                self.assertTrue(any(self.takes(c, word) for c in takers), f"{name} = {word}")

    @staticmethod
    def takes(row, text):
        try:
            return bool(row.check(text))
        except BadInput:
            return False

    def test_the_description_is_json_that_an_editor_can_be_made_of(self):
        tree = json.loads(json.dumps(controls.describe()))
        self.assertEqual(set(tree["cells"]), {"demo", "emulate"})
        for rows in tree["cells"].values():
            for r in rows:
                if not r["changeable"]:
                    self.assertTrue(r["why_not"])
                    continue
                self.assertIn(r["type"], ("integer", "real", "choice", "number_or_word", "text"), r)
                if r["type"] in ("choice", "number_or_word"):
                    self.assertTrue(r["words"], r)
                if r["type"] in ("integer", "real", "number_or_word"):
                    self.assertLess(r["low"], r["high"], r)

    def test_values_are_checked_before_anybody_is_asked(self):
        rows = controls.table("demo")
        for key, text, canonical in (
            ("link.bins", "25", "25"),
            ("link.modulation", "adaptive", "adaptive"),
            ("channel.snr_db", "20", "20"),
            ("channel.blackout", "on", "on"),
            ("channel.blackout", "200", "200"),
            ("channel.speed_kmh", "own", "own"),
            ("link.retransmission_delay_ms", "8.0", "8"),
            ("channel.shadowing", "4.5", "4.5"),
        ):
            self.assertEqual(rows[key].check(text), canonical)
        for key, text in (
            ("link.bins", "26"),
            ("link.bins", "many"),
            ("link.modulation", "9"),
            ("channel.blackout", "0"),
            ("channel.snr_db", "loud"),
            ("channel.snr_db", "nan"),
            ("phy.predictor", "oracle"),
            ("channel.model", "moon"),
        ):
            with self.assertRaisesRegex(BadInput, f"{re.escape(key)} is {text}; valid: "):
                rows[key].check(text)
        with self.assertRaisesRegex(BadInput, "seed cannot change in a running cell: "):
            rows["seed"].check("3")

    def test_an_unknown_key_names_the_one_that_was_meant(self):
        rows = controls.table("demo")
        for key, near in (
            ("bins", "link.bins"),
            ("link.bin", "link.bins"),
            ("channel.sir_db", "channel.snr_db"),
        ):
            with self.assertRaisesRegex(BadInput, f"did you mean {re.escape(near)}"):
                controls.find(rows, key)
        with self.assertRaisesRegex(BadInput, "unknown key; valid: .*link.bins"):
            controls.find(rows, "colour")

    def test_describe_needs_no_cell(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(
                settings_command.get_main(["--describe", "--json", "link.bins"], None), 0
            )
        tree = json.loads(out.getvalue())
        self.assertEqual([r["high"] for r in tree["cells"]["demo"]], [25])

    def test_the_shell_entry_refuses_with_one_line(self):
        for arguments in (
            ["set", "--name", "nocell", "link.bins=3"],
            ["get", "--name", "nocell"],
            ["set"],
            ["set", "link.bins"],
            ["get", "--remote", "udp://x"],
            ["get", "--remote", "tcp://192.0.2.1:7000"],
            ["keys"],
            ["demo", "--listen", "tcp://0.0.0.0:7000"],
            ["demo", "--keys", "/nonexistent"],
            ["demo", "--listen", "tcp://127.0.0.1:7000"],
            ["emulate", "--listen", "tcp://127.0.0.1:7000"],
        ):
            with self.subTest(arguments):
                done = subprocess.run(
                    [TOP / "openwip", *arguments],
                    capture_output=True,
                    text=True,
                    cwd="/",
                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "OPENWIP_NO_BUILD": "1"},
                )
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Process(threading.Thread):
    """A process of a cell as a script: nested settings, and what it refuses."""

    def __init__(self, folder, name, settings, refuses=()):
        super().__init__(daemon=True)
        self.settings, self.refuses, self.asked, self.over = (
            settings,
            refuses,
            [],
            threading.Event(),
        )
        self.air = name == "air"
        self.socket = zmq.Context.instance().socket(zmq.REP)
        self.socket.bind(f"ipc://{folder}/{name}.control")
        self.start()

    def run(self):
        while not self.over.is_set():
            if not self.socket.poll(50):
                continue
            request, reply = pb.Request.FromString(self.socket.recv()), pb.Reply(ok=True)
            if request.HasField("configure_yaml"):
                tree = yaml.safe_load(request.configure_yaml)
                self.asked.append(tree)
                bad = [
                    f"{g}.{k}"
                    for g, keys in tree.items()
                    for k in keys
                    if f"{g}.{k}" in self.refuses
                ]
                if bad:
                    reply.ok, reply.error = False, f"configure: {bad[0]}: no"
                else:
                    for group, keys in tree.items():
                        self.settings.setdefault(group, {}).update(keys)
                    reply.effective_slot = 4500
            status = reply.air if self.air else reply.mac
            status.effective_yaml = yaml.safe_dump(self.settings)
            self.socket.send(reply.SerializeToString())
        self.socket.close(0)


class SetAndGet(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.processes = {
            "base": Process(
                self.folder.name, "base", {"link": {"bins": 10, "modulation": "adaptive"}}
            ),
            "terminal": Process(
                self.folder.name,
                "terminal",
                {"link": {"combining": "on"}, "phy": {"predictor": "delay"}},
            ),
            "air": Process(
                self.folder.name,
                "air",
                {"channel": {"snr_db": 16, "model": "flat"}},
                refuses=("channel.user",),
            ),
        }
        self.running = settings_command.RunningSettings(
            "t", lambda s: f"ipc://{self.folder.name}/{s}"
        )

    def tearDown(self):
        for p in self.processes.values():
            p.over.set()
            p.join()
        self.folder.cleanup()

    def test_each_process_is_asked_once_for_all_of_its_keys(self):
        wanted = {"link.bins": "25", "link.modulation": "4", "channel.snr_db": "20"}
        self.assertEqual(self.running.set(wanted), {"base": 4500, "air": 4500})
        self.assertEqual(
            self.processes["base"].asked, [{"link": {"bins": "25", "modulation": "4"}}]
        )
        self.assertEqual(self.processes["terminal"].asked, [])
        self.assertEqual(self.running.read_back(wanted), {})
        self.assertEqual(self.running.value("channel.snr_db"), "20")

    def test_what_one_refuses_is_taken_back_from_the_others(self):
        with self.assertRaisesRegex(BadInput, "channel.user: no; nothing changed"):
            self.running.set({"link.bins": "25", "channel.user": "1"})
        self.running.read()
        self.assertEqual(self.running.value("link.bins"), "10")

    def test_a_receiver_that_does_not_follow_is_told_of(self):
        status = self.running.status["terminal"]
        status.radio.predictor = "delay"
        self.assertEqual(self.running.value("phy.predictor"), "delay")
        self.running.set({"channel.snr_db": "20"})
        self.processes["air"].settings["channel"]["snr_db"] = 3
        self.assertEqual(
            self.running.read_back({"channel.snr_db": "20"}, 0.1), {"channel.snr_db": "3"}
        )

    def test_paths_of_the_medium_have_the_settings_of_its_channel_each(self):
        settings = self.processes["air"].settings
        settings["paths"] = {
            name: {"channel": {"snr_db": snr}}
            for name, snr in (("base:terminal", 16), ("a.b:terminal", 9))
        }
        running = settings_command.RunningSettings("t", lambda s: f"ipc://{self.folder.name}/{s}")
        self.assertEqual(
            running.find("channel.snr_db", "a.b:terminal").key, "paths.a.b:terminal.channel.snr_db"
        )
        self.assertEqual(running.value("paths.a.b:terminal.channel.snr_db"), "9")
        running.set(
            {"paths.a.b:terminal.channel.snr_db": "3", "paths.base:terminal.channel.user": "1"}
        )
        self.assertEqual(
            self.processes["air"].asked,
            [
                {
                    "paths": {
                        "a.b:terminal": {"channel": {"snr_db": "3"}},
                        "base:terminal": {"channel": {"user": "1"}},
                    }
                }
            ],
        )
        live = {
            k for k, r in controls.table("demo").items() if r.process == "air" and not r.why_not
        }
        self.assertEqual(
            {r.key for r in running.shown("a.b:terminal")},
            {f"paths.a.b:terminal.{k}" for k in live},
        )
        self.assertFalse(live & {r.key for r in running.shown(None)})
        for key, path, words in (
            ("channel.snr_db", "b", "--path is b; valid: a.b:terminal, base:terminal"),
            ("link.bins", "base:terminal", "link.bins: unknown key; valid: channel.model"),
            ("snr_db", "base:terminal", "did you mean channel.snr_db"),
            ("paths.b.channel.snr_db", None, "did you mean paths."),
        ):
            with self.assertRaisesRegex(BadInput, words):
                running.find(key, path)
        with self.assertRaisesRegex(BadInput, "with --path, one of: a.b:terminal, base:terminal"):
            running.find("channel.user", None).check("1")

    def test_an_emulated_cell_is_known_by_its_settings(self):
        self.assertEqual(self.running.kind, "demo")
        self.processes["base"].settings["terminals"] = 1
        running = settings_command.RunningSettings("t", lambda s: f"ipc://{self.folder.name}/{s}")
        self.assertEqual(running.kind, "emulate")
        self.assertIn("channel.errors", running.rows)


class Report(unittest.TestCase):
    def status(self, *changes):
        status = pb.MacStatus()
        for slot, key in changes:
            change = status.changes.add(slot=slot, key=key, to="new")
            setattr(change, "from", "old")
        return status

    def test_changes_are_listed_by_slot_with_their_process(self):
        found = live_changes.changes_of(
            base=self.status((300, "link.bins")), air=self.status((150, "channel.snr_db"))
        )
        self.assertEqual(
            [(c["slot"], c["time_s"], c["process"], c["key"]) for c in found],
            [(150, 0.1, "air", "channel.snr_db"), (300, 0.2, "base", "link.bins")],
        )

    def test_the_capacity_is_marked_and_the_verdict_is_not_spoiled(self):
        for key in ("channel.blackout", "paths.base:terminal.channel.blackout"):
            self.check_change(live_changes.changes_of(air=self.status((150, key))))

    def of_lock(self, losses, changes):
        lock = Lock(losses, asked_for=live_changes.are_about_a_channel(changes))
        return checks.evaluate(Facts(lock=lock))["reasons"]

    def check_change(self, changed):
        capacity = capacities.mark_capacity({"how": ["a"]}, changed)
        self.assertTrue(capacity["settings_changed"])
        self.assertIn("changed by hand", capacity["how"][-1])
        self.assertEqual(self.of_lock(2, changed), [])
        self.assertEqual(self.of_lock(2, []), ["lock: lost 2 times"])
        self.assertFalse(capacities.mark_capacity({"how": ["a"]}, [])["settings_changed"])

    def test_telemetry_rates_are_no_change_of_the_link(self):
        changed = live_changes.changes_of(base=self.status((9, "telemetry.slot_every")))
        self.assertFalse(capacities.mark_capacity({"how": []}, changed)["settings_changed"])
        self.assertEqual(self.of_lock(1, changed), ["lock: lost 1 times"])


if __name__ == "__main__":
    unittest.main()
