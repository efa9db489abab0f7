# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of a receiver over a software channel, and the command ./openwip iq, for its tests."""

import contextlib
import io
import os
import pathlib
import sys

from gnuradio import gr, wip

from openwip_cli.errors import BadInput
from openwip_cli.iq import command, metadata

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "flowgraphs" / "apps"), str(TOP / "host" / "cli")]
import recording as apps  # flowgraphs/apps/recording.py

VALIDATOR = pathlib.Path(
    os.environ.get("OPENWIP_BUILD", TOP / "build"), "sigmf", "bin", "sigmf_validate"
)
SETTINGS = {
    "cell": -1,
    "horizon": 3,
    "combining": True,
    "start_slot": 150,
    "predictor": "delay",
    "gain_db": 0.0,
    "lowest_gain_db": 0.0,
    "highest_gain_db": 0.0,
}
SLOTS = 300


def record(base, begin_slot=-1, end_slot=-1, from_start=True, slots=SLOTS, snr_db=17):
    """A test pattern with two transmissions of each frame over fading, at an SNR at which some
    fail."""
    top = gr.top_block()
    receiver = wip.slot_receiver(**SETTINGS)
    top.connect(
        wip.slot_transmitter(nof_slots=slots, modulation=4, transmissions=2),
        wip.fading_channel(snr_db=snr_db, doppler_hz=20),
        receiver,
    )
    made = apps.Recording(
        receiver,
        {"role": "terminal", "hardware": "none", "frequency_hz": 1.8e9, "receiver": SETTINGS},
    )
    made.start(str(base), begin_slot, end_slot, from_start)
    top.run()
    made.stop()
    return metadata.complete(base, {})


def run(*arguments):
    """(exit code or what was refused, standard output)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            return command.main([str(a) for a in arguments], None), out.getvalue()
        except BadInput as e:
            return str(e), out.getvalue()
