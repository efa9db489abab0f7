# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate --time virtual: the TCP of a Linux kernel through the emulated cell. Needs no
rights and asserts nothing of the wall clock. The kernel is not built by tests: without it only the
refusals are left."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_cli.campaign import in_virtual_time, metrics, plan, tcp_settings
from openwip_cli.errors import BadInput, CellDied
from openwip_cli.machine.places import Places
from openwip_cli.records.run_record import RunRecord
from openwip_cli.runs import tcpl, transfers, validate, virtual
from openwip_cli.settings import emulator
from openwip_cli.settings.scenario import Scenario

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PLACES = Places(pathlib.Path(__file__).resolve().parents[2], BUILD, sys.executable)
HAS_KERNEL = (BUILD / virtual.KERNEL).exists()
SECONDS = 3


def run(plan=None, packets=None, recorded=None, **settings):
    values = {"channel.model": "jakes", "traffic.duration_s": SECONDS} | {
        k.replace("__", "."): v for k, v in settings.items()
    }
    return virtual.run(emulator.scenario_of(values), PLACES, plan, packets, recorded=recorded)


def check_record(
    test, recorded, report, lines=("packet    base", "slot      terminal", "status    base")
):
    """Nothing is lost of what the cell told, and the page of the run can be made of it."""
    test.assertEqual(report["record"]["lost"], 0)
    done = subprocess.run(
        [sys.executable, "-m", "openwip_cli", "record", "info", recorded],
        capture_output=True,
        text=True,
        timeout=120,
    )
    for line in lines:
        test.assertIn(line, done.stdout)
    page = recorded.replace(".h5", ".html")
    done = subprocess.run(
        [sys.executable, "-m", "openwip_cli", "report", recorded, "--out", page],
        capture_output=True,
        text=True,
        timeout=120,
    )
    test.assertEqual(done.returncode, 0, done.stderr)
    test.assertIn("VALID", pathlib.Path(page).read_text())


def check_full(test, run):
    """A capture or a record that the disk does not hold, be it only the last of it, is none. Nobody
    may read that device: it has no end."""
    nothing = {"kept": lambda *_: {}, "write_record": lambda *_: None}
    for place, said in (("CAPTURE", "/dev/full"), ("TELEMETRY", "telemetry of the run")):
        for link in ("ofdm", "umts"):
            with (
                test.subTest(f"{place} {link}"),
                mock.patch.multiple(virtual, **nothing | {place: "/dev/full"}),
            ):
                with test.assertRaisesRegex(CellDied, f"^{said}: No space left on device$"):
                    run(
                        virtual.Plan(["transfer 0 1 1 1000 cubic"]),
                        "capture",
                        recorded="record",
                        link__kind=link,
                    )


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
                f"--pacing-limit-ms with {' '.join(other)}, ", *other, "--pacing-limit-ms", "5"
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
                with self.subTest(cut), self.assertRaisesRegex(CellDied, "is not whole"):
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
class Runs(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "mounting a small disk needs root")
    def test_a_disk_without_room_for_the_result_makes_no_valid_run(self):
        code = (
            "from openwip_cli.machine.places import default\nfrom openwip_cli.runs import"
            " virtual\nfrom openwip_cli.settings import emulator\ns ="
            " emulator.scenario_of({'channel.model': 'static', 'traffic.duration_s':"
            " 100})\nprint(*virtual.run(s, default(), virtual.Plan(['voip 0 1 1 100 0.02"
            " 60']))['verdict']['reasons'])"
        )
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
        self.assertEqual(done.stdout, "traffic: result: No space left on device\n", done.stderr)

    def test_a_line_of_the_plan_is_done_as_a_whole_or_refused(self):
        for files, reasons in ((20, []), (300, ["traffic: sessions: Argument list too long"])):
            report = run(
                virtual.Plan(
                    ["sessions 0 1 1 reno " + " ".join(f"{1000 + n} 1" for n in range(files))]
                ),
                channel__model="static",
            )
            self.assertEqual(report["verdict"]["reasons"], reasons)
            self.assertEqual(
                [[s["bytes"] for s in e["sessions"]] for e in report["flows"]],
                [[*range(1000, 1020)]] * 2 if not reasons else [],
            )

    def test_the_relay_of_a_terminal_repairs_what_the_link_delivers_damaged(self):
        # One retransmission of a frame, and packets of which the rest is wrong are delivered.
        report = run(
            link__tcp_l="on",
            link__deliver_corrupt="on",
            link__max_retransmissions=1,
            link__combining="off",
        )
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertGreater(report["emulator"]["relay"]["recovered"], 10)
        self.assertGreater(
            report["tcp"]["goodput_bps"], 0.5 * report["capacity"]["tcp_payload_bps"]
        )

    def test_transfers_over_a_line_with_errors_with_the_relay_and_without_it(self):
        s = Scenario({"traffic.bytes": 100000}, tcpl.SETTINGS)
        point = {"mtu": 1500, "ber": 2.5e-5, "burstiness": 0, "run": 0, "seed": 1}
        plain, taken, again = (
            transfers.run_without_clock("virtual", point | {"relay": relay}, s, PLACES)
            for relay in (False, True, True)
        )
        for r in (plain, taken, again):
            self.assertEqual(r["verdict"]["reasons"], [])
            r.pop("wall_seconds")
        self.assertEqual(taken, again)
        self.assertGreater(taken["kbyte_s"], 2 * plain["kbyte_s"])
        self.assertLess(taken["kbyte_s"], 384 / 8)
        self.assertGreater(taken["bits_wrong"], 0)
        # Two errors in one column of the checksum's words may cancel.
        self.assertLess(plain["bits_wrong"], 0.2 * taken["bits_wrong"])
        self.assertGreater(plain["checksum_errors"], 0)
        self.assertEqual(
            taken["relay_verdicts"]["recovered"] + taken["checksum_errors"],
            taken["packets_damaged"],
        )

    def test_a_download_is_valid_and_the_same_seed_gives_the_same_packets(self):
        digests, reports = [], []
        with tempfile.TemporaryDirectory() as folder:
            packets, recorded = os.path.join(folder, "packets.pcap"), os.path.join(folder, "run.h5")
            for seed, to in ((1, None), (1, recorded), (2, None)):
                reports.append(run(packets=packets, recorded=to, seed=seed))
                digests.append(hashlib.sha256(pathlib.Path(packets).read_bytes()).hexdigest())
            check_record(self, recorded, reports[1])
        self.assertRegex(reports[0]["versions"]["virtual_kernel"], r"^6\.\d+\.\d+")
        self.assertRegex(reports[0]["versions"]["virtual_kernel_made_of"], "^[0-9a-f]{16}$")
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])
        for report in reports:
            self.assertEqual(report["verdict"]["reasons"], [])
            tcp, capacity = report["tcp"], report["capacity"]["tcp_payload_bps"]
            self.assertGreater(tcp["goodput_bps"], 0.5 * capacity)
            self.assertLess(tcp["goodput_bps"], capacity)
            self.assertEqual(tcp["congestion_control"], "cubic")
            # 10 ms of wire each way, two slots of air, one of uplink.
            self.assertGreater(tcp["rtt_ms"]["min"], 20)
        self.assertEqual([r["tcp"] for r in reports[:1]], [r["tcp"] for r in reports[1:2]])

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

        def of(pid):
            with contextlib.suppress(OSError):
                for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                    yield from (int(child), *of(child))

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
                        all_of_it = [process.pid, *of(process.pid)]
                        stopped += len(all_of_it) > 3
                        for sign in (signal.SIGSTOP, signal.SIGCONT):
                            for pid in all_of_it:
                                with contextlib.suppress(ProcessLookupError):
                                    os.kill(pid, sign)
                    self.assertEqual(process.wait(120), 0, process.stderr.read())
                digests.append(hashlib.sha256(packets.read_bytes()).hexdigest())
        self.assertEqual(digests[0], digests[1])
        self.assertGreater(stopped, 1)  # with kernel and programs

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
                    "--json",
                    report,
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

    def test_a_queue_of_the_server_delays_the_syn_by_what_it_is_told(self):
        sent_ms = []
        with tempfile.TemporaryDirectory() as folder:
            packets = pathlib.Path(folder, "packets.pcap")
            for queue in ([], [(0, "tc qdisc replace dev eth0 root netem delay 50ms")]):
                run(
                    virtual.Plan(["transfer 0 1 1 1000 cubic"], {}, queue),
                    packets,
                    channel__model="static",
                    traffic__duration_s=1,
                )
                seconds, ns, length, _ = struct.unpack_from("<IIII", packets.read_bytes(), 24)
                first = packets.read_bytes()[40 : 40 + length]
                self.assertEqual((first[9], first[20 + 13]), (6, 0x02))  # TCP, SYN alone
                sent_ms.append(1e3 * (seconds - virtual.START_S) + 1e-6 * ns)
        self.assertEqual([round(at, 3) for at in sent_ms], [0.001, 50.001])

    def test_every_link_carries_it_and_the_same_seed_gives_the_same_packets(self):
        bearer = {"link.kind": "umts", "umts.errors": 0.1}
        wlan = {
            "link.kind": "wlan",
            "wlan.errors": "burst",
            "terminals": 2,
            "delay_injection.mode": "adaptive",
        }
        up = virtual.Plan([f"bulk 2 0 1 {SECONDS} cubic"])
        for link, traffic, limit_bps in (
            (bearer, None, 384e3),
            (bearer | {"umts.profile": "lundsten-64"}, None, 64e3),
            (wlan, up, 5e6),
        ):
            with self.subTest(link), tempfile.TemporaryDirectory() as folder:
                packets, recorded = (
                    os.path.join(folder, "packets.pcap"),
                    os.path.join(folder, "run.h5"),
                )
                digests = []
                for seed, to in ((1, None), (1, recorded), (2, None)):
                    report = run(traffic, packets, seed=seed, recorded=to, **link)
                    if to:
                        check_record(
                            self,
                            recorded,
                            report,
                            ("packet    base", "status    base", "status    terminal"),
                        )
                    digests.append(hashlib.sha256(pathlib.Path(packets).read_bytes()).hexdigest())
                    self.assertEqual(report["verdict"]["reasons"], [])
                    self.assertGreater(report["tcp"]["goodput_bps"], 0.3 * limit_bps)
                    self.assertLess(report["tcp"]["goodput_bps"], limit_bps)
                    if link is wlan:
                        self.assertGreater(report["emulator"]["delay_injection"]["held"], 0)
                        self.assertGreater(report["emulator"]["wlan"][2]["failed"], 0)
                        # The second station has sent; what each has is what all have.
                        self.assertGreater(report["users"][1]["uplink"]["bytes"]["delivered"], 1e5)
                        self.assertEqual(report["users"][0]["uplink"]["in"], 0)
                        self.assertEqual(
                            sum(u["delivered_packets"] for u in report["users"]),
                            report["packets"]["downlink"]["delivered"],
                        )
                        for user in report["users"]:
                            for p in (user["downlink"], user["uplink"]):
                                self.assertEqual(
                                    p["in"],
                                    p["delivered"] + p["queued"] + sum(p["dropped"].values()),
                                )
                    else:
                        self.assertGreater(report["bearer"]["down"]["retransmissions"], 0)
                self.assertEqual(digests[0], digests[1])
                self.assertNotEqual(digests[0], digests[2])

    def test_all_kinds_of_traffic_come_through_and_settings_of_the_kernel_are_read_back(self):
        plan = virtual.Plan(
            [
                "transfer 0 1 1 50000 reno",
                f"pages 1 0 1 {SECONDS} 300 20000 0.5 cubic",
                f"voip 0 2 1 {SECONDS} 0.02 60",
                f"voip 2 0 1 {SECONDS} 0.02 60",
                "bulk 0 1 1 2 westwood 64",
            ],
            {"net/ipv4/tcp_sack": "0"},
            [(0, "tc qdisc replace dev eth0 root netem delay 20ms")],
        )
        report = run(plan, terminals=2, channel__model="static")
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertEqual(report["sysctl"]["net/ipv4/tcp_sack"], "0")
        ends = {(e["flow"], e["end"]): e for e in report["flows"]}
        self.assertEqual(len(ends), 9)
        self.assertEqual(ends[0, "receiver"]["bytes"], 50000)
        self.assertGreater(ends[1, "client"]["pages"], 1)
        self.assertEqual(ends[1, "client"]["broken"], 0)
        for flow in (2, 3):
            self.assertEqual(ends[flow, "sender"]["sent"], 50 * SECONDS)
            self.assertEqual(ends[flow, "receiver"]["received"], 50 * SECONDS)
        self.assertGreater(ends[2, "receiver"]["delay_ms"]["median"], 30)
        self.assertGreater(ends[3, "receiver"]["delay_ms"]["median"], 10)
        self.assertLess(ends[3, "receiver"]["delay_ms"]["median"], 30)
        self.assertEqual(ends[4, "sender"]["congestion_control"], "westwood")

    def test_the_window_of_an_experiment_is_kept_with_packets_of_1500_bytes(self):
        u_b11 = plan.load(PLACES.top, ["U-B11"], "quick", "virtual")[0]
        point = next(p for p in u_b11.points if p["mtu"] == 1500 and p["channel"] == "384")
        spec = u_b11.run(point, 1).spec
        for window, segments in ((20440, 14), (64096, 43)):  # whole ones of 1460
            work = spec["workload"] | {"window_bytes": window, "flows": [{"kb": 1000, "times": 1}]}
            report = in_virtual_time.run(
                spec["emulator"] | {"umts.errors": 0}, work, lambda text: None, places=PLACES
            )
            self.assertEqual(report["verdict"]["reasons"], [])
            self.assertEqual(report["workload"]["tcp_settings"]["windows_at_the_end"], [window])
            self.assertEqual(report["workload"]["flows"]["1000"]["window_most"], segments)
            self.assertLess(metrics.read(report, {"flow_kb": 1000}, "send_window"), segments)

    def test_a_download_tells_its_recoveries_and_when_what_of_it_had_come(self):
        experiment = plan.load(PLACES.top, ["U-A5"], "quick", "virtual")[0]
        found = {}
        for spike_s, at_s, stamps in ((5, 2, 0), (5, 2, 1), (0.5, 0, 0)):
            point = next(
                p
                for p in experiment.points
                if p.matches({"spike_s": spike_s, "spike_at_s": at_s, "timestamps": stamps})
            )
            spec = experiment.run(point, 1).spec
            # the second one's are its own, not the sum
            work = spec["workload"] | {"flows": [{"kb": 100, "times": 2}]}
            found[spike_s, stamps] = list(
                in_virtual_time.run(spec["emulator"], work, lambda text: None, places=PLACES)[
                    "flows"
                ]
            )
        for (spike_s, stamps), ends in found.items():
            sent, got = (
                next(e for e in ends if e["end"] == end)["sessions"]
                for end in ("sender", "receiver")
            )
            self.assertEqual(
                [(s["timeouts"] > 0, s["undone"] > 0) for s in sent],
                [(spike_s == 5, stamps == 1), (False, False)],
            )
            self.assertEqual([s["fast_retransmits"] for s in sent], [0, 0])  # in order
            for s in got:
                self.assertEqual(len(s["arrived"]), 50)
                self.assertEqual(s["arrived"], sorted(s["arrived"]))
                self.assertAlmostEqual(s["arrived"][-1], s["last_byte"], delta=1e-4)

    def test_the_window_of_uploads_is_kept_and_one_that_is_not_makes_no_valid_run(self):
        work = plan.load(PLACES.top, ["D-window"], "quick", "virtual")[0].spec(
            plan.Point((("method", "inf-RL"), ("sender", "linux"), ("window_bytes", 16384))), 1
        )["workload"]
        work |= {"duration_s": 6, "start_within_s": 0, "measured_from_s": 2}
        settings = {"link.kind": "wlan", "terminals": 2, "wired.delay_ms": 80, "seed": 1}
        # whole ones of 1448: the round trip is longer than it takes to send them
        for window, segments in ((16384, 11), (30720, 21)):
            report = in_virtual_time.run(
                settings, work | {"window_bytes": window}, lambda text: None, places=PLACES
            )
            self.assertEqual(report["verdict"]["reasons"], [])
            self.assertEqual(
                report["workload"]["tcp_settings"],
                {"window_bytes": window, "windows_at_the_end": [window] * 2},
            )
            for each in report["workload"]["each"]:
                self.assertEqual(each["window_most"], segments)
                self.assertLess(8 * each["bytes_acked"] / each["seconds"], 8 * window / 0.16)
        judged = tcp_settings.with_windows(report, 16384)["verdict"]
        self.assertEqual(
            (judged["valid"], judged["reasons"]),
            (False, ["traffic: a receiver's window of 16384 bytes ended as 30720"]),
        )

    def test_a_bearer_loses_the_blocks_that_an_ofdm_cell_lost(self):
        def openwip(*arguments):
            done = subprocess.run(
                [sys.executable, "-m", "openwip_cli", *arguments],
                capture_output=True,
                text=True,
                timeout=300,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        with tempfile.TemporaryDirectory() as folder:
            recorded, blocks, told = (
                os.path.join(folder, name) for name in ("run.h5", "blocks", "run.json")
            )
            run(recorded=recorded)
            said = openwip("record", "blocks", recorded, "-o", blocks, "--tti-ms", "20")
            written = "".join(
                line
                for line in pathlib.Path(blocks).read_text().split("\n")
                if not line.startswith("#")
            )
            expected = {}  # TTI: of its first slot with a new frame the lowest bin
            with RunRecord(recorded) as record:
                slots = record.table("slot", "base")
                for slot, outcomes, again in zip(
                    slots["message.slot"].tolist(),
                    slots["outcome"].tolist(),
                    slots["retransmissions"].tolist(),
                ):
                    new = [o for o, n in zip(outcomes, again) if o and not n]
                    if new:
                        expected.setdefault(slot // 30, "0" if new[0] == 1 else "1")
            self.assertEqual(written, "".join(expected.values()))
            self.assertIn(f"{len(written)} blocks of 20 ms, {written.count('1')} lost", said)
            self.assertGreater(written.count("1"), 5)
            over = subprocess.run(
                [sys.executable, "-m", "openwip_cli", "record", "blocks", recorded, "-o", recorded],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(
                (over.returncode, "that file is given twice" in over.stderr), (2, True)
            )
            RunRecord(recorded).close()
            openwip(
                "emulate",
                "--time",
                "virtual",
                "--link",
                "umts",
                "--bearer",
                "lundsten-384",
                "--error-trace",
                blocks,
                "--duration",
                "10",
                "--json",
                told,
            )
            down = json.loads(pathlib.Path(told).read_text())["bearer"]["down"]
        self.assertGreater(down["blocks"], 300)
        self.assertEqual(
            down["blocks_lost"],
            (written * (down["blocks"] // len(written) + 1))[: down["blocks"]].count("1"),
        )

    def test_the_receivers_own_predictions_reach_the_cell(self):
        report = run(channel__prediction_nmse="predictor", traffic__duration_s=1)
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertGreater(report["emulator"]["prediction_nmse"], 0)

    def test_tcp_takes_what_the_tables_of_theory_leave_it(self):
        for case in (("fixed", 25, 8), ("adaptive", 8, "adaptive")):
            row = validate.with_tcp("kernel", case, 2, PLACES)
            self.assertTrue(row["passed"], row)
            self.assertLess(row["ratio"], 1.001)  # the denominator would be wrong

    def test_a_plan_that_the_kernel_cannot_do_is_no_valid_run(self):
        report = run(virtual.Plan(["bulk 0 1 1 1 nonsense"]))
        self.assertFalse(report["verdict"]["valid"])
        self.assertIn("nonsense", report["verdict"]["reasons"][0])
        report = run(virtual.Plan(["dance 0 1 1 1"]))
        self.assertIn("dance", json.dumps(report["verdict"]["reasons"]))

    def test_a_setting_that_is_read_back_otherwise_at_another_side_is_no_valid_run(self):
        # reads otherwise every time
        report = run(virtual.Plan(["bulk 0 1 1 1 cubic"], {"../../dev/urandom": "1"}))
        self.assertIn(
            "traffic: ../../dev/urandom is not the same at all sides",
            report["verdict"]["reasons"][0],
        )


if __name__ == "__main__":
    unittest.main()
