# SPDX-License-Identifier: GPL-3.0-or-later
"""The first program of the kernel of virtual time, without that kernel: as the first process of
namespaces of its own, with a pair of Ethernet interfaces instead of two network cards. What it does
with a plan does not depend on whose clock it is."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import jsonschema

from demo_support import wait_until
from openwip_cli.measure.flows import flow
from openwip_cli.runs import virtual

TOP = pathlib.Path(__file__).resolve().parents[2]
GUEST = pathlib.Path(os.environ["OPENWIP_BUILD"], virtual.GUEST)
SCHEMA = json.loads((TOP / "host/flow/flows.schema.json").read_text())
# Without ARP the destination address of a frame is that of its sender, so both interfaces have the
# same.
START = """
ip link add eth0 address 02:00:00:00:00:01 type veth peer name eth1 address 02:00:00:00:00:01
mkdir host && mount --bind / host && exec chroot . /init
"""


def result_of(**plan):
    """The result that it writes, as virtual.run() reads it."""
    plan = {"sides": ["10.42.0.1/24", "10.42.0.2/24"]} | plan
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(GUEST, folder / "init")
        (folder / "plan").write_text(json.dumps(plan))
        program = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", START],
            cwd=folder,
        )
        try:
            assert wait_until(lambda: (folder / "result").exists(), 60)
            text = (folder / "result").read_text()
        finally:
            program.kill()
            program.wait()
    for line in map(json.loads, text.splitlines()):
        if "flow" in line:
            jsonschema.validate(line, SCHEMA | {"$ref": "#/$defs/result"})
    return virtual.read_result(text)


@unittest.skipIf(os.geteuid() != 0, "namespaces need root")
@unittest.skipUnless(GUEST.exists(), "the kernel's program is not built")
class Guest(unittest.TestCase):
    def test_all_kinds_of_traffic_and_programs_come_to_their_results(self):
        start = {"start_s": time.monotonic() + 3}  # when all receivers listen
        control = start | {"congestion_control": "cubic"}
        files = [{"bytes": 1000, "times": 2}, {"bytes": 100_000}]
        found = result_of(
            sysctls={"net/ipv4/tcp_sack": "0"},
            programs=[{"side": 0, "command": ["ip", "route", "show"]}],
            afterwards=[{"side": 1, "command": ["grep", "Tcp:", "/proc/net/snmp"]}],
            window_bytes=20440,
            flows=[
                flow("transfer", 0, 1, bytes=50_000, **control),
                flow("bulk", 0, 1, seconds=2, measured_from_s=0.5, **control),
                flow(
                    "pages",
                    1,
                    0,
                    seconds=1,
                    request_bytes=300,
                    response_bytes=20_000,
                    think_s=0,
                    **start,
                ),
                flow("sessions", 0, 1, files=files, **control),
                flow("compare", 0, 1, bytes=300_000, limit_s=30, seed=7, **start),
                {"kind": "program", "from": 0, "start_s": 0, "command": ["echo", "hello"]},
                flow(
                    "voip",
                    1,
                    0,
                    **start,
                    seconds=0.5,
                    interval_s=0.02,
                    bytes=60,
                ),
            ],
        )
        self.assertNotIn("failed", found)
        self.assertEqual(found["sysctl"], {"net/ipv4/tcp_sack": "0"})
        self.assertIn("10.42.0.0/24 dev eth0", found["programs"][0]["said"])
        self.assertIn("InSegs", found["programs"][1]["said"])
        self.assertEqual([e["failed"] for e in found["flows"] if "failed" in e], [])
        ends = {(e["flow"], e["end"]): e for e in found["flows"]}
        self.assertEqual(len(ends), 12)
        self.assertEqual(ends[0, "receiver"]["bytes"], 50_000)
        self.assertEqual(ends[1, "receiver"]["windows"], [20440])
        self.assertAlmostEqual(ends[1, "sender"]["since"]["seconds"], 1.5, delta=0.5)
        self.assertGreater(ends[2, "client"]["pages"], 0)
        self.assertEqual(
            [s["bytes"] for s in ends[3, "receiver"]["sessions"]], [1000, 1000, 100_000]
        )
        self.assertEqual(ends[4, "receiver"]["bits_wrong"], 0)
        self.assertEqual(
            (ends[5, "program"]["said"], ends[5, "program"]["status"]), (["hello\n"], 0)
        )
        self.assertEqual([n for n, _ in ends[6, "receiver"]["arrived"]], list(range(25)))

    def test_what_it_cannot_do_is_its_result(self):
        bulk = flow("bulk", 0, 1, seconds=1)
        for plan, words in (
            ({"flows": [flow("dance", 0, 1)]}, 'flows[0].kind is "dance"; valid: bulk, '),
            ({"flows": [], "sysctls": {"net/none": "1"}}, "cannot set net/none to 1: No such file"),
            (
                {"flows": [], "programs": [{"side": 0, "command": ["false"]}]},
                "false failed with status 1",
            ),
            ({"flows": [], "programs": [{"side": 2, "command": ["true"]}]}, "valid: 0..1"),
        ):
            self.assertIn(words, result_of(**plan)["failed"])
        failed = result_of(flows=[bulk | {"congestion_control": "nonsense"}])["flows"]
        self.assertIn("nonsense", next(e["failed"] for e in failed if "failed" in e))


if __name__ == "__main__":
    unittest.main()
