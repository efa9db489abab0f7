# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots of the page: every function takes arrays of data.py and gives a PNG, drawn in STYLE by
who calls them. Colours are of Okabe and Ito, cividis and a purple-orange scale, which readers with
any colour vision tell apart; sizes are for a projector."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy

from ...figures.checks import FACTOR_TOLERANCE
from ...figures.meaning import DELAY_PARTS, MODULATIONS
from ...machine.canvas import Axes, Figure, colors, matplotlib
from ...records.run_record import Table
from .data import HeatMap, Numbers, Series, stacked

Limits: TypeAlias = "tuple[float, float] | None"  # limits of the time axis in s

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
CYCLE = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK, YELLOW)
NOTHING = "#d9d9d9"  # colour of cells that were not recorded or are not known
OUTCOMES = (("not used", "#ffffff"), ("good", SKY), ("unknown", YELLOW), ("failed", VERMILION))
STYLE = {
    "font.size": 14,
    "axes.grid": True,
    "grid.color": "#cccccc",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.framealpha": 0.9,
    "legend.fontsize": 12,
    "lines.linewidth": 2,
    "axes.prop_cycle": matplotlib.cycler(color=CYCLE),
    "font.family": "DejaVu Sans",
}
TIME = "air time [s]"
WIDTH, LEFT, RIGHT = 13, 0.085, 0.81  # inches; edges of the axes as shares of the width
MOST_TERMINALS = 8  # terminals that colours can tell apart


def png(figure: Figure) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=100, metadata={"Software": None})
    return base64.b64encode(out.getvalue()).decode()


def _figure(height: float = 4.2, rows: int = 1, **kwargs: Any) -> tuple[Figure, Sequence[Axes]]:
    """Axes below each other. All plots have the same left and right edge, so that one time is below
    the other on the page; scales and legends are to the right of them."""
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.subplots(rows, 1, squeeze=False, **kwargs)[:, 0]
    figure.subplots_adjust(
        left=LEFT, right=RIGHT, bottom=0.72 / height, top=1 - 0.15 / height, hspace=0.08
    )
    return figure, axes


def _legend(axes: Axes, **kwargs: Any) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0, **kwargs)


def _time_limits(axes: Axes, limits: Limits) -> None:
    if limits:
        axes.set_xlim(*limits)


def _over_time(figure: Figure, axes: Axes, ylabel: str, limits: Limits, **legend: Any) -> str:
    """The end of a plot of something from 0 on."""
    axes.set(xlabel=TIME, ylabel=ylabel)
    axes.set_ylim(bottom=0)
    _time_limits(axes, limits)
    _legend(axes, **legend)
    return png(figure)


# --- heat maps ---


def _range(values: Numbers, least: float = 5.0) -> tuple[float, float]:
    known = values[numpy.isfinite(values)]
    low, high = numpy.percentile(known, (1, 99)) if len(known) else (0.0, 1.0)
    middle = (low + high) / 2
    half = max((high - low) / 2, least / 2)
    return middle - half, middle + half


def _scaled(
    heat: HeatMap,
    limits: Limits,
    norm: colors.Normalize | None,
    cmap: str,
    names: Sequence[str] | None = None,
    ylabel: str = "bin",
    **scale: Any,
) -> str:
    """A picture of an array with its colour scale; `names`: labels of the scale's ticks."""
    figure, (axes,) = _figure(3.6)
    axes.set_facecolor(NOTHING)
    picture = axes.pcolormesh(
        heat.edges,
        numpy.arange(heat.values.shape[0] + 1) - 0.5,
        heat.values,
        cmap=cmap,
        norm=norm,
        rasterized=True,
    )
    axes.grid(False)
    axes.set(xlabel=TIME, ylabel=ylabel)
    _time_limits(axes, limits)
    box = axes.get_position()
    bar = figure.colorbar(
        picture, cax=figure.add_axes((RIGHT + 0.015, box.y0, 0.018, box.height)), **scale
    )
    if names:
        bar.ax.set_yticklabels(names)
    return png(figure)


def snr(heat: HeatMap, limits: Limits = None, span: Numbers | None = None) -> str:
    """`span`: the same scale for measured, predicted and true."""
    return _scaled(
        heat,
        limits,
        colors.Normalize(*(span or _range(heat.values))),
        "cividis",
        label="SNR [dB]",
        extend="both",
    )


def error(heat: HeatMap, limits: Limits = None) -> str:
    known = numpy.abs(heat.values[numpy.isfinite(heat.values)])
    most = max(1.0, float(numpy.percentile(known, 99)) if len(known) else 1.0)
    return _scaled(
        heat,
        limits,
        colors.Normalize(-most, most),
        "PuOr_r",
        label="predicted - measured [dB]",
        extend="both",
    )


def modulation(heat: HeatMap, limits: Limits = None) -> str:
    return _scaled(
        heat,
        limits,
        colors.BoundaryNorm(numpy.arange(0.5, 9), 256),
        "cividis",
        MODULATIONS[1:],
        ticks=range(1, 9),
    )


def outcome(heat: HeatMap, limits: Limits = None) -> str:
    names, colour = zip(*OUTCOMES)
    return _scaled(
        heat,
        limits,
        colors.BoundaryNorm(numpy.arange(-0.5, 4), 4),
        colors.ListedColormap(colour),
        names,
        ticks=range(4),
    )


def allocation(heat: HeatMap, users: int, limits: Limits = None) -> str:
    """Beyond MOST_TERMINALS the colours repeat: the scale says which share one."""
    colour = [CYCLE[u % MOST_TERMINALS] for u in range(users)]
    ticks = range(0, users, 1 if users <= 10 else 3)
    return _scaled(
        heat,
        limits,
        colors.BoundaryNorm(numpy.arange(-0.5, users), users),
        colors.ListedColormap(colour),
        [f"terminal {u + 1}" for u in ticks],
        ticks=ticks,
    )


def channel(heat: HeatMap, limits: Limits = None) -> str:
    return _scaled(
        heat,
        limits,
        colors.Normalize(*_range(heat.values)),
        "cividis",
        ylabel="subcarrier",
        label="gain [dB]",
        extend="both",
    )


# --- curves ---


def goodput(link_goodput: Series, link_capacity: Series | None, limits: Limits = None) -> str:
    figure, (axes,) = _figure()
    if link_capacity is not None:
        axes.plot(
            link_capacity.t,
            link_capacity.y / 1e6,
            color=ORANGE,
            label="capacity with the\nmodulation chosen",
        )
    axes.plot(
        link_goodput.t, link_goodput.y / 1e6, color=BLUE, label="link goodput\n(acknowledged)"
    )
    return _over_time(figure, axes, "Mbit/s", limits)


def delay_split(t: Numbers, parts: Mapping[str, Numbers], limits: Limits = None) -> str:
    middle, means = stacked(t, parts)
    figure, (axes,) = _figure()
    axes.stackplot(
        middle,
        *(means[p] for p in DELAY_PARTS),
        labels=DELAY_PARTS,
        colors=(BLUE, SKY, GREEN, VERMILION, ORANGE),
        edgecolor="white",
        linewidth=0.2,
    )
    handles, labels = axes.get_legend_handles_labels()
    # The legend is in the order of the stack.
    return _over_time(
        figure, axes, "mean delay [ms]", limits, handles=handles[::-1], labels=labels[::-1]
    )


def delay_distribution(parts: Mapping[str, Numbers], total: Numbers) -> str:
    """Share of packets that took longer, so that the tail is seen."""
    figure, (axes,) = _figure(4.6)
    for name, colour in zip(DELAY_PARTS, (BLUE, SKY, GREEN, VERMILION, ORANGE)):
        _tail(axes, parts[name], color=colour, label=name, linewidth=1.5)
    _tail(axes, total, color=BLACK, label="total", linewidth=3)
    return _tails(figure, axes, len(total))


def delay_of_each(by_name: Mapping[str, Numbers]) -> str:
    """{name: delays in ms}, none of them empty."""
    figure, (axes,) = _figure(4.6)
    for (name, values), colour in zip(by_name.items(), CYCLE):
        _tail(axes, values, color=colour, label=name)
    return _tails(figure, axes, max(len(v) for v in by_name.values()))


def _tail(axes: Axes, values: Numbers, **kwargs: Any) -> None:
    values = numpy.sort(values)
    share = 1 - numpy.arange(len(values)) / len(values)
    keep = numpy.unique(
        numpy.concatenate(
            [
                numpy.linspace(0, len(values) - 1, 1500).astype(int),
                numpy.arange(max(0, len(values) - 500), len(values)),
            ]
        )
    )
    axes.plot(values[keep], share[keep], drawstyle="steps-post", **kwargs)


def _tails(figure: Figure, axes: Axes, most: int) -> str:
    axes.set(xlabel="delay [ms]", ylabel="share of packets\nthat took longer", yscale="log")
    axes.set_ylim(0.5 / most, 1.1)
    axes.set_xlim(left=0)
    _legend(axes)
    return png(figure)


def curves(
    by_name: Mapping[str, Series],
    ylabel: str,
    limits: Limits = None,
    factor: float = 1.0,
    height: float = 4.2,
    **style: Any,
) -> str:
    """{name: Series} over time, at most as many as there are colours."""
    figure, (axes,) = _figure(height)
    for (name, s), colour in zip(by_name.items(), CYCLE):
        axes.plot(s.t, factor * s.y, color=colour, label=name, **style)
    return _over_time(figure, axes, ylabel, limits)


def tcp(flows: Sequence[tuple[str, Mapping[str, Numbers], Numbers]], limits: Limits = None) -> str:
    figure, (window, times, lost) = _figure(9, 3, sharex=True)
    for (name, c, t), colour in zip(flows, CYCLE):
        window.plot(
            t,
            c["cwnd_segments"],
            color=colour,
            label=name.replace(" ", "\n", 1).replace(" to ", "\nto "),
        )
        threshold = c["ssthresh_segments"].astype("f8")
        # the slow-start threshold is not set yet
        threshold[(threshold == 0) | (threshold > 1e6)] = numpy.nan
        window.plot(t, threshold, color=colour, linestyle=":", linewidth=1.5)
        times.plot(t, c["rtt_ms"], color=colour)
        times.plot(t, c["rto_ms"], color=colour, linestyle="--", linewidth=1.2)
        lost.plot(t, c["retransmitted_segments"], color=colour, drawstyle="steps-post")
    window.set(ylabel="window [segments]\n(dotted: ssthresh)", ylim=(0, None))
    times.set(ylabel="RTT [ms]\n(dashed: RTO)", ylim=(0, None))
    most = max(1, *(c["retransmitted_segments"].max() for _, c, _ in flows))
    lost.set(ylabel="segments\nretransmitted", xlabel=TIME, ylim=(0, 1.05 * most))
    _time_limits(lost, limits)
    _legend(window)
    return png(figure)


def constellations(by_bits: dict[int, Any]) -> str:
    columns, size = 4, 3.2
    rows = -(-len(by_bits) // columns)
    figure = Figure(figsize=(WIDTH, size * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for a in axes.flat[len(by_bits) :]:
        a.set_visible(False)
    for a, (bits, z) in zip(axes.flat, by_bits.items()):
        a.plot(z.real, z.imag, ".", markersize=1.5, alpha=0.35, color=BLUE, rasterized=True)
        a.set_title(f"{MODULATIONS[bits]} ({len(z)} symbols)", fontsize=13)
        a.set_aspect("equal")
        a.set(xlim=(-2, 2), ylim=(-2, 2))
    return png(figure)


def health(t: Numbers, table: Table, limits: Limits = None) -> str:
    figure, (pacing, factor) = _figure(6, 2, sharex=True)
    for name, label, colour in (
        ("pacing_median_us", "median", SKY),
        ("pacing_p99_us", "p99", BLUE),
        ("pacing_max_us", "max", VERMILION),
    ):
        pacing.plot(t, table[name] / 1000, color=colour, label=f"slots late, {label}")
    limit = float(table["pacing_limit_us"].max(initial=0)) / 1000
    if limit:
        pacing.axhline(
            limit, color=BLACK, linestyle="--", linewidth=1.5, label=f"limit {limit:g} ms"
        )
    positive = [
        table[n][table[n] > 0].min(initial=numpy.inf)
        for n in ("pacing_median_us", "pacing_p99_us", "pacing_max_us")
    ]
    if numpy.isfinite(min(positive)):
        pacing.set_yscale("log")
    pacing.set_ylabel("behind schedule\n[ms]")
    _legend(pacing)
    # 0: the clock does not run yet
    known = numpy.where(table["real_time_factor"] > 0, table["real_time_factor"], numpy.nan)
    factor.plot(t, known, color=BLUE, label="air time / wall time")
    factor.axhspan(
        1 - FACTOR_TOLERANCE, 1 + FACTOR_TOLERANCE, color=GREEN, alpha=0.2, label="valid"
    )
    factor.set(ylabel="real-time factor", xlabel=TIME)
    factor.ticklabel_format(axis="y", useOffset=False)
    _time_limits(factor, limits)
    _legend(factor)
    return png(figure)


def cpu(
    t: Numbers,
    by_name: Mapping[str, Numbers],
    pressure: Numbers,
    cores: int | None,
    limits: Limits = None,
) -> str:
    figure, (use, wait) = _figure(6.5, 2, sharex=True, gridspec_kw={"height_ratios": (2, 1)})
    order = sorted(by_name, key=lambda n: -by_name[n].mean())
    shown, others = order[:8], order[8:]
    stack = {n: by_name[n] for n in shown}
    if others:
        stack[f"{len(others)} others"] = sum(by_name[n] for n in others)
    hatches = ("", "//", "..", "\\\\", "xx", "--", "++", "oo", "")
    layers = use.stackplot(
        t,
        *stack.values(),
        labels=list(stack),
        colors=(*CYCLE[:6], "#999999", YELLOW, "#444444"),
        edgecolor="white",
        linewidth=0.2,
    )
    for layer, hatch in zip(layers, hatches):  # nine areas: colour alone would not do
        layer.set_hatch(hatch)
    if cores:
        use.axhline(cores, color=BLACK, linestyle="--", linewidth=1.5, label=f"{cores} cores")
    use.set(ylabel="cores in use", ylim=(0, None))
    handles, labels = use.get_legend_handles_labels()
    _legend(use, handles=handles[::-1], labels=labels[::-1])
    wait.plot(t, pressure, color=VERMILION)
    if numpy.isnan(pressure).all():
        wait.text(
            0.5,
            0.5,
            "this kernel does not say (no pressure stall information)",
            transform=wait.transAxes,
            ha="center",
        )
    wait.set(ylabel="some task\nwaited [%]", xlabel=TIME, ylim=(0, None))
    _time_limits(wait, limits)
    return png(figure)
