# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of the air interface (docs/reference/air-interface.md). What the C++ side has in
blocks/types is here once more, and nowhere else."""

SAMPLE_RATE = 7_680_000  # samples/s
SLOT_SAMPLES = 5120  # samples of a slot at 7.68 MS/s
SLOTS_PER_SECOND = 1500  # a slot lasts 2/3 ms
BINS = 25  # bins of a slot
SUBCARRIERS = 500  # subcarriers of all bins together
SPECTRUM_POINTS = 768  # one for each subcarrier of the FFT
SYMBOLS_PER_BIN = 108  # payload symbols of a bin in a slot
CRC_BITS = 24  # bits of a link frame's CRC in profile `radio`
