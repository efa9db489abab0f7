# SPDX-License-Identifier: GPL-3.0-or-later
"""The ends of a capture: signals, full disks, readers that go, and the link or device in the place of
its file."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import unittest

import capture_support as cs
import zmq
from openwip_schema import telemetry_pb2 as pb
from small_captures import InFolder, capinfos, small_cell, statistics


class Ends(InFolder):
    def running(self, *arguments, **kwargs):
        process = cs.start(self.folder, *arguments, **kwargs)
        self.addCleanup(process.stderr.close)
        publishers = cs.Publishers(self.folder)
        self.addCleanup(publishers.close)
        publishers.wait_for_reader()
        return process, publishers

    def test_a_signal_gives_a_whole_file(self):
        for signum in (signal.SIGINT, signal.SIGTERM):
            file = pathlib.Path(self.folder, "s.pcapng")
            process, publishers = self.running("-o", file)
            cell = small_cell()
            cell.send(publishers.publish)
            # It is not known when the messages have been read, so the test only requires a complete
            # file with statistics.
            process.send_signal(signum)
            code, reported = cs.ended(process)
            publishers.close()
            self.assertEqual(code, 0, reported)
            self.assertIn(signal.Signals(signum).name, reported)
            self.assertEqual(len(statistics(file)), 4)
            capinfos(file)

    def test_what_both_sent_before_they_went_is_in_the_file_however_late_they_are_looked_at(self):
        # Verdicts keep it busy while the last messages come and their publishers go.
        supervisor = zmq.Context()
        self.addCleanup(supervisor.destroy, linger=0)
        verdicts = supervisor.socket(zmq.PUB)
        verdicts.bind(f"ipc://{self.folder}/keeper.telemetry")
        file = pathlib.Path(self.folder, "l.pcapng")
        process, publishers = self.running(
            "-o", file, "--keeper", f"ipc://{self.folder}/keeper.telemetry"
        )
        time.sleep(0.2)  # seconds until the capture has subscribed
        verdict = pb.Telemetry(
            version=pb.VERSION_CURRENT, verdict=pb.Verdict(reason=["x" * 50] * 500)
        ).SerializeToString()

        def keep_busy(seconds):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                verdicts.send_multipart([b"verdict", verdict])

        keep_busy(0.3)
        cell = small_cell()
        cell.send(publishers.publish)
        publishers.close()
        keep_busy(0.5)
        code, reported = cs.ended(process)
        self.assertEqual(code, 0, reported)
        self.assertIn("the cell has ended", reported)
        self.assertEqual(
            {name: packets for name, (packets, _) in statistics(file).items()},
            {
                "base.ip": 6,
                "terminal.ip": 6,
                "base.frames": len(cell.log),
                "terminal.frames": len(cell.log),
            },
        )

    def test_a_full_disk_is_said_and_what_is_there_stays_readable(self):
        file = pathlib.Path(self.folder, "full.pcapng")
        limit = 20000

        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        process, publishers = self.running("-o", file, preexec_fn=small_disk)
        cell = small_cell(packets=60)
        cell.send(publishers.publish)
        publishers.close()
        code, reported = cs.ended(process)
        self.assertEqual(code, 1, reported)
        self.assertIn(f"{file}: File too large", reported)
        self.assertLessEqual(file.stat().st_size, limit)
        values, counts = capinfos(file)
        self.assertGreater(sum(counts.values()), 20)
        reported_counts = dict(re.findall(r" (\w+\.\w+) (\d+),", reported))
        # It counts the messages in the file, not all that came.
        self.assertEqual({name: int(n) for name, n in reported_counts.items()}, counts)
        self.assertIn(f"openwip capture: {sum(counts.values())} packets to {file}:", reported)
        self.assertIn("(File too large)", reported)

    def test_a_disk_that_has_no_room_for_the_head_leaves_what_was_there(self):
        file = pathlib.Path(self.folder, "old.pcapng")
        file.write_text("yesterday")

        def no_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        code, reported = cs.ended(cs.start(self.folder, "-o", file, preexec_fn=no_disk))
        self.assertEqual((code, reported), (1, f"openwip capture: {file}: File too large\n"))
        self.assertEqual(
            (file.read_text(), [p.name for p in pathlib.Path(self.folder).iterdir()]),
            ("yesterday", ["old.pcapng"]),
        )

    @unittest.skipIf(os.geteuid() != 0, "an attacker on root needs root")
    def test_another_users_link_is_replaced_and_its_file_is_left(self):
        victim, planted = (
            pathlib.Path(self.folder, "victim"),
            pathlib.Path(self.folder, "capture.pcapng"),
        )
        victim.write_text("root's")
        planted.symlink_to(victim)
        os.lchown(planted, 65534, 65534)
        file, _ = cs.capture(small_cell(), self.folder)
        self.assertEqual((file, file.is_symlink(), victim.read_text()), (planted, False, "root's"))
        self.assertGreater(sum(capinfos(file)[1].values()), 20)

    def test_ones_own_link_stays_one(self):
        real, link = pathlib.Path(self.folder, "real"), pathlib.Path(self.folder, "capture.pcapng")
        link.symlink_to("real")
        cs.capture(small_cell(), self.folder)
        self.assertTrue(link.is_symlink())
        self.assertGreater(sum(capinfos(real)[1].values()), 20)

    def test_a_device_that_takes_nothing(self):
        process = cs.start(self.folder, "-o", "/dev/full")
        code, reported = cs.ended(process)
        self.assertEqual(code, 1, reported)
        self.assertIn("No space left on device", reported)

    def test_a_reader_that_goes_ends_the_capture_without_an_error(self):
        read, write = os.pipe()
        process, publishers = self.running("-o", "-", stdout=write)
        os.close(write)
        os.read(read, 4096)
        os.close(read)
        small_cell(packets=30).send(publishers.publish)
        publishers.close()
        code, reported = cs.ended(process)
        self.assertEqual(code, 0, reported)
        self.assertIn("the reader has gone", reported)

    def test_a_reader_that_does_not_read_does_not_keep_it_from_ending(self):
        read, write = os.pipe()
        process, publishers = self.running("-o", "-", stdout=write)
        os.close(write)
        small_cell(packets=120).send(publishers.publish)
        publishers.close()
        process.send_signal(signal.SIGTERM)
        code, reported = cs.ended(process, timeout=10)
        os.close(read)
        self.assertIn(code, (0, 1), reported)

    def test_a_pipe_into_tshark_is_read_live(self):
        # A configuration that dumpcap has no room for in the header of a section.
        capture = cs.start(
            self.folder,
            "-o",
            "-",
            "--comment",
            "cell",
            "--comment",
            "configuration:\n" + 5000 * "x",
            stdout=subprocess.PIPE,
        )
        reader = subprocess.Popen(
            [
                *cs.TSHARK,
                "-n",
                "-l",
                "-X",
                f"lua_script:{cs.DISSECTOR}",
                "-i",
                "-",
                "-c",
                "20",
                "-T",
                "fields",
                "-e",
                "wip.slot",
            ],
            stdin=capture.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        capture.stdout.close()
        publishers = cs.Publishers(self.folder)
        publishers.wait_for_reader()
        small_cell(packets=60).send(publishers.publish)
        out, err = reader.communicate(timeout=60)
        publishers.close()
        cs.ended(capture)
        self.assertEqual(reader.returncode, 0, err)
        self.assertEqual(len(out.splitlines()), 20, err)


if __name__ == "__main__":
    unittest.main()
