# SPDX-License-Identifier: GPL-3.0-or-later
"""SNR logs in files of arrays as MATLAB, HDF5 and NumPy write them: the same rows from every form,
or one line that names what is wrong. The files are read by a process without rights."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import h5py
import numpy
import scipy.io

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.channel import opened, resampled
from openwip_cli.errors import BadInput

ROWS = 40


def write_matlab_73(path, **arrays):
    """As MATLAB does: columns are rows of HDF5, behind a block of its own."""
    with h5py.File(path, "w", userblock_size=512) as f:
        for name, array in arrays.items():
            f.create_dataset(name, data=array.T).attrs["MATLAB_class"] = numpy.bytes_("double")
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


class Arrays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = numpy.random.default_rng(3).normal(16, 4, (ROWS, 25))

    def read(self, name, variable=None, rate=1500):
        log = opened.opened_log(str(self.folder / name), opened.Asked(variable))
        self.addCleanup(log.close)
        return log, numpy.vstack(list(resampled.rows(log, rate, "linear")))

    def refused(self, pattern, name, variable=None):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            self.read(name, variable)
        self.assertNotIn("\n", str(caught.exception))
        self.assertIn(name, str(caught.exception))

    def matlab(self, name="log.mat", **arrays):
        scipy.io.savemat(self.folder / name, arrays)
        return name

    def test_every_form_gives_the_same_rows(self):
        table, f = self.table, self.folder
        self.matlab("five.mat", snr_db=table)
        scipy.io.savemat(f / "packed.mat", {"SNR": table, "note": "drive"}, do_compression=True)
        write_matlab_73(f / "seven.mat", snr_db=table)
        with h5py.File(f / "plain.h5", "w") as h:
            h.create_dataset("drive/snr_db", data=table, compression="gzip", shuffle=True)
        numpy.savez(f / "log.npz", sinr=table)
        numpy.savez_compressed(f / "packed.npz", sinr=table.astype("f4"), other=table)
        numpy.save(f / "log.npy", numpy.asfortranarray(table))
        for name, variable in (
            ("five.mat", None),
            ("packed.mat", None),
            ("seven.mat", None),
            ("plain.h5", None),
            ("log.npz", None),
            ("packed.npz", None),
            ("packed.npz", "other"),
            ("log.npy", None),
        ):
            with self.subTest(name):
                log, rows = self.read(name, variable)
                self.assertFalse(log.timed or log.predicted)
                self.assertLess(abs(rows - table).max(), 1e-5)

    def test_a_vector_is_the_snr_of_all_bins_whichever_way_it_lies(self):
        values = self.table[:, :1]
        for write, name, array in (
            (self.matlab, "column.mat", values),
            (self.matlab, "row.mat", values.T),
            (self.seven, "row73.mat", values.T),
            (self.numpy, "flat.npz", values[:, 0]),
        ):
            with self.subTest(name):
                _, rows = self.read(write(name, snr_db=array))
                self.assertEqual(rows.shape, (ROWS, 25))
                self.assertLess(abs(rows - values).max(), 1e-5)

    def seven(self, name, **arrays):
        write_matlab_73(self.folder / name, **arrays)
        return name

    def numpy(self, name, **arrays):
        numpy.savez(self.folder / name, **arrays)
        return name

    def test_times_and_predictions(self):
        both = numpy.hstack([self.table, self.table + 1])
        log, rows = self.read(self.matlab(snr_db=both))
        self.assertTrue(log.predicted)
        self.assertLess(abs(rows - both).max(), 1e-5)
        for times in ({"t": numpy.arange(3.0)}, {"time_ms": numpy.arange(3) * 1000}):
            log, rows = self.read(self.matlab(snr_db=[[10.0], [20], [0]], **times), rate=None)
            self.assertTrue(log.timed)
            self.assertEqual(len(rows), 3001)
            self.assertAlmostEqual(rows[750][0], 17.404, 3)  # the linear mean of 10 and 20 dB

    def test_files_that_matlab_wrote(self):
        # Files of MATLAB 7.4 and 6.5.1 from SciPy's tests.
        data = pathlib.Path(scipy.io.matlab.__file__).parent / "tests/data"
        if not (data / "testdouble_7.4_GLNX86.mat").exists():
            self.skipTest("SciPy was installed without the files of its tests")
        for file in ("testdouble_7.4_GLNX86.mat", "testdouble_6.5.1_GLNX86.mat"):
            with self.subTest(file):
                log = opened.opened_log(str(data / file), opened.Asked())
                self.addCleanup(log.close)
                rows = numpy.vstack(list(resampled.rows(log, 1500, "hold")))
                self.assertEqual(rows.shape, (9, 25))
                self.assertLess(abs(rows[:, 0] - numpy.linspace(0, 2 * numpy.pi, 9)).max(), 1e-6)

    def test_large_logs_come_in_blocks(self):
        table = numpy.repeat(self.table, 500, axis=0)
        write_matlab_73(self.folder / "large.mat", snr_db=table)
        log = opened.opened_log(str(self.folder / "large.mat"), opened.Asked())
        self.addCleanup(log.close)
        sizes = [len(b.snr) for b in log.blocks()]
        self.assertGreater(len(sizes), 1)
        self.assertEqual(sum(sizes), len(table))

    def test_what_cannot_be_is_named(self):
        table = self.table
        for pattern, arrays, variable in (
            (r"has no array 'x'; valid: snr_db \(40 x 25, real\)", {"snr_db": table}, "x"),
            (r"has 2 arrays that may be SNRs .*--variable", {"a": table, "b": table}, None),
            (r"has a \(25 x 40, real\), so transpose it; valid", {"a": table.T}, None),
            (r"has a \(40 x 24, real\); valid", {"a": table[:, :24]}, None),
            (r"has a \(40 x 25, complex\), which is not an array of real", {"a": table * 1j}, "a"),
            (r"has 0 arrays that may be SNRs", {"a": "text"}, None),
            (r"has 0 arrays that may be SNRs", {"a": {"snr_db": table}}, None),
            (
                r"has t \(1 x 3, real\) of times, and 40 rows",
                {"snr_db": table, "t": [1, 2, 3]},
                None,
            ),
            (
                r"row 7 of snr_db has a value that is not valid",
                {"snr_db": numpy.where(numpy.arange(ROWS)[:, None] == 6, numpy.nan, table)},
                None,
            ),
        ):
            with self.subTest(pattern):
                self.refused(pattern, self.matlab(**arrays), variable)

    def test_files_that_are_damaged_or_point_elsewhere_are_refused(self):
        whole = (self.folder / self.matlab("whole.mat", snr_db=self.table)).read_bytes()
        for name, content in (
            ("short.mat", whole[:3000]),
            ("begin.mat", b"MATLAB 5.0 MAT-file"),
            ("begin.h5", b"\x89HDF\r\n\x1a\n"),
            ("begin.npy", b"\x93NUMPY\x01\x00"),
        ):
            (self.folder / name).write_bytes(content)
            self.refused("is damaged", name)
        numpy.save(self.folder / "code.npy", numpy.array([{"a": 1}], dtype=object))
        self.refused("has 0 arrays", "code.npy")
        with h5py.File(self.folder / "elsewhere.h5", "w") as f:
            layout = h5py.VirtualLayout(shape=(40, 25), dtype="f8")
            layout[:] = h5py.VirtualSource("gone.h5", "snr_db", shape=(40, 25))
            f.create_virtual_dataset("snr_db", layout)
        self.refused("virtual data set at /snr_db, whose data are in other files", "elsewhere.h5")
        with h5py.File(self.folder / "link.h5", "w") as f:
            f["snr_db"] = h5py.ExternalLink("gone.h5", "/x")
        self.refused("a link to another file at /snr_db", "link.h5")
        with h5py.File(self.folder / "outside.h5", "w") as f:
            f.create_dataset("snr_db", (40, 25), "f8", external=[("gone.raw", 0, 8000)])
        self.refused("external storage", "outside.h5")

    def test_parquet_and_other_archives_are_refused_with_the_conversion(self):
        for name, content, words in (
            (
                "a.parquet",
                b"PAR1" + bytes(60),
                r"is a Parquet file; valid: .*pandas: read_parquet and to_csv",
            ),
            ("a.xlsx", b"PK\x03\x04" + bytes(60), "is a ZIP archive"),
        ):
            (self.folder / name).write_bytes(content)
            self.refused(words, name)
        (self.folder / "a.csv").write_text("1\n2\n")
        self.refused("--variable x is given with .*a.csv; valid: with a MATLAB", "a.csv", "x")
        for path, words in (("/dev/zero", "is no regular file"), ("/nowhere", "No such file")):
            with self.assertRaisesRegex(BadInput, f"{path}: cannot be read: {words}"):
                opened.opened_log(path, opened.Asked())

    def test_without_scipy_a_matlab_file_is_refused_by_the_package(self):
        from openwip_cli.channel import arrays

        path = self.folder / self.matlab(snr_db=self.table)
        with (
            mock.patch.object(arrays, "matlab", None),
            path.open("rb") as f,
            self.assertRaisesRegex(Exception, "python3-scipy is not installed"),
        ):
            arrays.parser(f.fileno())


if __name__ == "__main__":
    unittest.main()
