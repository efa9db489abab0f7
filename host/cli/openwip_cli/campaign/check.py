# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip demo, station, emulate, experiment, campaign: what is wrong with their options is said before anything is installed or built."""
from ..errors import VALID
from ..machine import outputs, system
from ..machine.places import Places
from ..runs import options, station_options
from . import options as experiments


def main(arguments: list[str], places: Places) -> int:
    which, *rest = arguments
    if which in ("experiment", "campaign"):
        experiments.parse(rest, places)
        return VALID
    if which == "station":
        given = station_options.parse(rest)[1]
    else:
        given = (options.parse_emulate if which == "emulate" else options.parse_demo)(rest)
    outputs.check("--json", given.json)
    if not given.generator and given.time == "real":
        system.require_root()
    return VALID
