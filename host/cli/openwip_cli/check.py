# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip check COMMAND ...: what is wrong with the options of these commands, or with the files
that they name, is reported before anything is installed or built. The module of each command has
the function that checks its options."""

from .__main__ import load
from .errors import VALID
from .machine.places import Places

# command -> module, and its function (arguments, places), which raises Stop
CHECKS = {
    "demo": "runs.options:check_demo",
    "emulate": "runs.options:check_emulate",
    "station": "runs.station_options:check",
    "experiment": "campaign.options:parse",
    "campaign": "campaign.options:parse_campaign",
}


def main(arguments: list[str], places: Places) -> int:
    command, *rest = arguments
    load(CHECKS[command])(rest, places)
    return VALID
