# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate --time virtual where something is wrong: options, kernels, disks, rights, and runs
that are stopped. In none of these cases is the run reported as valid."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_cli.errors import BadInput, CellDied
from openwip_cli.machine.places import Places
from openwip_cli.measure import flows
from openwip_cli.runs import tcpl, virtual
from virtual_support import BUILD, HAS_KERNEL, PLACES, check_full, run


class Refusals(unittest.TestCase):
    def assert_refused(self, word, *arguments):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "openwip_cli",
                *(() if arguments[0] == "validate" else ("emulate",)),
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(word, done.stderr.strip().splitlines()[-1])

    def test_what_a_run_without_a_cell_cannot_do_is_said(self):
        self.assert_refused("--cores", "--time", "virtual", "--cores", "1")
        self.assert_refused("--generator", "--time", "virtual", "--generator")
        self.assert_refused("--mode", "validate", "--time", "virtual", "--mode", "virtual")
        for other in (("--time", "virtual"), ("--time", "ns3"), ("--generator",)):
            self.assert_refused(
                f"--pacing-limit-ms is given with {' '.join(other)}, ",
                *other,
                "--pacing-limit-ms",
                "5",
            )
        for clock in ("virtual", "ns3"):
            with self.assertRaisesRegex(
                BadInput, f"--parallel is 2 with --time {clock}, .*valid: with --time real"
            ):
                tcpl.parse(["--time", clock, "--relay", "off", "--parallel", "2"])
        self.assert_refused("--sysctl", "--sysctl", "net.ipv4.tcp_sack=0")
        self.assert_refused("--sysctl", "--time", "virtual", "--sysctl", "kernel.hostname=x")

    def test_without_a_kernel_the_command_that_makes_one_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for part in (virtual.emulate.PROGRAM, virtual.GUEST, "python/openwip_schema"):
                path = pathlib.Path(folder, part)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            with (
                mock.patch.object(virtual.platform, "machine", lambda: "x86_64"),
                self.assertRaisesRegex(BadInput, "setup --virtual-time"),
            ):
                virtual.check(Places(PLACES.top, pathlib.Path(folder), PLACES.python))

    def test_where_no_such_kernel_runs_it_says_what_is_valid_instead(self):
        with (
            mock.patch.object(virtual.platform, "machine", lambda: "aarch64"),
            self.assertRaisesRegex(
                BadInput, "x86-64 only: this is Linux aarch64; valid here: real, or ns3"
            ),
        ):
            virtual.check(PLACES)

    def test_a_result_that_is_not_whole_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            program = root / "program"
            program.write_text("#!/bin/sh\necho {}\n")
            program.chmod(0o755)

            def result(text):
                (root / "result").write_text(text)
                return virtual.launch(str(program), root, 1, None)[1]

            flow = '{"flow": 0, "end": "sender", "bytes": 1}\n'
            for cut in ("", flow, flow + '{"flow": 0, "end": "rec'):
                with self.subTest(cut), self.assertRaisesRegex(CellDied, "are not complete"):
                    result(cut)
            self.assertEqual(
                result(flow + '{"whole": true}\n'),
                {"sysctl": {}, "programs": [], "flows": [json.loads(flow)]},
            )
            self.assertEqual(
                result('{"failed": "side: Invalid argument"}\n')["failed"], "side: Invalid argument"
            )


@unittest.skipUnless(
    HAS_KERNEL, f"no Linux kernel for virtual time in {BUILD}: ./openwip setup --virtual-time"
)
class Failures(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "mounting a small disk needs root")
    def test_a_disk_without_room_for_the_result_makes_no_valid_run(self):
        code = (
            "from openwip_cli.machine.places import default\n"
            "from openwip_cli.measure.flows import flow\n"
            "from openwip_cli.runs import virtual\n"
            "from openwip_cli.settings import emulator\n"
            "s = emulator.scenario_of({'channel.model': 'static', 'traffic.duration_s': 100})\n"
            "print(*virtual.run(s, default(), virtual.Plan([flow('voip', 0, 1, start_s=1,"
            " seconds=100, interval_s=0.02, bytes=60)]))['verdict']['reasons'])"
        )
        # The kernel, its first program and 16 pages more: the result does not fit.
        room = 4096 * 16 + sum(
            (BUILD / part).stat().st_size for part in (virtual.KERNEL, virtual.GUEST)
        )
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    f'mount -t tmpfs -o size={room} none "$TMPDIR" && exec "$@"',
                    "sh",
                    sys.executable,
                    "-c",
                    code,
                ],
                capture_output=True,
                text=True,
                timeout=120,
                env=os.environ | {"TMPDIR": folder},
            )
        self.assertEqual(
            done.stdout, "traffic: cannot write /result.new: No space left on device\n", done.stderr
        )

    def test_a_plan_has_as_many_files_as_it_is_asked_for(self):
        sizes = [*range(1000, 1300)]
        files = [{"bytes": size} for size in sizes]
        wanted = flows.flow("sessions", 0, 1, start_s=1, congestion_control="reno", files=files)
        report = run(virtual.Plan([wanted]), channel__model="static")
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertEqual(
            [[s["bytes"] for s in e["sessions"]] for e in report["flows"]], [sizes] * 2
        )

    @unittest.skipIf(os.geteuid() != 0, "mounting a /dev/shm needs root")
    def test_a_containers_dev_shm_changes_nothing(self):
        # noexec: the kernel would not start; 1 MB: it would die.
        digests = {}
        with tempfile.TemporaryDirectory() as folder:
            for options in (None, "noexec,size=64m", "size=1m"):
                packets = pathlib.Path(folder, f"{options}.pcap")
                command = [
                    sys.executable,
                    "-m",
                    "openwip_cli",
                    "emulate",
                    "--time",
                    "virtual",
                    "--duration",
                    "1",
                    "--capture",
                    str(packets),
                ]
                shm = (
                    [
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        f'mount -t tmpfs -o {options} none /dev/shm && exec "$@"',
                        "sh",
                    ]
                    if options
                    else []
                )
                done = subprocess.run([*shm, *command], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                digests[options] = hashlib.sha256(packets.read_bytes()).hexdigest()
        self.assertEqual(len(set(digests.values())), 1, digests)

    def test_a_run_that_is_stopped_and_goes_on_has_the_same_packets(self):
        """Ctrl-Z, and a cluster that suspends a job: all of its processes."""

        def descendants(pid):
            with contextlib.suppress(OSError):
                for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                    yield from (int(child), *descendants(child))

        digests, stopped = [], 0
        with tempfile.TemporaryDirectory() as folder:
            packets = pathlib.Path(folder, "packets.pcap")
            for stops in (False, True):
                command = [
                    sys.executable,
                    "-m",
                    "openwip_cli",
                    "emulate",
                    "--time",
                    "virtual",
                    "--duration",
                    "10",
                    "--capture",
                    str(packets),
                ]
                with subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                ) as process:
                    while stops and process.poll() is None:
                        time.sleep(0.1)
                        processes = [process.pid, *descendants(process.pid)]
                        # More than the launcher and its helpers: the kernel and its programs run.
                        stopped += len(processes) > 3
                        for sign in (signal.SIGSTOP, signal.SIGCONT):
                            for pid in processes:
                                with contextlib.suppress(ProcessLookupError):
                                    os.kill(pid, sign)
                    self.assertEqual(process.wait(120), 0, process.stderr.read())
                digests.append(hashlib.sha256(packets.read_bytes()).hexdigest())
        self.assertEqual(digests[0], digests[1])
        self.assertGreater(stopped, 1)  # times, while the kernel ran

    def test_streams_that_are_closed_and_a_disk_that_holds_no_more(self):
        environment = os.environ | {"OPENWIP_NO_BUILD": "1"}
        command = 'exec "$0" emulate --time virtual --duration 1'
        for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                self.assertEqual(
                    subprocess.run(
                        ["sh", "-c", f"{command} {closed}", PLACES.top / "openwip"],
                        env=environment,
                        timeout=120,
                    ).returncode,
                    0,
                )
        full = subprocess.run(
            ["sh", "-c", f"ulimit -f 100; {command}", PLACES.top / "openwip"],
            env=environment,
            timeout=120,
            capture_output=True,
            text=True,
        )
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertRegex(
            full.stderr.splitlines()[-1], "^openwip: this machine cannot: File too large: .*/linux$"
        )

    def test_a_trace_that_is_not_there_is_bad_input(self):
        with self.assertRaisesRegex(
            BadInput, "^/nonexistent.h5: cannot be read: No such file or directory$"
        ):
            run(channel__model="/nonexistent.h5")

    def test_a_kernel_that_ends_before_it_has_started_says_how(self):
        with (
            mock.patch.object(virtual, "KERNEL", "/bin/false"),
            self.assertRaisesRegex(CellDied, "kernel has not started: exit code 1$"),
        ):
            run()

    def test_a_capture_that_cannot_be_written_leaves_the_report(self):
        for clock in ("virtual", *["ns3"] * (BUILD / "host/simulator/wip_ns3").exists()):
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "openwip_cli",
                    "emulate",
                    "--time",
                    clock,
                    "--duration",
                    "1",
                    "--capture",
                    "/dev/full",
                ],
                capture_output=True,
                text=True,
                timeout=120,
            )
            self.assertEqual(
                (done.returncode, done.stdout.splitlines()[:1]),
                (4, ["verdict: VALID"]),
                done.stderr,
            )
            self.assertIn(
                "--capture /dev/full: cannot be written: No space left on device", done.stderr
            )

    def test_a_disk_that_holds_not_all_that_the_program_writes_ends_it(self):
        check_full(self, run)

    @unittest.skipIf(os.geteuid() != 0, "makes a device, which needs root")
    def test_packets_written_into_a_device_leave_its_mode_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            null = pathlib.Path(folder, "null")
            os.mknod(null, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            os.chmod(null, 0o666)
            run(packets=str(null), traffic__duration_s=1)
            self.assertEqual((null.stat().st_mode, null.stat().st_uid), (stat.S_IFCHR | 0o666, 0))

    @unittest.skipIf(
        os.geteuid() == 0 and shutil.which("setpriv") is None,
        "needs setpriv, to give up what root may",
    )
    def test_it_needs_no_rights(self):
        nobody = (
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
            "--bounding-set=-all",
        )
        nobody = nobody if os.geteuid() == 0 else ()
        if subprocess.run([*nobody, "test", "-x", BUILD / virtual.emulate.PROGRAM]).returncode:
            self.skipTest(f"{BUILD} is closed to others")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            packets, report = (
                pathlib.Path(folder, name) for name in ("packets.pcap", "report.json")
            )
            done = subprocess.run(
                [
                    *nobody,
                    sys.executable,
                    "-m",
                    "openwip_cli",
                    "emulate",
                    "--time",
                    "virtual",
                    "--duration",
                    "1",
                    "--capture",
                    packets,
                    f"--json={report}",
                ],
                capture_output=True,
                text=True,
                timeout=120,
                cwd=folder,
                env=os.environ | {"TMPDIR": folder, "HOME": folder},
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("VALID", done.stdout)
            self.assertNotEqual(packets.stat().st_uid, 0)
            self.assertGreater(json.loads(report.read_text())["tcp"]["goodput_bps"], 0)

    def test_a_plan_that_the_kernel_cannot_do_is_no_valid_run(self):
        report = run(
            virtual.Plan(
                [flows.flow("bulk", 0, 1, start_s=1, seconds=1, congestion_control="nonsense")]
            )
        )
        self.assertFalse(report["verdict"]["valid"])
        self.assertIn("nonsense", report["verdict"]["reasons"][0])
        report = run(virtual.Plan([flows.flow("dance", 0, 1)]))
        self.assertIn("dance", json.dumps(report["verdict"]["reasons"]))

    def test_a_setting_that_is_read_back_otherwise_at_another_side_is_no_valid_run(self):
        # A file with other content at each reading, so that no two sides read the same.
        report = run(
            virtual.Plan(
                [flows.flow("bulk", 0, 1, start_s=1, seconds=1, congestion_control="cubic")],
                {"../../dev/urandom": "1"},
            )
        )
        self.assertIn(
            "traffic: ../../dev/urandom has different values in the network namespaces of the hosts",
            report["verdict"]["reasons"][0],
        )


if __name__ == "__main__":
    unittest.main()
