# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR traces, and run records for the monitor, are read by a process without rights: what it may
do, what its crash is, and hundreds of damaged files."""

import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import telemetry
from openwip_cli.records import record_file, record_seal

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
EMULATOR = BUILD / "host/emulator/wip_emulator"
STAND_IN = BUILD / "tests/system/libhdf5_stand_in.so"
DAMAGED = int(os.environ.get("OPENWIP_DAMAGED_FILES", "300"))


class ConfinedTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()  # mode 0700: nobody else reads there
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name, "t.h5")
        subprocess.run(
            [
                BUILD / "host/channel/wip_channel",
                "render",
                "flat",
                "-o",
                cls.file,
                "--seconds",
                "0.5",
                "--prediction-nmse",
                "0.1",
            ],
            check=True,
        )
        cls.file.chmod(0o600)

    def emulator(self, file, *options, stand_in=None, nmse="trace", **further):
        environment = dict(os.environ)
        if stand_in:
            environment |= {"LD_PRELOAD": str(STAND_IN), "OPENWIP_HDF5_STAND_IN": stand_in}
        return subprocess.run(
            [
                EMULATOR,
                "--set",
                f"channel.model={file}",
                "--set",
                f"channel.prediction_nmse={nmse}",
                *options,
            ],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            **further,
        )

    def asleep(self, *command):
        """A program whose reader never ends, and that reader's number."""
        environment = dict(os.environ) | {
            "LD_PRELOAD": str(STAND_IN),
            "OPENWIP_HDF5_STAND_IN": "sleep",
        }
        program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        reader = 0
        for _ in range(3000):
            reader = (
                pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().strip()
            )
            if reader and pathlib.Path(f"/proc/{reader}/comm").read_text() == "asleep\n":
                return program, int(reader)
            time.sleep(0.01)
        self.fail(f"no reader: {reader!r}")

    def assert_ends(self, pid):
        for _ in range(3000):
            try:
                if (
                    pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                    == "Z"
                ):
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.01)
        self.fail("it goes on")

    def air_config(self):
        config = self.file.with_name("air.yaml")
        config.write_text(
            f"air: {{name: confined{os.getpid()}}}\nnodes: {{a: {{}}, b: {{noise_dbfs: -40}}}}\n"
            f"paths: [{{from: a, to: b, channel: {self.file}}}]\n"
        )
        return config

    @unittest.skipIf(os.geteuid() != 0, "has rights to give up as root only")
    def test_its_reader_has_no_rights_and_nothing_of_the_emulators(self):
        for options in (["--check"], ["--generate", "0.1"]):
            done = self.emulator(self.file, *options, stand_in="rights")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_crash_of_its_reader_is_one_line_that_names_the_file(self):
        done = self.emulator(self.file, "--check", stand_in="crash")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            done.stderr,
            f"wip_emulator: {self.file}: cannot be read: the file is damaged "
            "(its reader was ended by SIGSEGV)\n",
        )

    def test_the_medium_reads_it_the_same_way(self):
        environment = dict(os.environ) | {
            "LD_PRELOAD": str(STAND_IN),
            "OPENWIP_HDF5_STAND_IN": "crash",
        }
        done = subprocess.run(
            [BUILD / "host/medium/air", "--config", self.air_config()],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn(
            f"{self.file}: cannot be read: the file is damaged (its reader was ended by SIGSEGV)",
            done.stderr,
        )

    def test_a_reader_that_ends_by_a_signal_without_a_name_or_takes_too_long_is_one_line(self):
        done = self.emulator(self.file, "--check", stand_in="signal")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            rf"^wip_emulator: {self.file}: cannot be read: .* was ended by signal \d+\)\n$",
        )
        self.assertEqual(self.emulator(self.file, "--check", stand_in="time").returncode, 0)
        done = self.emulator(
            self.file,
            "--check",
            stand_in="spin",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)),
        )
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            rf"^wip_emulator: {self.file}: cannot be read: .* was ended by SIGXCPU\)\n$",
        )

    def test_whoever_reads_it_can_be_stopped(self):
        program, reader = self.asleep(BUILD / "host/medium/air", "--config", self.air_config())
        program.terminate()
        program.wait()
        self.assertEqual((program.returncode, program.stderr.read()), (-signal.SIGTERM, ""))
        self.assert_ends(reader)

    def test_its_reader_does_not_outlive_whoever_reads_it(self):
        program, reader = self.asleep(EMULATOR, "--set", f"channel.model={self.file}", "--check")
        program.kill()
        self.assert_ends(reader)

    def long_file(self, slots, predicted):
        file = self.file.with_name("long.h5")
        shutil.copy(self.file, file)
        with h5py.File(file, "r+") as f:
            for key in ("snr_db", "predicted_snr_db"):
                attributes = dict(f[key].attrs)
                del f[key]
                if key == "snr_db" or predicted:  # a data set without any written chunk
                    f.create_dataset(
                        key, (slots, 25), "f4", fillvalue=20, chunks=(1500, 25)
                    ).attrs.update(attributes)
        self.assertLess(file.stat().st_size, 1 << 20)
        return file

    def test_the_rows_of_a_trace_are_in_memory_once(self):
        slots = 500_000
        file = self.long_file(slots, True)
        program = subprocess.Popen(
            [
                EMULATOR,
                "--check",
                "--set",
                f"channel.model={file}",
                "--set",
                "channel.prediction_nmse=trace",
            ]
        )
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(program.returncode, 0)
        rows = 2 * 25 * 4 * slots
        self.assertTrue(rows < used.ru_maxrss * 1024 < 1.6 * rows, used.ru_maxrss)

    def test_a_small_file_with_more_rows_than_there_is_room_for_is_refused(self):
        for slots, predicted, valid in (
            (3000, True, None),
            (3000, False, None),
            (10_800_001, False, 10_800_000),
            (5_400_001, True, 5_400_000),
            (7 * 86400 * 1500, True, 5_400_000),
        ):
            with self.subTest(slots=slots, predicted=predicted):
                file = self.long_file(slots, predicted)
                done = self.emulator(file, "--check", nmse="trace" if predicted else "0")
                kind = " with predictions" if predicted else ""
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (
                        (0, "")
                        if valid is None
                        else (
                            2,
                            (
                                f"wip_emulator: {file}: has {slots} slots{kind}; valid: 1.."
                                f"{valid}, as it is played from memory\n"
                            ),
                        )
                    ),
                )

    def test_a_long_file_that_takes_no_room_is_refused(self):
        file = self.file.with_name("sparse.h5")
        shutil.copy(self.file, file)
        os.truncate(file, 3 << 30)
        done = self.emulator(file, "--check")
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, f"wip_emulator: {file}: has {3 << 30} bytes; valid: up to {2 << 30}\n"),
        )

    def test_what_is_no_trace_is_one_line(self):
        for path, _why in (
            (self.file.with_name("none.h5"), "No such file"),
            ("/dev/zero.h5", "No such file"),
            (self.file.parent, "there is no"),
        ):
            done = self.emulator(path, "--check")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        fifo = self.file.with_name("fifo.h5")
        os.mkfifo(fifo)
        done = self.emulator(fifo, "--check")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not an HDF5 file", done.stderr)

    def test_a_damaged_file_is_taken_or_refused_in_one_line(self):
        whole = self.file.read_bytes()
        damaged = self.file.with_name("d.h5")
        refused = 0
        for seed in range(DAMAGED):
            r, data = random.Random(seed), bytearray(whole)
            for _ in range(r.choice((1, 2, 8))):
                at = r.randrange(min(len(data), r.choice((2048, 8192, len(data)))))
                data[at] = r.choice((0, 0xFF, r.randrange(256)))
            damaged.write_bytes(data[: r.choice((len(data), len(data), r.randrange(len(data))))])
            done = self.emulator(damaged, "--check")
            self.assertIn(done.returncode, (0, 2), (seed, done))
            if done.returncode:
                refused += 1
                self.assertEqual(len(done.stderr.splitlines()), 1, (seed, done.stderr))
                self.assertIn(str(damaged), done.stderr)
        self.assertGreater(refused, DAMAGED / 10)


class ConfinedRecord(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name, "r.h5")
        reader, record = telemetry.Reader({}), record_file.RecordFile(cls.file)
        for n in range(1, 50):
            message = pb.Telemetry(
                version=1, sequence=n, slot_sample={"snr_db": [n] * 25, "outcome": bytes(25)}
            )
            record.add(reader.take("base", [b"slot", message.SerializeToString()]))
        record.finish({}, reader)
        cls.file.chmod(0o600)

    def replay(self, file, stand_in=None):
        return self.run_it("record", "replay", file, stand_in=stand_in)

    def run_it(self, *command, stand_in=None):
        environment = dict(os.environ)
        if stand_in:  # Python loads the library for h5py alone; the stand-in has to find it
            library = next(
                w
                for w in subprocess.check_output(["ldd", EMULATOR], text=True).split()
                if w.startswith("libhdf5")
            )
            environment |= {
                "LD_PRELOAD": f"{STAND_IN} {library}",
                "OPENWIP_HDF5_STAND_IN": stand_in,
            }
        return subprocess.run(
            [sys.executable, "-m", "openwip_cli", *command],
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    @unittest.skipIf(os.geteuid() != 0, "has rights to give up as root only")
    def test_its_reader_has_no_rights(self):
        done = self.replay(self.file, "rights")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreater(len(done.stdout), 49 * 100)

    def test_the_crash_of_its_reader_is_one_line_that_names_the_file_of_every_command(self):
        for command in (
            ("record", "replay"),
            ("record", "info"),
            ("record", "blocks", "-o", self.file.with_name("blocks")),
            ("report",),
        ):
            with self.subTest(command):
                done = self.run_it(*command, self.file, stand_in="crash")
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertEqual(
                    done.stderr.decode(),
                    f"openwip: {self.file} is damaged: its reader was ended by SIGSEGV; "
                    "valid: a file of ./openwip record or --record\n",
                )

    def test_a_damaged_file_that_is_sealed_again_is_read_or_refused_in_one_line(self):
        whole = self.file.read_bytes()
        damaged = self.file.with_name("d.h5")
        refused = 0
        for seed in range(DAMAGED // 10):
            r, data = random.Random(seed), bytearray(whole)
            for _ in range(r.choice((1, 2, 8))):
                data[r.randrange(record_seal.SIZE, r.choice((8192, len(data))))] = r.randrange(256)
            damaged.write_bytes(data)
            record_seal.seal(damaged)
            done = self.replay(damaged)
            if done.returncode != 0:
                refused += 1
                self.assertEqual(
                    (done.returncode, len(done.stderr.splitlines())), (2, 1), (seed, done.stderr)
                )
                self.assertIn(str(damaged).encode(), done.stderr)
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()
