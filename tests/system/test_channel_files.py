# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip channel: what is no trace, no table and no place to write to is refused in one line, and what
was there stays."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import unittest

import h5py

from channel_support import PROGRAM, TraceCase


class Files(TraceCase):
    def test_bad_traces_are_refused_in_one_line(self):
        def attribute(key, value):
            return lambda f: f.attrs.__setitem__(key, value)

        def data(key, change):
            def apply(f):
                values = change(f[key][:])
                attributes = dict(f[key].attrs)
                del f[key]
                f.create_dataset(key, data=values).attrs.update(attributes)

            return apply

        def one(value):
            def change(v):
                v[77, 5] = value
                return v

            return change

        for pattern, change in (
            ("version is 2; valid: 1", attribute("version", 2)),
            ("slots_per_second is 1000; valid: 1500", attribute("slots_per_second", 1000)),
            ("bins is 24; valid: 25", attribute("bins", 24)),
            (
                "format is missing or another one; valid: openwip-snr-trace",
                attribute("format", "something"),
            ),
            ("version is of another type; valid: an integer", attribute("version", "1")),
            ("mean_snr_db is nan; valid: a finite", attribute("mean_snr_db", float("nan"))),
            ("no attribute seed", lambda f: f.attrs.__delitem__("seed")),
            ("no dataset snr_db", lambda f: f.__delitem__("snr_db")),
            ("slots x 25 bins", data("snr_db", lambda v: v[:, :24])),
            ("slots x 25 bins", data("snr_db", lambda v: v[0])),
            ("has 0 slots; valid: 1\\.\\.", data("snr_db", lambda v: v[:0])),
            ("32-bit floating-point", data("snr_db", lambda v: v.astype("i4"))),
            ("32-bit floating-point", data("snr_db", lambda v: v.astype("f8"))),
            ("snr_db of slot 77, bin 5 is nan", data("snr_db", one(float("nan")))),
            ("slot 77, bin 5 is inf", data("snr_db", one(float("inf")))),
            ("slot 77, bin 5 is -61.*; valid: -60..80", data("snr_db", one(-61))),
            ("predicted_snr_db of slot 77", data("predicted_snr_db", one(81))),
            ("predicted_snr_db has 89999 slots", data("predicted_snr_db", lambda v: v[:-1])),
            (
                "horizon_slots is -1",
                lambda f: f["predicted_snr_db"].attrs.__setitem__("horizon_slots", -1),
            ),
            (
                "method is .*; valid:",
                lambda f: f["predicted_snr_db"].attrs.__setitem__("method", "magic"),
            ),
        ):
            with self.subTest(pattern):
                self.refused(pattern, "info", self.damaged("bad.h5", change))

    def test_rows_in_other_files_are_refused_by_name_by_every_command_that_reads_a_trace(self):
        """If HDF5 does not find the source of a virtual dataset its rows would be 0 dB, and which
        file it finds depends on the folder."""

        def other(key, make):
            def apply(f):
                data, attributes = f[key][:], dict(f[key].attrs)
                del f[key]
                make(f, key, data)
                if isinstance(f.get(key, getlink=True), h5py.HardLink):
                    f[key].attrs.update(attributes)

            return apply

        def virtual(f, key, data):
            layout = h5py.VirtualLayout(shape=data.shape, dtype="<f4")
            layout[:] = h5py.VirtualSource(self.trace, key, shape=data.shape)
            f.create_virtual_dataset(key, layout)

        def link(f, key, _):
            f[key] = h5py.ExternalLink(self.trace, f"/{key}")

        def soft_link(f, key, _):
            f["elsewhere"] = h5py.ExternalLink(self.trace, "/")
            f[key] = h5py.SoftLink(f"/elsewhere/{key}")

        def circle(f, key, _):
            f[key] = h5py.SoftLink(f"/{key}")

        def external(f, key, data):
            f.create_dataset(
                key, shape=data.shape, dtype="<f4", external=[(self.file("raw"), 0, data.nbytes)]
            )

        def lzf(f, key, data):
            f.create_dataset(key, data=data, compression="lzf")

        for pattern, make in (
            ("is a virtual one, whose rows are in other files", virtual),
            ("is a link to another file", link),
            ("is a link to another file", soft_link),
            ("has its rows in another file \\(external storage\\)", external),
            ("is stored with the filter 32000 \\(lzf\\); valid: deflate", lzf),
            ("cannot be opened", circle),
        ):
            for key in ("snr_db", "predicted_snr_db"):
                with self.subTest(pattern, key=key):
                    bad = self.damaged("bad.h5", other(key, make))
                    self.refused(f"bad.h5: dataset {key} {pattern}", "info", bad)
        for command in (
            ("plot", bad, "-o", self.file("bad.png")),
            ("export", bad, "--csv", self.file("bad.csv")),
            ("export", bad, "--mahimahi", self.file("bad.mm")),
        ):
            self.refused("bad.h5: dataset predicted_snr_db cannot be opened", *command)

    def test_a_soft_link_within_the_file_is_followed(self):
        self.command(
            "info",
            self.damaged(
                "soft.h5",
                lambda f: (f.move("snr_db", "raw"), f.__setitem__("snr_db", h5py.SoftLink("/raw"))),
            ),
        )

    def test_a_fifo_is_not_waited_for(self):
        os.mkfifo(self.file("fifo.h5"))
        self.refused("fifo.h5: is not an HDF5 file", "info", self.file("fifo.h5"))

    def test_truncated_and_foreign_files_are_refused(self):
        whole = pathlib.Path(self.trace).read_bytes()
        for size in (0, 10, 100, 1000, len(whole) // 2, len(whole) - 1):
            with open(self.file("cut.h5"), "wb") as f:
                f.write(whole[:size])
            with self.subTest(size):
                self.refused("cut.h5: .*(truncated|not an HDF5)", "info", self.file("cut.h5"))
        flipped = bytearray(whole)
        for at in range(len(whole) // 2, len(whole) // 2 + 64):
            flipped[at] ^= 0xFF
        with open(self.file("flipped.h5"), "wb") as f:
            f.write(flipped)
        self.refused("damaged", "info", self.file("flipped.h5"))
        self.refused("cannot be read: No such file", "info", self.file("none.h5"))
        self.refused("not an HDF5", "info", str(self.folder))

    def test_a_full_disk_is_no_bad_input(self):
        done = self.run_it("export", self.trace, "--mahimahi", "/dev/full")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertEqual(
            done.stderr, "openwip: /dev/full: cannot be written: No space left on device\n"
        )
        done = self.run_it("render", "flat", "-o", "/dev/full", "--duration", "1")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertEqual(
            done.stderr, "openwip: /dev/full: cannot be written: No space left on device\n"
        )

    @unittest.skipIf(os.geteuid() != 0, "mounts a small disk, which needs root")
    def test_a_small_disk_is_said_with_its_cause_and_what_was_there_stays(self):
        small = self.folder / "small"
        small.mkdir()
        done = subprocess.run(
            [
                "unshare",
                "-m",
                "sh",
                "-c",
                """mount -t tmpfs -o size=64k none "$0" && echo yesterday >"$0/x.h5" &&
                               "$@" render jakes -o "$0/x.h5" --duration 20; echo "rc $?"; cat "$0/x.h5"; ls -A "$0" """,
                str(small),
                PROGRAM,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "rc 1\nyesterday\nx.h5\n", done)
        self.assertRegex(done.stderr, "x.h5: cannot be written: No space left on device\n$")

    def test_a_write_that_fails_anywhere_ends_in_one_line(self):
        """The HDF5 library crashes when a write of its own fails."""
        path = pathlib.Path(self.file("limited.h5"))

        def limit(size):
            def before():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

            return before

        for size in (0, 512, 2048, 4096, 8192, 20_000, 50_000):
            with self.subTest(size):
                done = subprocess.run(
                    [PROGRAM, "render", "jakes", "-o", path, "--duration", "1"],
                    capture_output=True,
                    text=True,
                    preexec_fn=limit(size),
                )
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (1, f"wip_channel: {path}: cannot be written: File too large\n"),
                )
                self.assertFalse(path.exists())

    def test_a_refused_export_leaves_what_was_there(self):
        kept = pathlib.Path(self.file("kept.trace"))
        kept.write_text("yesterday")
        self.refused(
            "carries less than one packet",
            "export",
            self.trace_of_nothing(),
            "--mahimahi",
            str(kept),
        )
        self.assertEqual(kept.read_text(), "yesterday")

    def trace_of_nothing(self):
        """A trace in which no packet is delivered."""
        with open(self.file("deep.csv"), "w", encoding="ascii") as f:
            f.writelines(",".join(["-50"] * 25) + "\n" for _ in range(3))
        self.command("import", self.file("deep.csv"), "-o", self.file("deep.h5"))
        return self.file("deep.h5")

    @unittest.skipIf(os.geteuid() != 0, "an attacker on root needs root")
    def test_a_link_that_another_user_has_planted_is_replaced(self):
        folder = self.folder / "shared"
        folder.mkdir()
        folder.chmod(0o1777)
        victim = self.folder / "victim"
        victim.write_text("root's")
        self.command("export", self.trace, "--csv", self.file("rows.csv"))
        for n, command in enumerate(
            (
                ("plot", self.trace, "-o"),
                ("export", self.trace, "--csv"),
                ("export", self.trace, "--mahimahi"),
                ("render", "flat", "--duration", "1", "-o"),
                ("import", self.file("rows.csv"), "-o"),
            )
        ):
            planted = folder / f"out{n}"
            planted.symlink_to(victim)
            os.lchown(planted, 65534, 65534)
            with self.subTest(command):
                self.command(*command, str(planted))
                self.assertFalse(planted.is_symlink())
                self.assertEqual(victim.read_text(), "root's")

    def test_bad_arguments_are_refused(self):
        x = self.file("x.h5")
        for pattern, arguments in (
            ("valid: list, render", ("paint",)),
            ("'mars': unknown", ("render", "mars", "-o", x)),
            ("--duration is -1; valid:", ("render", "jakes", "-o", x, "--duration", "-1")),
            ("--seed", ("render", "jakes", "-o", x, "--seed", "-1")),
            ("--snr is '99'; valid: -60..80", ("render", "jakes", "-o", x, "--snr", "99")),
            ("--horizon is 65; valid: 0..64", ("render", "jakes", "-o", x, "--horizon", "65")),
            ("fades too little", ("render", "static", "-o", x, "--prediction-nmse", "0.1")),
            ("moves by its own", ("render", "hst", "-o", x, "--speed-kmh", "3")),
            ("cannot be written", ("render", "jakes", "-o", self.file("no/x.h5"))),
            ("--bins", ("export", self.trace, "--mahimahi", x, "--bins", "26")),
            ("--modulation", ("export", self.trace, "--mahimahi", x, "--modulation", "9")),
            ("--rate is 0", ("import", self.trace, "-o", x, "--rate", "0")),
            ("cannot be written", ("plot", self.trace, "-o", self.file("no/x.png"))),
        ):
            with self.subTest(arguments):
                self.refused(pattern, *arguments)
        self.assertFalse(os.path.exists(x))

    def test_what_is_read_is_not_written_over(self):
        for command in (
            ("plot", "-o"),
            ("export", "--csv"),
            ("export", "--mahimahi"),
            ("import", "-o"),
        ):
            name = self.file("kept")
            shutil.copy(self.trace, name)
            before = pathlib.Path(name).read_bytes()
            self.refused(
                "cannot be written: that file is given twice", command[0], name, command[1], name
            )
            self.assertEqual(pathlib.Path(name).read_bytes(), before)

    def test_bad_csv_is_refused_with_its_line(self):
        good = ",".join(["3"] * 25)
        for pattern, text in (
            ("line 2 has 24 columns", f"{good}\n{good[2:]}\n"),
            ("line 1 has 'x3'; valid: numbers", f"x{good}\n"),
            ("line 3 has 'nan'; valid: numbers", f"snr_db_0\n{good}\nnan{good[1:]}\n"),
            ("line 1 has 'inf'; valid: numbers", f"inf{good[1:]}\n"),
            ("has no rows", "\n"),
        ):
            with open(self.file("bad.csv"), "w", encoding="ascii") as f:
                f.write(text)
            with self.subTest(pattern):
                self.refused(pattern, "import", self.file("bad.csv"), "-o", self.file("x.h5"))


if __name__ == "__main__":
    unittest.main()
