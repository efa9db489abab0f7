# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate --time virtual: the TCP of a Linux kernel through the emulated cell. Needs no
rights and asserts nothing of the wall clock. The kernel is not built by tests: without it only the
refusals are left."""

import hashlib
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from openwip_cli.campaign import (
    experiments,
    grid,
    in_virtual_time,
    metrics,
    options,
    tcp_settings,
    virtual_work,
)
from openwip_cli.measure import flows
from openwip_cli.records.run_record import RunRecord
from openwip_cli.runs import tcpl, transfers, validate, virtual
from openwip_cli.settings.scenario import Scenario
from virtual_support import (
    BUILD,
    HAS_KERNEL,
    PLACES,
    SECONDS,
    check_record,
    check_transfer_and_pages,
    run,
    transfer_pages_and_speech,
)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import arrivals


def flags_of_syns(capture):
    """The flags of all TCP segments with SYN, of a pcap file of IPv4 packets."""
    found, at = set(), 24
    while at < len(capture):
        _, _, length, _ = struct.unpack_from("<IIII", capture, at)
        packet = capture[at + 16 : at + 16 + length]
        at += 16 + length
        tcp = packet[4 * (packet[0] & 15) :]
        if packet[9] == 6 and tcp[13] & 0x02:
            found.add(tcp[13])
    return found


TRACES = pathlib.Path(__file__).resolve().parents[1] / "vectors/delivery"


@unittest.skipUnless(
    HAS_KERNEL, f"no Linux kernel for virtual time in {BUILD}: ./openwip setup --virtual-time"
)
class Runs(unittest.TestCase):
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

    def test_a_queue_of_the_server_delays_the_syn_by_what_it_is_told(self):
        sent_ms = []
        with tempfile.TemporaryDirectory() as folder:
            packets = pathlib.Path(folder, "packets.pcap")
            for queue in ([], [(0, "tc qdisc replace dev eth0 root netem delay 50ms")]):
                run(
                    virtual.Plan(
                        [
                            flows.flow(
                                "transfer", 0, 1, start_s=1, bytes=1000, congestion_control="cubic"
                            )
                        ],
                        {},
                        queue,
                    ),
                    packets,
                    channel__model="static",
                    traffic__duration_s=1,
                )
                seconds, ns, length, _ = struct.unpack_from("<IIII", packets.read_bytes(), 24)
                first = packets.read_bytes()[40 : 40 + length]
                self.assertEqual((first[9], first[20 + 13]), (6, 0x02))  # TCP, SYN alone
                sent_ms.append(1e3 * (seconds - virtual.START_S) + 1e-6 * ns)
        self.assertEqual([round(at, 3) for at in sent_ms], [0.001, 50.001])

    def test_a_sender_that_asks_for_ecn_is_marked_instead_of_losing_packets(self):
        """Linux accepts ECN (net.ipv4.tcp_ecn is 2) and asks for it with 1; DCTCP always asks."""
        asks, plain = {"net/ipv4/tcp_ecn": "1"}, {}
        syn, syn_ack, ece, cwr = 0x02, 0x12, 0x40, 0x80
        for control, sysctls, flags in (
            ("cubic", plain, {syn, syn_ack}),
            ("cubic", asks, {syn | ece | cwr, syn_ack | ece}),
            ("bbr", asks, {syn | ece | cwr, syn_ack | ece}),
            ("dctcp", plain, {syn | ece | cwr, syn_ack | ece}),
        ):
            with self.subTest(control, sysctls=sysctls), tempfile.TemporaryDirectory() as folder:
                packets = pathlib.Path(folder, "packets.pcap")
                bulk = flows.flow("bulk", 0, 1, start_s=1, seconds=2, congestion_control=control)
                report = run(
                    virtual.Plan([bulk], sysctls),
                    packets,
                    channel__model="static",
                    link__queue="dualpi2",
                )
                self.assertEqual(flags_of_syns(packets.read_bytes()), flags)
                down = report["packets"]["downlink"]
                lost = sum(down["dropped"].values())
                if flags == {syn, syn_ack}:
                    self.assertEqual(down["marked"], 0)
                    self.assertGreater(lost, 10)
                else:
                    self.assertGreater(down["marked"], 10)
                    self.assertLess(lost, down["marked"])

    def test_every_link_carries_it_and_the_same_seed_gives_the_same_packets(self):
        bearer = {"link.kind": "umts", "umts.errors": 0.1}
        wlan = {
            "link.kind": "wlan",
            "wlan.errors": "burst",
            "terminals": 2,
            "delay_injection.mode": "adaptive",
        }
        up = virtual.Plan(
            [flows.flow("bulk", 2, 0, start_s=1, seconds=SECONDS, congestion_control="cubic")]
        )
        moving = {"link.kind": "hetnet", "hetnet.plan": "2s@UMTS", "hetnet.delay_s": 0.5}
        recorded_network = {
            "link.kind": "trace",
            "trace.file": str(TRACES / "mahimahi.trace"),
            "trace.light_file": str(TRACES / "cellreplay-light"),
            "link.queue": "codel",
        }
        for link, traffic, limit_bps in (
            (bearer, None, 384e3),
            (bearer | {"umts.profile": "lundsten-64"}, None, 64e3),
            (wlan, up, 5e6),
            (moving, None, 1000e3),
            (recorded_network, None, 2.4e6),
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
                    if link is moving:
                        self.assertEqual(report["mobility"]["handovers"], 1)
                        self.assertEqual(report["mobility"]["handing_over_s"], 0.5)
                    elif link is recorded_network:
                        rate = report["recorded"]["down"]["mean_rate_bps"]
                        self.assertGreater(rate, 2e6)
                        self.assertEqual(
                            report["capacity"]["how"][0][:40],
                            "payload = profile = the mean rate of the",
                        )
                        self.assertGreater(
                            report["tcp"]["goodput_bps"],
                            0.6 * report["capacity"]["tcp_payload_bps"],
                        )
                    elif link is wlan:
                        self.assertGreater(report["emulator"]["delay_injection"]["held"], 0)
                        self.assertGreater(report["emulator"]["wlan"][2]["failed"], 0)
                        # The second station has sent, and the stations' sums are those of the cell.
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
                *transfer_pages_and_speech(),
                flows.flow("voip", 2, 0, start_s=1, seconds=SECONDS, interval_s=0.02, bytes=60),
                flows.flow(
                    "bulk", 0, 1, start_s=1, seconds=2, congestion_control="westwood", buffer_kb=64
                ),
            ],
            {"net/ipv4/tcp_sack": "0"},
            [(0, "tc qdisc replace dev eth0 root netem delay 20ms")],
        )
        report = run(plan, terminals=2, channel__model="static")
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertEqual(report["sysctl"]["net/ipv4/tcp_sack"], "0")
        ends = {(e["flow"], e["end"]): e for e in report["flows"]}
        self.assertEqual(len(ends), 9)
        check_transfer_and_pages(self, ends)
        for flow in (2, 3):
            self.assertEqual(ends[flow, "sender"]["sent"], 50 * SECONDS)
            self.assertEqual(ends[flow, "receiver"]["received"], 50 * SECONDS)
        self.assertGreater(ends[2, "receiver"]["delay_ms"]["median"], 30)
        self.assertGreater(ends[3, "receiver"]["delay_ms"]["median"], 10)
        self.assertLess(ends[3, "receiver"]["delay_ms"]["median"], 30)
        self.assertEqual(ends[4, "sender"]["congestion_control"], "westwood")

    def test_telnet_and_http_of_an_experiment_have_the_traffic_of_ns3_and_their_route(self):
        (e,) = options.load(PLACES.top, ["W-linux"], "quick", "virtual")
        for point in e.points:
            at = dict(point.settings)
            if at["method"] != "20 Hz 160" or at["application"] == "ftp" or at["sack"]:
                continue
            with self.subTest(point.text()):
                spec = e.run(point, 1).spec
                work = spec["workload"] | {"duration_s": 20}
                report = in_virtual_time.run(
                    spec["emulator"] | {"terminals": 2}, work, lambda text: None, places=PLACES
                )
                self.assertEqual(report["verdict"]["reasons"], [])
                routes = [p["said"] for p in report["programs"] if p["program"] == "ip"]
                self.assertEqual(len(routes), 3)
                for route in routes:
                    self.assertRegex(route, "mtu lock 1000 .*initcwnd 4 rto_min lock 200ms")
                self.assertEqual(len(report["workload"]["each"]), 2)
                planned = virtual_work.plan_of({"seed": 1, "terminals": 2}, work).flows
                ends = {(f["flow"], f["end"]): f for f in report["flows"]}
                for n, flow in enumerate(planned):
                    if flow["kind"] == "telnet":
                        sender = ends[n, "sender"]
                        self.assertEqual(sender["congestion_control"], at["congestion_control"])
                        # The time begins with the connection, whose SYN may have been lost.
                        seconds = flow["seconds"]
                        self.assertEqual(
                            sender["bytes"], 960 * arrivals.packets(flow["seed"], 1, seconds)
                        )
                        continue
                    user = ends[n, "client"]
                    pages = arrivals.pages(flow["seed"])
                    sizes = list(itertools.islice(pages, user["pages"] + 1))
                    self.assertTrue(sum(sizes[:-1]) <= user["bytes"] <= sum(sizes), (user, sizes))
                    self.assertGreaterEqual(ends[n, "server"]["bytes"], user["bytes"])

    def test_the_window_of_an_experiment_is_kept_with_packets_of_1500_bytes(self):
        u_b11 = experiments.load(PLACES.top, ["U-B11"], "quick", "virtual")[0]
        point = next(p for p in u_b11.points if p["mtu"] == 1500 and p["channel"] == "384")
        spec = u_b11.run(point, 1).spec
        for window, segments in ((20440, 14), (64096, 43)):  # whole segments of 1460 bytes
            work = spec["workload"] | {"window_bytes": window, "flows": [{"kb": 1000, "times": 1}]}
            report = in_virtual_time.run(
                spec["emulator"] | {"umts.errors": 0}, work, lambda text: None, places=PLACES
            )
            self.assertEqual(report["verdict"]["reasons"], [])
            self.assertEqual(report["workload"]["tcp_settings"]["windows_at_the_end"], [window])
            self.assertEqual(report["workload"]["flows"]["1000"]["window_most"], segments)
            self.assertLess(metrics.value_of(report, {"flow_kb": 1000}, "send_window"), segments)

    def test_a_download_tells_its_recoveries_and_when_what_of_it_had_come(self):
        experiment = experiments.load(PLACES.top, ["U-A5"], "quick", "virtual")[0]
        found = {}
        for spike_s, at_s, stamps in ((5, 2, 0), (5, 2, 1), (0.5, 0, 0)):
            point = next(
                p
                for p in experiment.points
                if p.matches({"spike_s": spike_s, "spike_at_s": at_s, "timestamps": stamps})
            )
            spec = experiment.run(point, 1).spec
            # The counts of the second download are its own, not the sum of both.
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
            # the packets stay in order
            self.assertEqual([s["fast_retransmits"] for s in sent], [0, 0])
            for s in got:
                self.assertEqual(len(s["arrived"]), 50)
                self.assertEqual(s["arrived"], sorted(s["arrived"]))
                self.assertAlmostEqual(s["arrived"][-1], s["last_byte"], delta=1e-4)

    def test_the_window_of_uploads_is_kept_and_one_that_is_not_makes_no_valid_run(self):
        work = experiments.load(PLACES.top, ["D-window"], "quick", "virtual")[0].spec(
            grid.Point((("method", "inf-RL"), ("sender", "linux"), ("window_bytes", 16384))), 1
        )["workload"]
        work |= {"duration_s": 6, "start_within_s": 0, "measured_from_s": 2}
        settings = {"link.kind": "wlan", "terminals": 2, "wired.delay_ms": 80, "seed": 1}
        # whole segments of 1448 bytes; the round trip is longer than it takes to send them
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
        evaluated = tcp_settings.with_windows(report, 16384)["verdict"]
        self.assertEqual(
            (evaluated["valid"], evaluated["reasons"]),
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
            recorded, blocks, report_file = (
                os.path.join(folder, name) for name in ("run.h5", "blocks", "run.json")
            )
            run(recorded=recorded)
            reported = openwip("record", "blocks", recorded, "-o", blocks, "--tti-ms", "20")
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
            self.assertIn(f"{len(written)} blocks of 20 ms, {written.count('1')} lost", reported)
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
                f"--json={report_file}",
            )
            down = json.loads(pathlib.Path(report_file).read_text())["bearer"]["down"]
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


if __name__ == "__main__":
    unittest.main()
