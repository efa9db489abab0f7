# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR traces, and run records for the monitor, are read by a process without rights: what it may do, what its crash is, and
hundreds of damaged files."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

from openwip_cli.messages import telemetry
from openwip_cli.records import record_file, record_seal
from openwip_schema import telemetry_pb2 as pb

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
EMULATOR = BUILD / "host/emulator/wip_emulator"
WITNESS = BUILD / "tests/system/libhdf5_witness.so"
DAMAGED = int(os.environ.get("OPENWIP_DAMAGED_FILES", "300"))


class ConfinedTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()     # mode 0700: nobody else reads there
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name, "t.h5")
        subprocess.run([BUILD / "host/channel/wip_channel", "render", "flat", "-o", cls.file, "--seconds", "0.5",
                        "--prediction-nmse", "0.1"], check=True)
        cls.file.chmod(0o600)

    def emulator(self, file, *options, witness=None, nmse="trace"):
        environment = dict(os.environ)
        if witness:
            environment |= {"LD_PRELOAD": str(WITNESS), "OPENWIP_WITNESS": witness}
        return subprocess.run([EMULATOR, "--set", f"channel.model={file}", "--set", f"channel.prediction_nmse={nmse}",
                               *options], capture_output=True, text=True, env=environment, timeout=60)

    @unittest.skipIf(os.geteuid() != 0, "has rights to give up as root only")
    def test_its_reader_has_no_rights_and_nothing_of_the_emulators(self):
        for options in (["--check"], ["--generate", "0.1"]):
            done = self.emulator(self.file, *options, witness="rights")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_crash_of_its_reader_is_one_line_that_names_the_file(self):
        done = self.emulator(self.file, "--check", witness="crash")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"wip_emulator: {self.file}: cannot be read: the file is damaged "
                                      "(its reader was ended by SIGSEGV)\n")

    def test_the_medium_reads_it_the_same_way(self):
        config = self.file.with_name("air.yaml")
        config.write_text(f"air: {{name: confined{os.getpid()}}}\nnodes: {{a: {{}}, b: {{noise_dbfs: -40}}}}\n"
                          f"paths: [{{from: a, to: b, channel: {self.file}}}]\n")
        environment = dict(os.environ) | {"LD_PRELOAD": str(WITNESS), "OPENWIP_WITNESS": "crash"}
        done = subprocess.run([BUILD / "host/medium/air", "--config", config], capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn(f"{self.file}: cannot be read: the file is damaged (its reader was ended by SIGSEGV)", done.stderr)

    def test_what_is_no_trace_is_one_line(self):
        for path, why in ((self.file.with_name("none.h5"), "No such file"), ("/dev/zero.h5", "No such file"),
                          (self.file.parent, "there is no")):
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
                data[at] = r.choice((0, 0xff, r.randrange(256)))
            damaged.write_bytes(data[:r.choice((len(data), len(data), r.randrange(len(data))))])
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
            message = pb.Telemetry(version=1, sequence=n, slot_sample={"snr_db": [n] * 25, "outcome": bytes(25)})
            record.add(reader.take("base", [b"slot", message.SerializeToString()]))
        record.finish({}, reader)
        cls.file.chmod(0o600)

    def replay(self, file, witness=None):
        environment = dict(os.environ)
        if witness:      # Python loads the library for h5py alone; the witness has to find it
            library = next(w for w in subprocess.check_output(["ldd", EMULATOR], text=True).split() if w.startswith("libhdf5"))
            environment |= {"LD_PRELOAD": f"{WITNESS} {library}", "OPENWIP_WITNESS": witness}
        return subprocess.run([sys.executable, "-m", "openwip_cli", "record", "replay", file], capture_output=True, env=environment,
                              stdin=subprocess.DEVNULL, timeout=60)

    @unittest.skipIf(os.geteuid() != 0, "has rights to give up as root only")
    def test_its_reader_has_no_rights_and_is_what_crashes(self):
        done = self.replay(self.file, "rights")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreater(len(done.stdout), 49 * 100)
        self.assertEqual(self.replay(self.file, "crash").returncode, -signal.SIGSEGV)

    def test_a_damaged_file_that_is_sealed_again_is_read_or_refused_in_one_line_or_ends_its_reader_alone(self):
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
            if done.returncode > 0:
                refused += 1
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), (seed, done.stderr))
                self.assertIn(str(damaged).encode(), done.stderr)
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()
