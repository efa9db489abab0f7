# SPDX-License-Identifier: GPL-3.0-or-later
"""The program wip_channel (host/channel), which writes and checks SNR traces."""

import json
import subprocess
from typing import Any

from ..errors import of_program
from ..machine import snr_trace, system
from ..machine.places import Places, operand


def run_program(places: Places, arguments: list[str]) -> str:
    """Runs wip_channel; its one line of what is wrong becomes ours."""
    done = subprocess.run(
        [places.program(snr_trace.PROGRAM), *arguments],
        capture_output=True,
        text=True,
        preexec_fn=system.follower(),
    )
    if done.returncode != 0:
        raise of_program("wip_channel", done.returncode, done.stderr)
    return done.stdout


def describe(places: Places, file: str) -> dict[str, Any]:
    return dict(json.loads(run_program(places, ["check", operand(file)])))
