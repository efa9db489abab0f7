# SPDX-License-Identifier: GPL-3.0-or-later
"""A small experiment with every application, and what has to be there to run it."""

import pathlib

from demo_support import TOP, environment
from openwip_cli.campaign import store

DEFAULTS = TOP / "flowgraphs" / "scenarios" / "experiments" / "defaults.yaml"
SMALL = f"""
title: every application
defaults: {DEFAULTS}
grid: {{workload: [tcp, voip, flows], channel: jakes}}
full: {{realisations: 1, duration_s: 2, flows: [{{kb: 1, times: 3}}, {{kb: 100, times: 2}}]}}
quick: {{}}
figures:
  - {{name: small, number: 0, kind: bars, x: workload, series: channel, metric: frame_error_rate}}
statements:
  - {{id: fer, source: here, says: frames fail on a fading channel, kind: value, metric: frame_error_rate, where: {{workload: tcp}}, least: 0.01}}
"""


def built():
    return pathlib.Path(environment()["OPENWIP_BUILD"], "host/emulator/wip_emulator").exists()


def runs_of(out):
    """The results that the runs of this folder wrote."""
    return list(store.Store(pathlib.Path(out)).every().values())
