# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of a flowgraph: metadata, replay through the receiver, and what is refused."""

import errno
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest
import unittest.mock

import numpy
import pmt
from gnuradio import blocks, gr, wip
from iq_world import SETTINGS, SLOTS, VALIDATOR, apps, record, run

from openwip_cli.errors import BadInput
from openwip_cli.iq import command, metadata, recordings, replay
from openwip_cli.iq.source import Pace, Source


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.whole = record(cls.folder / "whole")
        cls.middle = record(cls.folder / "middle", begin_slot=250, end_slot=400, from_start=False)

    def copy(self, name, edit=None):
        """The whole recording, its metadata edited."""
        for ending in (recordings.DATA, recordings.META, recordings.SLOTS):
            shutil.copy(self.whole.base + ending, self.folder / (name + ending))
        if edit:
            path = self.folder / (name + recordings.META)
            meta = json.loads(path.read_text())
            edit(meta)
            path.write_text(json.dumps(meta))
        return self.folder / name

    # --- what is in it ---

    def test_holds_all_samples_and_reports_of_the_run(self):
        g = self.whole.whole
        self.assertEqual((g["openwip:samples"], g["openwip:reports"]), (SLOTS * 5120, SLOTS))
        self.assertEqual((g["openwip:samples_lost"], g["openwip:reports_lost"]), (0, 0))
        self.assertEqual(g["openwip:first_slot"], 150)
        self.assertEqual(self.whole.captures[0]["core:global_index"], 150 * 5120)
        self.assertEqual(self.whole.data_path.stat().st_size, SLOTS * 5120 * 8)

    def test_says_where_the_receiver_was_locked_and_what_it_received(self):
        (locked,) = [a for a in self.whole.meta["annotations"] if a["core:label"] == "locked"]
        self.assertGreater(locked["openwip:slots"], SLOTS - 20)
        self.assertEqual(locked["core:sample_count"], locked["openwip:slots"] * 5120)
        self.assertEqual(locked["core:sample_start"], (locked["openwip:first_slot"] - 150) * 5120)
        self.assertGreater(locked["openwip:frames_good"], 500)
        self.assertGreater(locked["openwip:frames_bad"], 500)

    def test_of_some_slots_begins_and_ends_with_a_slot(self):
        self.assertEqual(self.middle.samples, 150 * 5120)
        (capture,) = self.middle.captures
        self.assertEqual((capture["openwip:slot"], capture["openwip:slot_sample"]), (250, 0))

    def test_metadata_is_that_of_the_extensions_schema_and_of_sigmf(self):
        import jsonschema

        jsonschema.validate(self.whole.meta, recordings.extension_schema())
        documented = recordings.extension_schema()["properties"]
        own = {key for key in self.whole.whole if key.startswith("openwip:")}
        self.assertLessEqual(own, set(documented["global"]["properties"]))
        for group in ("captures", "annotations"):
            for item in self.whole.meta[group] + self.middle.meta[group]:
                own = {key for key in item if key.startswith("openwip:")}
                self.assertLessEqual(own, set(documented[group]["items"]["properties"]))

    @unittest.skipUnless(
        VALIDATOR.exists(), f"no SigMF validator at {VALIDATOR}: ./openwip setup installs it"
    )
    def test_the_validator_of_sigmf_passes_it_and_tells_a_damaged_one(self):
        for made in (self.whole, self.middle):
            done = subprocess.run([VALIDATOR, made.meta_path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        broken = self.copy("broken", lambda m: m["global"].pop("core:datatype"))
        done = subprocess.run([VALIDATOR, f"{broken}.sigmf-meta"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)

    def test_gaps_are_captures_and_annotations(self):
        made = apps.Recording(
            None,
            {"role": "terminal", "hardware": "none", "frequency_hz": 1.8e9, "receiver": SETTINGS},
        )
        made.from_start, made.began = True, 1e9
        meta = made.metadata(
            {
                "samples": 30,
                "samples_lost": 7,
                "reports": 0,
                "reports_lost": 0,
                "error": "",
                "stretches": [
                    {"index": 0, "first_sample": 5120, "later": 0, "lost_by_recorder": False},
                    {"index": 10, "first_sample": 5137, "later": 0, "lost_by_recorder": True},
                    {"index": 20, "first_sample": 5150, "later": 0.25, "lost_by_recorder": False},
                ],
            }
        )
        self.assertEqual([c["core:global_index"] for c in meta["captures"]], [5120, 5137, 5150])
        self.assertEqual([c.get("openwip:later") for c in meta["captures"]], [None, None, 0.25])
        self.assertEqual(
            [
                (a["core:sample_start"], a["openwip:lost_samples"], a["openwip:lost_by"])
                for a in meta["annotations"]
            ],
            [(10, 7, "recorder"), (20, 3, "radio")],
        )

    # --- replay ---

    def test_replay_of_the_whole_run_is_bit_exact(self):
        live = self.whole.reports()
        self.assertEqual(replay.run(self.whole), live)
        code, text = run("replay", self.whole.base, "--json")
        self.assertEqual(code, 0)
        result = json.loads(text)
        self.assertEqual((result["identical"], result["compared"]), (SLOTS, SLOTS))
        self.assertEqual(result["payloads_same"], result["frames"])
        self.assertGreater(result["frames"], 5000)

    def test_replay_from_the_middle_contradicts_nothing(self):
        code, text = run("replay", self.middle.base, "--json")
        result = json.loads(text)
        self.assertEqual(code, 0, result)
        self.assertFalse(result["whole"])
        self.assertGreater(result["locked_in_both"], 130)
        self.assertEqual(result["grants_same"], result["locked_in_both"])
        # The SNR is chosen so that half of the frames fail: many are decided by what was learned
        # before.
        self.assertGreater(result["outcomes_same"], 0.95 * result["frames"])

    def test_replay_behind_a_gap_of_the_recording_contradicts_nothing_and_says_that_it_is_not_whole(
        self,
    ):
        first, missing = 100 * 5120, 3 * 5120 + 77

        def edit(meta):
            g, capture = meta["global"], meta["captures"][0]
            g.pop("core:sha512")
            g["openwip:samples"] -= missing
            g["openwip:samples_lost"] = missing
            begin = capture["core:global_index"] + first + missing
            meta["captures"].append(
                capture
                | {
                    "core:sample_start": first,
                    "core:global_index": begin,
                    "openwip:slot": begin // 5120,
                    "openwip:slot_sample": begin % 5120,
                }
            )

        base = self.copy("gap", edit)
        samples = numpy.fromfile(f"{base}.sigmf-data", numpy.complex64)
        numpy.concatenate((samples[:first], samples[first + missing :])).tofile(
            f"{base}.sigmf-data"
        )
        code, text = run("replay", base, "--json")
        result = json.loads(text)
        self.assertEqual(code, 0, result)
        self.assertFalse(result["whole"])
        self.assertGreaterEqual(result["identical"], 98)  # up to the gap, bit by bit
        self.assertLess(result["identical"], 300)
        # after a short gap the receiver keeps its lock
        self.assertGreater(result["locked_in_both"], 280)
        self.assertEqual(result["contradictions"], 0)

    def test_replay_tells_samples_that_are_not_those_of_the_live_run(self):
        base = self.copy("other", lambda m: m["global"].pop("core:sha512"))
        samples = numpy.memmap(f"{base}.sigmf-data", numpy.complex64, "r+")
        samples[200 * 5120 : 203 * 5120] = 0
        samples.flush()
        code, text = run("replay", base)
        self.assertEqual(code, 1)
        self.assertIn("NOT the same decisions", text)
        self.assertIn("first difference in slot 35", text)  # slot 350 is empty

    def test_a_slot_is_counted_once_however_small_the_pieces_are_that_the_receiver_takes(self):
        now = [0.0]

        def sleep(seconds):
            now[0] += seconds

        pace = Pace(1000, lambda: now[0], sleep)
        for samples in (100, 5119, 5120, 6000, 10239, 10241, 3 * 5120, 7 * 5120):
            pace.wait(samples)
        self.assertEqual((pace.slots, pace.behind), (7, 0))
        now[0] += 1  # a second late
        for samples in (7 * 5120 + 1, 7 * 5120 + 2, 9 * 5120):
            pace.wait(samples)
        self.assertEqual((pace.slots, pace.behind), (9, 2))
        paced = Pace(100)
        top, source = gr.top_block(), Source(self.whole, paced)
        top.connect(source, blocks.head(8, 10 * 5120 + 1000), blocks.null_sink(8))
        top.run()
        self.assertGreaterEqual(paced.slots, 10)
        self.assertEqual(paced.slots, source.at // 5120)

    def test_replay_tells_the_receiver_where_the_grid_of_the_samples_has_moved(self):
        for first, later in ((152 * 5120, 0.375), (7_680_000, -0.25), (7_680_000, 0.5)):

            def move(meta, first=first, later=later):
                meta["captures"][0].update({"core:global_index": first, "openwip:later": later})

            source = Source(recordings.Recording(self.copy("moved", move)))
            top, sink = gr.top_block(), blocks.vector_sink_c()
            top.connect(source, blocks.head(8, 10), sink)
            top.run()
            ((full, fraction),) = [pmt.to_python(t.value) for t in sink.tags()]
            self.assertTrue(0 <= fraction < 1)
            self.assertAlmostEqual(full * 7.68e6 + fraction * 7.68e6, first + later, places=6)

    def test_samples_that_cannot_be_given_out_are_no_end_of_the_recording(self):
        class Broken(Pace):
            def wait(self, samples):
                if samples > 20 * 5120:
                    raise OSError("the disk is gone")

        top, source = gr.top_block(), Source(self.whole, Broken(1))
        top.connect(source, blocks.null_sink(8))
        top.run()
        self.assertLess(source.at, 21 * 5120)
        self.assertEqual(source.failure, "OSError: the disk is gone")

    # --- refusals: one line that names the file and what would be valid ---

    def assert_refused(self, base, *parts, command_name="replay"):
        reported, _ = run(command_name, base)
        self.assertIsInstance(reported, str, "not refused")
        self.assertNotIn("\n", reported)
        for part in parts:
            self.assertIn(part, reported)

    def test_refuses_what_is_no_recording_of_ours(self):
        self.assert_refused(self.folder / "none", "none.sigmf-meta", "No such file")
        text = self.copy("text")
        for written in ("no JSON", 100_000 * "["):
            pathlib.Path(f"{text}.sigmf-meta").write_text(written)
            self.assert_refused(text, "is not JSON")
        self.assert_refused(self.copy("list", lambda m: m.pop("global")), "no global object")
        self.assert_refused(
            self.copy("foreign", lambda m: m["global"].pop("core:extensions")), "extension openwip"
        )
        for key, value, valid in (
            ("core:datatype", "ci16_le", "cf32_le"),
            ("core:sample_rate", 1e6, "7680000"),
            ("core:num_channels", 2, "valid: 1"),
        ):
            self.assert_refused(
                self.copy("kind", lambda m: m["global"].update({key: value})), key, valid
            )
        self.assert_refused(
            self.copy("range", lambda m: m["global"]["openwip:receiver"].update(horizon=99)),
            "horizon",
            "99",
        )
        self.assert_refused(
            self.copy("base", lambda m: m["global"].update({"openwip:role": "base"})), "terminal"
        )
        self.assert_refused(
            self.copy(
                "frequency", lambda m: m["captures"][0].update({"core:frequency": "1.8 GHz"})
            ),
            "captures/0/core:frequency is '1.8 GHz'; valid: a finite number",
            command_name="info",
        )
        self.assert_refused(
            self.copy("part", lambda m: m["captures"][0].update({"openwip:later": 0.75})),
            "captures/0/openwip:later is 0.75; valid: a number, -0.5 to 0.5",
            command_name="info",
        )
        self.assert_refused(
            self.copy("order", lambda m: m["captures"].append(m["captures"][0])), "ascending"
        )

    def test_a_wrong_name_is_told_what_there_is(self):
        self.assert_refused(
            "/no/such/folder/none",
            "No such file",
            "valid: the name of a recording",
            "in /no/such/folder: none",
            command_name="info",
        )
        folder = self.folder / "apart"
        folder.mkdir()
        for n in range(7):
            (folder / f"r{n}.sigmf-meta").touch()
        self.assert_refused(
            folder / "none", f"in {folder}: r0, r1, r2, r3, r4 and 2 more", command_name="info"
        )

    def test_refuses_damaged_files(self):
        short = self.copy("short")
        os.truncate(f"{short}.sigmf-data", 1000)
        self.assert_refused(short, "has 1000 bytes", str(SLOTS * 5120 * 8), command_name="info")
        gone = self.copy("gone")
        pathlib.Path(f"{gone}.sigmf-data").unlink()
        self.assert_refused(
            gone, "gone.sigmf-data", "No such file", "the samples beside gone.sigmf-meta"
        )
        folder = self.copy("folder")
        pathlib.Path(f"{folder}.sigmf-data").unlink()
        pathlib.Path(f"{folder}.sigmf-data").mkdir()
        self.assert_refused(folder, "folder.sigmf-data", "Is a directory", command_name="info")
        for ending in (recordings.META, recordings.DATA, recordings.SLOTS):
            pipe = self.copy("pipe")
            pathlib.Path(f"{pipe}{ending}").unlink()
            os.mkfifo(f"{pipe}{ending}")
            self.assert_refused(pipe, f"pipe{ending}", "is no file")
            pathlib.Path(f"{pipe}{ending}").unlink()
        changed = self.copy("changed")
        with open(f"{changed}.sigmf-data", "r+b") as f:
            f.write(b"\0\0\0\1")
        self.assert_refused(changed, "SHA-512")
        cut = self.copy("cut")
        os.truncate(f"{cut}.openwip-slots", 5000)
        self.assert_refused(cut, "cut.openwip-slots", "is cut off; valid: whole reports")
        other = self.copy("other-slots")
        pathlib.Path(f"{other}.openwip-slots").write_bytes(b"something else")
        self.assert_refused(other, "OWSLOTS1")

    def test_refuses_bad_arguments(self):
        for arguments, part in (
            (["frob"], "record, replay, import, info"),
            ([], "record, replay, import, info"),
            (["record", "--slots", "9..3", self.folder / "x"], "A..B"),
            (["record", "--duration", "-1", self.folder / "x"], "--duration"),
            (["record", "--duration", "1", "--slots", "1..2", self.folder / "x"], "one of the two"),
            (["record", "--duration", "80000", self.folder / "x"], "GB"),
            (["record", self.folder / "no" / "x"], "cannot be written"),
        ):
            reported, _ = run(*arguments)
            self.assertIsInstance(reported, str)
            self.assertIn(part, reported)

    def test_the_demo_refuses_bad_recordings_before_it_starts(self):
        from openwip_cli.runs import options

        for arguments, part in (
            (["--record-iq", self.folder / "no" / "x"], "cannot be written"),
            (["--record-iq", self.folder], "cannot be written"),
            (["--record-iq", self.folder / "x", "--record-iq-seconds", "0"], "--record-iq-seconds"),
            (
                ["--record-iq", self.folder / "x", "--record-iq-base", self.folder / "x"],
                "another file",
            ),
        ):
            with self.assertRaises(BadInput) as caught:
                options.parse_demo([str(a) for a in arguments])
            self.assertIn(part, str(caught.exception))

    def test_info_says_what_it_holds(self):
        code, text = run("info", self.whole.base + ".sigmf-meta")
        self.assertEqual(code, 0)
        for part in ("7.68 MS/s", "SHA-512 as recorded", f"{SLOTS} reports", "locked"):
            self.assertIn(part, text)


class Record(unittest.TestCase):
    """The command, of a flowgraph that a test answers for."""

    def record(self, base, refused="", *more):
        """The output of a recording that ends when the first status is asked for."""
        began = []

        def ask(_cell, station, descriptors=(), do="", **_more):
            if do == "start":
                self.assertEqual(len(descriptors), len(recordings.WRITTEN[station]))
            if do == "start" and not refused:
                began.append(do)
            elif do == "start" or began:
                raise BadInput(f"{station}: {refused or 'began'}")
            return {"air": 1000}

        with (
            unittest.mock.patch.multiple(command, ask=ask, running_cell=unittest.mock.Mock()),
            unittest.mock.patch.object(metadata, "cell_settings", return_value={}),
        ):
            return run("record", base, *more)[0]

    def left(self, *arguments):
        """(the message, the files of the former recording that are left)."""
        with tempfile.TemporaryDirectory(prefix="openwip-iq-") as folder:
            for ending in (recordings.META, recordings.DATA, recordings.SLOTS):
                pathlib.Path(folder, "now" + ending).write_text("former")
            reported, found = (
                self.record(pathlib.Path(folder, "now"), *arguments),
                list(pathlib.Path(folder).iterdir()),
            )
            self.former = {p.suffix for p in found if p.read_text() == "former"}
            return reported, {p.suffix for p in found}

    def test_where_it_is_refused_the_files_of_the_recording_that_runs_stay(self):
        self.assertEqual(
            self.left("a recording is running already"),
            (
                "terminal: a recording is running already",
                {recordings.META, recordings.DATA, recordings.SLOTS},
            ),
        )
        self.assertEqual(self.former, {recordings.META, recordings.DATA, recordings.SLOTS})

    def test_what_a_recording_does_not_begin_anew_is_removed(self):
        self.assertEqual(
            self.left(), ("terminal: began", {recordings.DATA, recordings.META, recordings.SLOTS})
        )
        self.assertEqual(self.former, set())
        self.assertEqual(
            self.left("", "--station", "base"), ("base: began", {recordings.DATA, recordings.META})
        )
        self.assertEqual(self.former, set())

    def test_slots_that_are_none_are_said(self):
        self.assertEqual(command.slots_range("7..12"), (7, 12))
        for text in (
            "\u00b2..\u00b3",
            "1..\u00b3",
            "1..2..3",
            "1..",
            "-1..2",
            "5..4",
            f"1..{10**15}",
            f"1..{'9' * 5000}",
        ):
            with (
                self.subTest(text[:20]),
                self.assertRaisesRegex(BadInput, "^--slots is .*; valid: A..B"),
            ):
                command.slots_range(text)


class Socket(unittest.TestCase):
    def test_starts_and_stops_a_recording_and_survives_nonsense(self):
        with tempfile.TemporaryDirectory(prefix="openwip-iq-") as folder:
            transmitter = wip.slot_transmitter(nof_slots=20)
            made = apps.Recording(
                transmitter, {"role": "base", "hardware": "none", "frequency_hz": 1e9}
            )
            path = f"{folder}/iq"
            apps.Control(path, made).start()
            # Only the owner may ask for recordings.
            self.assertEqual(os.stat(path).st_mode & 0o077, 0)

            def ask(raw, descriptors=()):
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(5)
                    s.connect(path)
                    socket.send_fds(
                        s,
                        [raw if isinstance(raw, bytes) else json.dumps(raw).encode()],
                        list(descriptors),
                    )
                    s.shutdown(socket.SHUT_WR)
                    return json.loads(b"".join(iter(lambda: s.recv(1 << 16), b"")))

            with socket.socket(socket.AF_UNIX) as silent:
                silent.connect(path)  # the recorder waits for it no longer than PATIENCE_S
                for nonsense in (
                    b"\xff\0",
                    b"[1]",
                    b"{}",
                    {"do": "dance"},
                    {"do": "stop"},
                    {"do": "start"},
                    {"do": "start", "file": f"{folder}/tx"},
                ):
                    answer = ask(nonsense)
                    self.assertFalse(answer["ok"])
                    self.assertTrue(answer["error"])
            self.assertEqual(os.listdir(folder), ["iq"])
            with open(os.devnull, "w", encoding="utf-8") as one:
                self.assertIn(
                    "1 descriptors were handed over; valid: 2",
                    ask({"do": "start", "file": "x"}, [one.fileno()])["error"],
                )
            begin = {"do": "start", "file": f"{folder}/tx", "begin_slot": 155, "end_slot": 160}
            with command.new_files("base", f"{folder}/tx") as files:
                self.assertTrue(ask(begin, files.fds)["ok"])
                files.give_names()
            with command.new_files("base", f"{folder}/tx") as files:
                self.assertIn("running already", ask(begin, files.fds)["error"])
            top = gr.top_block()
            top.connect(transmitter, blocks.null_sink(8))
            top.run()
            self.assertTrue(ask({"do": "status"})["complete"])
            self.assertEqual(ask({"do": "stop"})["samples"], 5 * 5120)
            self.assertEqual(sorted(os.listdir(folder)), ["iq", "tx.sigmf-data", "tx.sigmf-meta"])
            whole = recordings.Recording(f"{folder}/tx").whole
            self.assertEqual((whole["openwip:role"], whole["openwip:first_slot"]), ("base", 155))

    def test_a_disk_that_is_full_is_said_with_its_cause(self):
        transmitter = wip.slot_transmitter(nof_slots=20)
        made = apps.Recording(
            transmitter, {"role": "base", "hardware": "none", "frequency_hz": 1e9}
        )
        full = [os.open("/dev/full", os.O_RDWR) for _ in recordings.WRITTEN["base"]]
        made.start("x", descriptors=full)
        top = gr.top_block()
        top.connect(transmitter, blocks.null_sink(8))
        top.run()
        with self.assertRaises(OSError) as caught:
            made.stop()
        self.assertEqual(caught.exception.errno, errno.ENOSPC)


if __name__ == "__main__":
    unittest.main()
