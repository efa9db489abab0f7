# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenWIP: slot transmitter and slot receiver of a 5 MHz OFDM downlink
(docs/reference/gnuradio.md)."""

from gnuradio import gr  # the base classes have to be known before the bindings load  # noqa: F401

from .wip_python import *  # noqa: F403
from .wip_python import SAMPLE_RATE, SLOT_SAMPLES


def slot_of_time(seconds):
    """Number of the slot whose first sample has the time `seconds` (a Fraction, str or number).

    ValueError when no slot begins exactly then (to the nearest sample)."""
    from fractions import Fraction

    sample = round(Fraction(seconds) * SAMPLE_RATE)
    if sample % SLOT_SAMPLES:
        raise ValueError(f"{seconds} s is no start of a slot; valid: multiples of 1/1500 s")
    return sample // SLOT_SAMPLES
