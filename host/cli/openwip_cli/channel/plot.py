# SPDX-License-Identifier: GPL-3.0-or-later
"""One PNG about a trace: heat map, spectrum of the fading, distribution, level.

A trace has powers, no phases. The spectrum of a power that fades with Clarke's Doppler spectrum is
that spectrum convolved with itself: the Fourier transform of J0(2 pi f tau)^2, which ends at 2
f."""

from typing import Any

import numpy
from scipy import constants

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput
from ..figures.prediction import linear
from ..machine import outputs
from ..machine.canvas import plt

# slots that are plotted: the first ten minutes of a longer trace
MOST_SLOTS = 600 * SLOTS_PER_SECOND
SEGMENT = 1500  # slots of a segment of the spectrum: a resolution of 1 Hz


def spectrum(g: Any) -> tuple[Any, Any]:
    """Power spectral density of the fluctuation, mean over segments and bins, area 1: Hz, 1/Hz."""
    segment = min(SEGMENT, len(g))
    window = numpy.hanning(segment)
    total = numpy.zeros(segment // 2 + 1)
    for at in range(0, len(g) - segment + 1, max(1, segment // 2)):
        part = g[at : at + segment]
        part = part / part.mean(axis=0) - 1
        total += (numpy.abs(numpy.fft.rfft(part * window[:, None], axis=0)) ** 2).mean(axis=1)
    hz = numpy.fft.rfftfreq(segment, 1 / SLOTS_PER_SECOND)
    return hz, total / max(total[1:].sum() * hz[1], 1e-30) if len(hz) > 1 else total


def clarke_spectrum(doppler: Any) -> tuple[Any, Any]:
    from scipy.special import j0

    lag = numpy.arange(SEGMENT) / SLOTS_PER_SECOND
    window = numpy.hanning(2 * SEGMENT - 1)[SEGMENT - 1 :]
    r = j0(2 * numpy.pi * doppler * lag) ** 2 * window
    hz = numpy.fft.rfftfreq(2 * SEGMENT - 1, 1 / SLOTS_PER_SECOND)
    density = numpy.fft.rfft(numpy.concatenate([r, r[:0:-1]])).real
    return hz, density / (density[1:].sum() * hz[1])


def draw(about: dict[str, Any], db: Any, file: str, heat_seconds: Any) -> None:
    """`db`: rows of SNRs, MOST_SLOTS of them or fewer."""
    g = linear(db)
    fig, ((heat, doppler), (spread, level)) = plt.subplots(2, 2, figsize=(12, 7.5))
    n = max(1, min(len(db), round(heat_seconds * SLOTS_PER_SECOND)))
    mean = about["measured"]["mean_snr_db"]
    image = heat.imshow(
        db[:n].T,
        aspect="auto",
        origin="lower",
        cmap="viridis",
        vmin=mean - 25,
        vmax=mean + 8,
        extent=(0, n / SLOTS_PER_SECOND, -0.5, 24.5),
        interpolation="nearest",
    )
    fig.colorbar(image, ax=heat, label="SNR (dB)")
    heat.set(xlabel="time (s)", ylabel="bin", title=f"{about['channel']}, seed {about['seed']}")

    hz, density = spectrum(g)
    doppler.semilogy(hz[1:], density[1:], lw=1, label="trace")
    shift = about["speed_kmh"] / 3.6 * about["carrier_hz"] / constants.c
    if shift > 0:
        f, theory = clarke_spectrum(shift)
        doppler.semilogy(
            f[1:], numpy.maximum(theory[1:], 1e-9), "--", lw=1, label=f"Clarke, {shift:.1f} Hz"
        )
        doppler.axvline(2 * shift, color="0.5", lw=0.8)
    top = density[1:].max(initial=1e-9)  # a trace of one slot has no spectrum
    doppler.set(
        xlabel="frequency (Hz)",
        ylabel="density (1/Hz)",
        ylim=(top * 1e-6, top * 3),
        title="spectrum of the SNR",
    )
    doppler.legend(fontsize=8)

    x = numpy.sort(10 * numpy.log10(g / g.mean()), axis=None)
    shown = numpy.unique(numpy.geomspace(1, len(x), 2000).astype(int)) - 1  # all of the tail
    x, y = x[shown], (shown + 0.5) / len(x)
    spread.semilogy(x, y, label="trace")
    at = numpy.linspace(-35, 12, 300)
    spread.semilogy(at, 1 - numpy.exp(-(10 ** (at / 10))), "--", lw=1, label="Rayleigh")
    spread.set(
        xlabel="SNR of a bin over the mean (dB)",
        ylabel="P(less)",
        xlim=(-35, 12),
        ylim=(1e-4, 1.2),
        title="distribution",
    )
    spread.legend(fontsize=8)

    block = max(1, min(len(g), SLOTS_PER_SECOND // 10))
    whole = len(g) // block * block
    means = g[:whole].reshape(-1, block * g.shape[1]).mean(axis=1)
    level.plot(
        (numpy.arange(len(means)) + 0.5) * block / SLOTS_PER_SECOND, 10 * numpy.log10(means), lw=1
    )
    level.axhline(mean, color="0.5", lw=0.8)
    level.set(
        xlabel="time (s)", ylabel="mean SNR of 100 ms (dB)", title=f"level, mean {mean:.2f} dB"
    )
    for a in (doppler, spread, level):
        a.grid(True, which="major", color="0.9", linewidth=0.6)
    fig.tight_layout()
    try:
        with outputs.replacing(file, binary=True) as out:
            fig.savefig(out, dpi=90, format="png")
    except OSError as e:
        raise BadInput(f"{file}: cannot be written: {e.strerror}") from None
    finally:
        plt.close(fig)
