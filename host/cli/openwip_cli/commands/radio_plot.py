# SPDX-License-Identifier: GPL-3.0-or-later
"""A received spectrum as a PNG."""

from typing import Any

import numpy

from ..air import BINS, SAMPLE_RATE, SPECTRUM_POINTS, SUBCARRIERS
from ..machine import outputs
from ..machine.canvas import plt

CELL_HZ = SUBCARRIERS * SAMPLE_RATE / SPECTRUM_POINTS


def draw(file: str, found: dict[str, Any], radio: str) -> None:
    mhz = numpy.array(found["offset_hz"]) / 1e6
    fig, ax = plt.subplots(figsize=(9, 4.5))
    ax.axvspan(-CELL_HZ / 2e6, CELL_HZ / 2e6, color="0.93", label=f"where a cell's {BINS} bins are")
    ax.plot(mhz, found["most_dbfs"], color="tab:orange", lw=0.8, label="largest of 10 ms")
    ax.plot(mhz, found["mean_dbfs"], color="tab:blue", lw=1.0, label="mean")
    ax.set_xlim(mhz[0], mhz[-1])
    ax.set_xlabel(f"MHz from {found['frequency_hz'] / 1e6:g} MHz")
    ax.set_ylabel(
        "dBFS in 20 kHz"
        if found["rate_hz"] == SAMPLE_RATE
        else f"dBFS in {found['rate_hz'] / SAMPLE_RATE * 20:.1f} kHz"
    )
    ax.set_title(
        f"{radio or 'first radio'}: receive gain {found['receive_gain_db']:g} dB,"
        f" {found['antenna']}, {found['rate_hz'] / 1e6:.3f} MS/s",
        fontsize=10,
    )
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    fig.tight_layout()
    with outputs.replacing(file, binary=True) as out:
        fig.savefig(out, format="png", dpi=110)
    plt.close(fig)
