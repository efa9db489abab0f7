# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that the flowgraphs share with the launcher (host/cli): numbers of the air interface,
the table of settings."""

import pathlib
import sys

_cli = str(pathlib.Path(__file__).resolve().parents[2] / "host" / "cli")
if _cli not in sys.path:
    sys.path.append(_cli)

from openwip_cli.air import SAMPLE_RATE, SLOT_SAMPLES
from openwip_cli.machine import reason, rights
from openwip_cli.machine.outputs import NewFiles
from openwip_cli.settings import command_line, radios, table

__all__ = [
    "SAMPLE_RATE",
    "SLOT_SAMPLES",
    "NewFiles",
    "command_line",
    "radios",
    "reason",
    "rights",
    "table",
]
