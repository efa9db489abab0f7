# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of the tests of ./openwip emulate."""

import os
import pathlib
import subprocess
import sys

from openwip_cli.machine.places import Places

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PLACES = Places(pathlib.Path(__file__).resolve().parents[2], BUILD, sys.executable)
PRIVILEGED = os.geteuid() == 0 and os.path.exists("/dev/net/tun")


# A machine that tests in parallel may keep a thread from running: what is checked here is not
# pacing.
PATIENT = {"pacing_limit_ms": 1000}


def openwip(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "openwip_cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr
