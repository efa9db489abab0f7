# SPDX-License-Identifier: GPL-3.0-or-later
"""The traffic program at the ends of a cell, over the loopback interface: what it tells, by the
schema of flows, and what the result of an experiment makes of it."""

import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest

import jsonschema

from openwip_cli.campaign import flow_results, metrics, tcp_settings
from openwip_cli.measure import flows

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import arrivals

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ["OPENWIP_BUILD"], flows.PROGRAM)
SCHEMA = json.loads((TOP / "host/flow/flows.schema.json").read_text())
SIDES = ["127.0.0.1/8", "127.0.0.1/8"]


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def arguments(end, wanted, **more):
    plan = {"sides": SIDES, "flows": [wanted]} | more
    return [PROGRAM, end, json.dumps(plan)]


def told(text):
    """The lines, each of which is what the schema says of a result."""
    lines = [json.loads(line) for line in text.splitlines() if line != "ready"]
    for line in lines:
        jsonschema.validate(line, SCHEMA | {"$ref": "#/$defs/result"})
    return flows.ends_of(lines)[0]


def both(wanted, stop=False, sender="sender", receiver="receiver", **more):
    """(sender, receiver): what they tell."""
    jsonschema.validate({"flows": [wanted]}, SCHEMA)
    more = {"port": free_port()} | more
    other = subprocess.Popen(arguments(receiver, wanted, **more), stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "ready\n"
        done = subprocess.run(
            arguments(sender, wanted, **more), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        if stop:
            other.send_signal(signal.SIGTERM)
        text = other.communicate(timeout=20)[0]
        return told(done.stdout), told(text) if text else {}
    finally:
        other.kill()
        other.wait()


@unittest.skipUnless(PROGRAM.exists(), "the traffic program is not built")
class Program(unittest.TestCase):
    def test_every_packet_of_speech_arrives_with_its_number_and_a_delay(self):
        for kernel in (False, True):
            sent, got = both(
                flows.flow(
                    "voip", 0, 1, seconds=0.2, interval_s=0.005, bytes=172, kernel_times=kernel
                ),
                stop=True,
            )
            self.assertEqual((sent["sent"], sent["not_sent"], got["foreign"]), (40, 0, 0))
            self.assertEqual([n for n, _ in got["arrived"]], list(range(40)))
            # Both ends have one clock: a delay is not negative, and not a second.
            self.assertTrue(all(0 <= d < 1_000_000 for _, d in got["arrived"]), got)

    def test_a_long_list_of_arrivals_is_told_in_parts_and_is_whole(self):
        sent, got = both(
            flows.flow("voip", 0, 1, seconds=0.6, interval_s=0.0005, bytes=16), stop=True
        )
        self.assertEqual(sent["sent"], 1200)
        self.assertEqual(sorted(n for n, _ in got["arrived"]), list(range(1200)))

    def test_files_are_timed_from_connect_to_the_last_acknowledgement(self):
        wanted = flow_results.files(
            {
                "congestion_control": "cubic",
                "flows": [{"kb": 1, "times": 3}, {"kb": 200, "times": 2}],
            }
        )
        sent, got = both(wanted, window_bytes=20440)
        self.assertEqual(set(got["windows"]), {20440})
        done = flow_results.sessions(sent["sessions"], got["sessions"])
        self.assertEqual([f["kb"] for f in done], [1, 1, 1, 200, 200])
        for f in done:
            self.assertTrue(0 < f["connect_s"] < f["last_byte_s"] <= f["session_s"] < 5, f)
            self.assertEqual(len(f["arrived_s"]), 50)
        sizes = flow_results.by_size(done)
        self.assertEqual(sizes["1"]["times"], 3)
        self.assertAlmostEqual(sizes["200"]["goodput_bps"], 1_600_000 / sizes["200"]["session_s"])

    def test_bulk_tells_what_came_in_its_time_and_whole_what_was_sent(self):
        sent, got = both(flows.flow("bulk", 0, 1, seconds=0.5, congestion_control="cubic"))
        self.assertEqual(sent["congestion_control"], "cubic")
        self.assertTrue(0 < got["bytes"] <= sent["bytes"])
        self.assertAlmostEqual(got["last"] - got["began"], 0.5, places=6)
        sent, got = both(flows.flow("bulk", 0, 1, seconds=2.2, whole=True, buffer_kb=48))
        self.assertEqual(sent["bytes"], got["bytes"])
        self.assertEqual(sum(got["bytes_by_second"]), got["bytes"])
        self.assertTrue(got["first"] + 1 <= got["steady_first"] < got["last"])
        self.assertTrue(got["first_bytes"] < got["steady_first_bytes"] < got["bytes"])

    def test_so_many_bytes_arrive_and_compared_ones_are_those_that_were_sent(self):
        sent, got = both(flows.flow("transfer", 0, 1, bytes=1_000_000))
        self.assertEqual((sent["bytes"], got["bytes"]), (1_000_000, 1_000_000))
        sent, got = both(flows.flow("compare", 0, 1, bytes=300_000, limit_s=20, seed=7))
        self.assertEqual(
            [got[k] for k in ("bytes", "bytes_wrong", "bits_wrong", "given_up")],
            [300_000, 0, 0, False],
        )

    def test_a_comparison_that_nobody_comes_to_is_given_up_at_its_limit(self):
        done = subprocess.run(
            arguments(
                "receiver",
                flows.flow("compare", 0, 1, bytes=9, limit_s=0.2, seed=1),
                port=free_port(),
            ),
            capture_output=True,
            text=True,
            timeout=20,
        )
        got = told(done.stdout)
        self.assertEqual((got["bytes"], got["given_up"]), (0, True))

    def test_pages_are_asked_for_and_come_whole(self):
        wanted = flows.flow(
            "pages", 0, 1, seconds=2, request_bytes=300, response_bytes=200_000, think_s=0.01
        )
        asked, _ = both(wanted, stop=True, sender="client", receiver="server")
        self.assertGreater(asked["pages"], 3)
        self.assertEqual(asked["broken"], 0)

    def test_telnet_sends_the_packets_of_its_seed_when_they_arrive(self):
        wanted = flows.flow(
            "telnet", 0, 1, seconds=1, seed=5, packets_per_s=200, packet_bytes=100,
            measured_from_s=0.3, congestion_control="reno",
        )  # fmt: skip
        for seed in (5, 6):
            sent, got = both(wanted | {"seed": seed})
            # The clock is read some time after the last packet, and before the second is over.
            expected = arrivals.packets(seed, 200, 1)
            self.assertLessEqual(abs(sent["bytes"] - 100 * expected), 500, (sent, expected))
            self.assertEqual((sent["bytes"] % 100, got["bytes"] % 100), (0, 0))
            # What waits at the receiver when the time is over is dropped with the connection.
            self.assertTrue(0 <= sent["bytes"] - got["bytes"] <= 500, (sent, got))
            # None waits for the next one.
            self.assertGreaterEqual(sent["segments_sent"], expected - 5)
            self.assertAlmostEqual(sent["since"]["seconds"], 0.7, delta=0.2)
            self.assertTrue(0 < sent["since"]["bytes_sent"] < sent["bytes"], sent)

    def test_http_gets_the_pages_of_its_seed_a_connection_for_each_visit(self):
        wanted = flows.flow(
            "http", 0, 1, seconds=2, seed=9, page_s=0.05, visit_pages=3, object_s=0.001,
            measured_from_s=0.001, congestion_control="reno",
        )  # fmt: skip
        user, server = both(wanted, sender="client", receiver="server")
        self.assertGreater(user["pages"], 6)
        self.assertEqual((user["broken"], user["objects"]), (0, 4 * user["pages"]))
        sizes = list(itertools.islice(arrivals.pages(9), user["pages"] + 1))
        self.assertTrue(sum(sizes[:-1]) <= user["bytes"] <= sum(sizes), (user, sizes))
        self.assertIn(user["visits"] - user["pages"] // 3, (0, 1))
        self.assertEqual(server["visits"], user["visits"])
        self.assertGreaterEqual(server["bytes"], user["bytes"])
        self.assertEqual(server["congestion_control"], "reno")
        # Bytes acknowledged in the first millisecond do not count; each SYN does.
        acked = server["since"]["bytes_acked"] - server["visits"]
        self.assertTrue(user["bytes"] / 2 < acked <= server["bytes"], (user, server))

    def test_http_goes_on_with_another_connection_when_one_breaks(self):
        wanted = flows.flow("http", 0, 1, seconds=1, seed=1, page_s=0.05)
        done = subprocess.run(
            arguments("client", wanted, port=free_port()),
            capture_output=True,
            text=True,
            timeout=30,
        )
        user = told(done.stdout)
        self.assertEqual((user["pages"], user["visits"], user["bytes"]), (0, 0, 0))
        self.assertGreater(user["broken"], 3)

    def test_a_link_without_a_connection_is_told_and_other_failures_end_the_program(self):
        port = free_port()
        done = subprocess.run(
            arguments("sender", flows.flow("bulk", 0, 1, seconds=1), port=port),
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(
            (done.returncode, told(done.stdout)["problem"]), (0, "connect: Connection refused")
        )
        done = subprocess.run(
            arguments("sender", flows.flow("transfer", 0, 1, bytes=9), port=port),
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(
            (done.returncode, done.stderr), (1, "wip_flow: connect: Connection refused\n")
        )

    def test_a_plan_that_is_not_of_the_schema_is_refused_with_what_is_valid(self):
        kinds = ", ".join(
            SCHEMA["$defs"][r["$ref"].rpartition("/")[2]]["properties"]["kind"]["const"]
            for r in SCHEMA["$defs"]["flow"]["oneOf"]
        )
        bulk = flows.flow("bulk", 0, 1, seconds=1)
        for wanted, end, words in (
            (flows.flow("dance", 0, 1), "sender", f'flows[0].kind is "dance"; valid: {kinds}'),
            (bulk | {"to": 2}, "sender", "flows[0].to is 2; valid: 0..1"),
            (bulk | {"seconds": 0}, "sender", "flows[0].seconds is 0; valid: a number 0.001.."),
            (bulk | {"second": 1}, "sender", "flows[0].second is 1; valid: one of kind, from"),
            (
                flows.flow("http", 0, 1, seconds=1, seed=1, pareto_scale="most"),
                "client",
                'flows[0].pareto_scale is "most"; valid: mean, least',
            ),
            (
                flows.flow("telnet", 0, 1, seconds=1, seed=1, packets_per_s=0),
                "sender",
                "flows[0].packets_per_s is 0; valid: a number 0.001..",
            ),
            (flows.flow("telnet", 0, 1, seconds=1), "sender", "flows[0].seed is missing"),
            (bulk, "client", "END is client for a flow of kind bulk; valid: receiver, sender"),
        ):
            done = subprocess.run(arguments(end, wanted), capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"wip_flow: {words}", done.stderr)

    def test_every_kind_of_the_schema_has_its_ends(self):
        for rule in SCHEMA["$defs"]["flow"]["oneOf"]:
            properties = SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]]["properties"]
            kind = properties["kind"]["const"]
            values = {"files": [{"bytes": 1}], "command": ["true"], "congestion_control": "cubic"}
            wanted = {"kind": kind} | {
                k: values.get(k, 1)
                for k, v in properties.items()
                if k != "kind" and "default" not in v
            }
            wanted |= {"bytes": 16} if "bytes" in wanted else {}
            wanted |= {"buffer_kb": 0} if "buffer_kb" in wanted else {}
            jsonschema.validate({"flows": [wanted]}, SCHEMA)
            done = subprocess.run(arguments("nobody", wanted), capture_output=True, text=True)
            valid = re.search(r"valid: (.+)\n", done.stderr)
            self.assertEqual(bool(valid), kind != "program", done.stderr)


class Results(unittest.TestCase):
    def test_summary_counts_loss_duplicates_and_reordering(self):
        s = flow_results.stream_summary(6, [[0, 10], [2, 12], [1, 30], [2, 13], [5, 11]])
        self.assertEqual(
            (s["received"], s["reordered"], s["duplicates"], s["delays_us"]),
            (4, 1, 1, [10, 12, 30, 11]),
        )
        self.assertAlmostEqual(s["loss"], 2 / 6)

    def test_a_receiver_that_ended_with_another_window_is_no_valid_run(self):
        # tuned; one that nobody connected to
        for asked, windows in ((0, [175104]), (20440, [20440, 0, 20440])):
            self.assertEqual(tcp_settings.window_kept(asked, windows), [])
        self.assertIn(
            "window of 20440 bytes ended as 175104",
            tcp_settings.window_kept(20440, [20440, 175104])[0],
        )

    def test_of_what_only_some_flows_tell_the_mean_is_theirs(self):
        sent = [
            {"bytes": 1000, "began": 0, "connected": 1, "window": w, "window_variance": 9.0}
            for w in (10, 20, 30)
        ]
        sent[1]["first_retransmission_s"], sent[2]["first_retransmission_s"] = 2.0, 4.0
        done = flow_results.sessions(sent, 3 * [{"bytes": 1000, "last_byte": 2, "closed": 3}])
        point = {"flow_kb": 1}
        result = {
            "workload": {"flows": flow_results.by_size(done)},
            "bearer": {
                "down": {"busy_rate_bps": 2e5, "received_octets_most": 1500, "pdu_bits": 3e6}
            },
        }
        for metric, value in (
            ("flow_first_retransmission_s", 3),
            ("send_window", 20),
            ("send_window_varies", 0.15),
            ("peak_kbps", 200),
            ("session_kbps", 333.333333333),
            ("terminal_buffer_kb", 1.5),
        ):
            self.assertAlmostEqual(metrics.value_of(result, point, metric), value, msg=metric)
        with self.assertRaises(LookupError):  # the run has no such value
            metrics.value_of(
                {"workload": {"flows": flow_results.by_size(done[:1])}},
                point,
                "flow_first_retransmission_s",
            )

    def test_a_flow_that_arrived_short_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "1000 bytes arrived with 999"):
            flow_results.sessions(
                [{"bytes": 1000, "began": 0, "connected": 1}],
                [{"bytes": 999, "last_byte": 2, "closed": 3}],
            )

    def test_a_link_without_a_connection_has_a_goodput_of_zero_and_says_why(self):
        got = flow_results.bulk_result(
            {"duration_s": 6}, {"problem": "connect: Connection timed out"}, {"bytes": 0}
        )
        self.assertEqual(
            (got["goodput_bps"], got["problem"], got["rtt_ms"]),
            (0, "connect: Connection timed out", None),
        )

    def test_a_goodput_is_what_the_receiver_took_in_the_time(self):
        sender = {
            "retransmits": 3,
            "mss": 1448,
            "rtt_ms": {"min": 20, "mean": 26.7, "max": 30},
            "congestion_control": "cubic",
        }
        got = flow_results.bulk_result({"duration_s": 6}, sender, {"bytes": 3_000_000})
        self.assertEqual(
            (got["goodput_bps"], got["retransmits"], got["rtt_ms"], got["congestion_control"]),
            (4e6, 3, 26.7, "cubic"),
        )


if __name__ == "__main__":
    unittest.main()
