# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of the tests of runs without the wall clock: the build, one run, its record, and a disk that
holds no more."""

import os
import pathlib
import subprocess
import sys
from unittest import mock

from openwip_cli.errors import CellDied
from openwip_cli.machine.places import Places
from openwip_cli.measure import flows
from openwip_cli.runs import virtual
from openwip_cli.settings import emulator

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PLACES = Places(pathlib.Path(__file__).resolve().parents[2], BUILD, sys.executable)
HAS_KERNEL = (BUILD / virtual.KERNEL).exists()
SECONDS = 3


def transfer_pages_and_speech():
    """Flows of three kinds, numbers 0 to 2; the speech is of the second terminal."""
    return [
        flows.flow("transfer", 0, 1, start_s=1, bytes=50000, congestion_control="reno"),
        flows.flow(
            "pages",
            1,
            0,
            start_s=1,
            seconds=SECONDS,
            request_bytes=300,
            response_bytes=20000,
            think_s=0.5,
            congestion_control="cubic",
        ),
        flows.flow("voip", 0, 2, start_s=1, seconds=SECONDS, interval_s=0.02, bytes=60),
    ]


def check_transfer_and_pages(test, ends):
    """Checks that transfer and pages came through whole. `ends`: {(flow, end): its report}."""
    test.assertEqual(ends[0, "receiver"]["bytes"], 50000)
    test.assertGreater(ends[1, "client"]["pages"], 1)
    test.assertEqual(ends[1, "client"]["broken"], 0)


def run(plan=None, packets=None, recorded=None, **settings):
    values = {"channel.model": "jakes", "traffic.duration_s": SECONDS} | {
        k.replace("__", "."): v for k, v in settings.items()
    }
    return virtual.run(emulator.scenario_of(values), PLACES, plan, packets, recorded=recorded)


def check_record(
    test, recorded, report, lines=("packet    base", "slot      terminal", "status    base")
):
    """Checks that no message of the cell is lost, and that the page of the run can be made from the
    record."""
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
    """A capture or a record fails if the disk has no room for any part of it, even the last one.
    /dev/full may not be read: it has no end."""
    nothing = {"kept": lambda *_: {}, "write_record": lambda *_: None}
    for place, reported in (
        ("CAPTURE", "/dev/full"),
        ("TELEMETRY", "the telemetry of the run cannot be written"),
    ):
        for link in ("ofdm", "umts"):
            with (
                test.subTest(f"{place} {link}"),
                mock.patch.multiple(virtual, **nothing | {place: "/dev/full"}),
            ):
                with test.assertRaisesRegex(CellDied, f"^{reported}: No space left on device$"):
                    run(
                        virtual.Plan(
                            [
                                flows.flow(
                                    "transfer",
                                    0,
                                    1,
                                    start_s=1,
                                    bytes=1000,
                                    congestion_control="cubic",
                                )
                            ]
                        ),
                        "capture",
                        recorded="record",
                        link__kind=link,
                    )
