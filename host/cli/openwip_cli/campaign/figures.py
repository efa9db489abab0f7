# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of an experiment, laid out like those of the literature: same axes, same series, one
panel per channel where the literature has one figure per channel. Means with 95 % intervals.
Colours of Okabe and Ito, which the colour-blind can tell apart, and every series has a marker of
its own besides.

`figures` of an experiment file is a list of {name, number, kind, ...}; `kind` names a function
here."""

import contextlib
import math
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..figures import estimates, rlc_model
from ..figures.meaning import MODULATIONS
from ..machine import outputs
from ..machine.canvas import Axes, Figure, plt
from .grid import Point
from .metrics import Gone, Results, label, of_part
from .report import Drawn
from .settings import SETTINGS

Values: TypeAlias = tuple[Any, ...]  # the values of some settings
Panel: TypeAlias = tuple[Axes, dict[str, Any], str]  # axes, settings, title
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999933",
    "#882255",
)
MARKERS = "osD^vPX<>"
# Places a legend below the axes, where nothing is drawn.
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)}
QAM: dict[int | str, str] = {"adaptive": "adaptive"} | dict(enumerate(MODULATIONS))
WORDS = {
    ("allocation", "best"): "scheduled",
    ("combining", "on"): "combining (c)",
    ("combining", "off"): "no combining (a)",
    ("switch_table", "nmse_0"): "table for NMSE 0",
    ("switch_table", "nmse_0_1"): "table for NMSE 0.1",
    ("window_bytes", 0): "window tuned",
    ("window_bytes", 64096): "window 64 kB",
    ("window_bytes", 13400): "window 25 segments",
    ("rack", 0): "TCP of then",
    ("rack", 1): "TCP of today",
    ("umts.errors", 0.0): "no errors",
    ("umts.errors", 0.1): "10 % of blocks lost",
    ("timestamps", 0): "without timestamps",
    ("timestamps", 1): "timestamps",
    ("sack", 0): "no SACK",
    ("sack", 1): "SACK",
    ("dsack", 0): "no DSACK",
    ("dsack", 1): "DSACK",
    ("frto", 0): "no F-RTO",
    ("frto", 2): "F-RTO",
    ("umts.order", "as_completed"): "out of order",
    ("umts.order", "in_order"): "in order",
}


def name_of(setting: str, value: Any) -> str:
    if setting == "modulation":
        return QAM[value]
    unit = SETTINGS[setting].unit
    return WORDS.get(
        (setting, value), f"{value:g} {unit}" if unit and not isinstance(value, str) else str(value)
    )


def axis_name(setting: str) -> str:
    s = SETTINGS[setting]
    return f"{s.words} ({s.unit})" if s.unit else s.words


def as_list(names: str | list[str] | None) -> list[str]:
    return names if isinstance(names, list) else [names] if names else []


def combinations(results: Results, names: list[str], where: dict[str, Any]) -> list[Values]:
    """The combinations of some settings that have results, in the order of the grid."""
    return list(dict.fromkeys(tuple(p[n] for n in names) for p in results.where(**where)))


def numbered(
    results: Results, names: list[str], where: dict[str, Any], everywhere: dict[str, Any]
) -> list[tuple[int, Values]]:
    """Combinations with the number that gives each its colour: the same in every panel of a
    figure."""
    order = combinations(results, names, everywhere)
    return [(order.index(c), c) for c in combinations(results, names, where)]


def axes_of(
    panels: int, width: float = 5.2, height: float = 4.0, **kwargs: Any
) -> tuple[Figure, Sequence[Axes]]:
    fig, axes = plt.subplots(1, panels, figsize=(width * panels, height), squeeze=False, **kwargs)
    for a in axes[0]:
        a.grid(True, color="0.9", linewidth=0.6)
        a.set_axisbelow(True)
    return fig, axes[0]


def add_legend(panels: list[Panel], **how: Any) -> None:
    """Adds one legend for all panels, with each series once, to the axes that have most of them
    (the last of such)."""
    legends = {a: a.get_legend_handles_labels() for a, _, _ in panels}
    series = {text: drawn for each in legends.values() for drawn, text in zip(*each)}.values()
    max(reversed(legends), key=lambda a: len(legends[a][1])).legend(
        handles=list(series), fontsize=8, title_fontsize=8, **how
    )


def title_of(names: list[str]) -> str | None:
    return SETTINGS[names[0]].words if len(names) == 1 else None


def style(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.2,
    }


def each_panel(results: Results, spec: dict[str, Any], **kwargs: Any) -> tuple[Figure, list[Panel]]:
    """(axes, panel's settings, title) of every panel; then the figure."""
    panel = spec.get("panels")
    where = spec.get("where", {})
    found = list(dict.fromkeys(p[panel] for p in results.where(**where))) if panel else [None]
    fig, axes = axes_of(
        max(1, len(found)), sharey=not kwargs and spec.get("share_y", True), **kwargs
    )
    return fig, [
        (a, where | ({panel: v} if panel else {}), "" if v is None else name_of(str(panel), v))
        for a, v in zip(axes, found)
    ]


def round_trip_s(
    s: dict[str, Any], delay: Callable[[float, int, float], float] = rlc_model.packet_delay
) -> float:
    """Teyeb 2006: equation 5.8 with the retransmission delays that 5.3.4 found, in TTI; UMTS and
    internet take 165 ms."""
    ret = {50: 18, 100: 20, 150: 22}[s["umts.status_prohibit_ms"]]
    return rlc_model.round_trip(s["umts.errors"], ret, 384e3, 32e3, 0.165, delay=delay)


def download_s(s: dict[str, Any]) -> float:
    """Teyeb 2006: equation 5.14 and two round trips."""
    rtt = round_trip_s(s)
    return (
        rlc_model.download(math.ceil(s["flow_kb"] * 1000 / 1460), s["umts.errors"], rtt, 384e3)
        + 2 * rtt
    )


def packet_loss(s: dict[str, Any]) -> float:
    """The loss of a packet in four blocks, each sent so often."""
    return 1 - (1 - s["umts.errors"] ** s["umts.max_dat"]) ** 4


MODELS = {
    "download_s": download_s,
    "flow_rtt_ms": lambda s: 1000 * round_trip_s(s),
    "packet_rtt_ms": lambda s: 1000 * round_trip_s(s),
    "packet_rtt_ms_of_last_block": lambda s: 1000 * round_trip_s(s, rlc_model.last_block_delay),
    "packet_loss": packet_loss,
}


def having(
    results: Results, points: Iterable[Point], metric: str
) -> dict[Point, estimates.Estimate]:
    """The points that have the metric, with its estimate."""
    found = {}
    for p in points:
        with contextlib.suppress(LookupError):
            found[p] = estimates.estimate(results.values(p, metric).values())
    return found


def lines(results: Results, spec: dict[str, Any]) -> Figure:
    (fig, panels), top = each_panel(results, spec), dict[Axes, float]()
    x, names, metric = spec["x"], as_list(spec.get("series")), spec["metric"]
    order = sorted(
        {p[x] for p in results.planned_where(**spec.get("where", {}))},
        key=lambda v: (isinstance(v, str), v),
    )
    words = isinstance(order[-1], str)  # texts are drawn on an axis of categories
    for a, where, title in panels:
        for i, values in numbered(results, names, where, spec.get("where", {})):
            points = having(
                results,
                sorted(
                    results.where(**(where | dict(zip(names, values)))),
                    key=lambda p: order.index(p[x]),
                ),
                metric,
            )
            at, e = [order.index(p[x]) if words else p[x] for p in points], list(points.values())
            # With two or three realisations an interval may be wider than the figure, so the axis
            # is scaled by the means.
            top[a] = max(
                top.get(a, 0),
                *(1.2 * y.mean for y in e),
                *(y.high for y in e if y.half < 0.5 * y.mean),
                0,
            )
            text = ", ".join(name_of(n, v) for n, v in zip(names, values))
            a.errorbar(
                at,
                [y.mean for y in e],
                [y.half for y in e] if any(y.n > 1 for y in e) else None,
                capsize=2.5,
                label=text or None,
                **style(i),
            )
            for model, dashes in zip(as_list(spec.get("model")), ("--", ":")):
                expected = [
                    MODELS[model](results.experiment.settings | dict(p.settings)) for p in points
                ]
                a.plot(at, expected, dashes, color=style(i)["color"], linewidth=1, zorder=1)
                top[a] = max([top[a], *expected])
        a.set(
            title=title,
            xlabel=axis_name(x),
            xscale=spec.get("xscale", "linear"),
            yscale=spec.get("yscale", "linear"),
        )
        if words:
            a.set_xticks(range(len(order)), [name_of(x, v) for v in order])
        if spec.get("yscale") != "log":
            highest = (
                top.get(a, 0) if spec.get("share_y") is False else max(top.values(), default=0)
            )
            a.set_ylim(spec.get("y_from", 0), highest or 1)
    panels[0][0].set_ylabel(label(metric))
    if names:
        add_legend(
            panels,
            title=title_of(names),
            **(BELOW | {"ncol": spec["legend_columns"]} if "legend_columns" in spec else {}),
        )
    return fig


def groups_of(
    results: Results, spec: dict[str, Any], where: dict[str, Any]
) -> tuple[list[str], dict[Values, dict[int, estimates.Estimate | None]]]:
    """The names of a panel's categories, those of the grid whatever has results; then, of each
    series that the grid has there, the estimate at each category's place, None where no run of a
    point has a value. A place that the grid leaves out is in no series."""
    names, metric, x, arguments = (
        as_list(spec["series"]),
        spec["metric"],
        spec.get("x", ""),
        spec.get("categories"),
    )
    planned = results.planned_where(**where)
    if arguments:
        places, titles = (
            arguments,
            [QAM[c] if metric == "modulation_share" else str(c) for c in arguments],
        )
    else:
        places = list(dict.fromkeys(p[x] for p in planned))
        titles = [str(name_of(x, v)) for v in places]
    found: dict[Values, dict[int, estimates.Estimate | None]] = {}
    for p in planned:
        series = found.setdefault(tuple(p[n] for n in names), {})
        for place, metric_there in (
            ((i, f"{metric}:{c}") for i, c in enumerate(arguments))
            if arguments
            else [(places.index(p[x]), metric)]
        ):
            if place in series:
                raise LookupError(
                    f"several points of the grid, such as {p.text()}, have the same place in the figure"
                )
            series[place] = having(results, [p], metric_there).get(p)
    return titles, found


def bars(results: Results, spec: dict[str, Any]) -> Figure:
    """One group of bars per category (a setting, or the arguments of a metric), one bar per series.
    Where a point of the grid has no value its place is empty and says so: `missing`."""
    fig, panels = each_panel(results, spec)
    names = as_list(spec["series"])
    order = list(
        dict.fromkeys(
            tuple(p[n] for n in names) for p in results.planned_where(**spec.get("where", {}))
        )
    )
    for a, where, title in panels:
        titles, series = groups_of(results, spec, where)
        width = 0.8 / max(1, len(series))
        for i, (values, places) in enumerate(series.items()):
            number = order.index(values)
            at = {place: place + (i - (len(series) - 1) / 2) * width for place in places}
            measured = {place: e for place, e in places.items() if e is not None}
            a.bar(
                [at[place] for place in measured],
                [e.mean for e in measured.values()],
                width * 0.92,
                color=COLOURS[number % len(COLOURS)],
                edgecolor="black",
                linewidth=0.5,
                hatch=("", "//", "..", "xx")[number % 4],
                yerr=(
                    [e.half for e in measured.values()]
                    if any(e.n > 1 for e in measured.values())
                    else None
                ),
                capsize=3,
                label=", ".join(name_of(n, v) for n, v in zip(names, values)),
            )
            for place in places.keys() - measured.keys():
                a.annotate(
                    spec.get("missing", "no value"),
                    (at[place], 0),
                    (0, 2),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    rotation=90,
                    ha="center",
                    va="bottom",
                    fontsize=7,
                )
        crowded = sum(map(len, titles)) > 50
        a.set_xticks(
            range(len(titles)),
            titles,
            fontsize=8,
            **({"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}),
        )
        a.set(title=title, xlabel=spec.get("xlabel", ""), yscale=spec.get("yscale", "linear"))
    panels[0][0].set_ylabel(label(spec["metric"]))
    add_legend(panels, **(BELOW if len(order) > 6 else {}))
    return fig


def cdf(results: Results, spec: dict[str, Any]) -> Figure:
    """Share of the packets sent that arrived within a delay; mean and interval over realisations at
    each delay."""
    fig, panels = each_panel(results, spec)
    names = as_list(spec["series"])
    low, high = spec["range_ms"]
    grid = np.arange(low, high + 0.01, 0.25)
    for a, where, title in panels:
        for i, values in numbered(results, names, where, spec.get("where", {})):
            found = results.found[results.one(where | dict(zip(names, values)))]
            curves = np.array(
                [
                    np.searchsorted(np.sort(r["workload"]["delays_us"]), grid * 1000, side="right")
                    / r["workload"]["sent"]
                    for r in found.values()
                ]
            )
            e = [estimates.estimate(c) for c in curves.T]
            mean, half = np.array([x.mean for x in e]), np.nan_to_num([x.half for x in e])
            colour = COLOURS[i]
            a.plot(
                grid,
                mean,
                color=colour,
                linewidth=1.3,
                linestyle=("-", "--", ":", "-.")[i % 4],
                label=", ".join(name_of(n, v) for n, v in zip(names, values)),
            )
            a.fill_between(grid, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        a.set(title=title, xlabel="delay (ms)", ylim=(0, 1.02))
    panels[0][0].set_ylabel("share of packets arrived")
    add_legend(panels, title=title_of(names), loc="lower right")
    return fig


def surface(results: Results, spec: dict[str, Any]) -> Figure:
    """Two settings on the floor, the metric upwards."""
    fig, panels = each_panel(results, spec, subplot_kw={"projection": "3d"})
    x, y, metric = spec["x"], spec["y"], spec["metric"]
    for a, where, title in panels:
        points = having(results, results.where(**where), metric)
        xs, ys = sorted({p[x] for p in points}), sorted({p[y] for p in points})
        z = np.full((len(ys), len(xs)), np.nan)
        for p, e in points.items():
            z[ys.index(p[y]), xs.index(p[x])] = e.mean
        scale = np.log10 if spec.get("xscale") == "log" else np.asarray
        gx, gy = np.meshgrid(scale(np.array(xs, float)), np.array(ys, float))
        if np.isfinite(z).all() and min(z.shape) > 1:
            a.plot_surface(gx, gy, z, cmap="cividis", edgecolor="black", linewidth=0.4, alpha=0.9)
        else:
            a.scatter(gx.ravel(), gy.ravel(), z.ravel())
        if spec.get("xscale") == "log":
            a.set_xticks(scale(np.array(xs, float)))
            a.set_xticklabels([f"{v:g}" for v in xs])
        a.set(title=title, xlabel=axis_name(x), ylabel=axis_name(y), zlabel=label(metric))
        a.view_init(elev=25, azim=spec.get("azimuth", -130))
    return fig


def scatter(results: Results, spec: dict[str, Any]) -> Figure:
    """Delay of every packet of one run over its time of sending."""
    names = as_list(spec["series"])
    where = spec.get("where", {})
    combos = combinations(results, names, where)
    fig, axes = axes_of(len(combos), sharey=True)
    for a, values in zip(axes, combos):
        work = next(iter(results.found[results.one(where | dict(zip(names, values)))].values()))[
            "workload"
        ]
        delays = np.array(work["delays_us"]) / 1000
        # without: all arrived, in order; or the run is from before they were kept
        numbers = work.get("numbers", range(len(delays)))
        is_complete = "numbers" in work or len(delays) == work["sent"] and not work.get("reordered")
        a.plot(
            np.array(numbers) / spec["packets_per_s"], delays, ".", markersize=2.5, color=COLOURS[0]
        )
        a.set(
            title=", ".join(name_of(n, v) for n, v in zip(names, values)),
            xlabel=(
                "time of sending (s)"
                if is_complete
                else f"nth packet that arrived (n/{spec['packets_per_s']:g})"
            ),
        )
    axes[0].set_ylabel("delay (ms)")
    axes[0].set_ylim(bottom=0)
    return fig


def over_time(results: Results, spec: dict[str, Any]) -> Figure:
    """The part of a file that had arrived over the time of its download: the first of the first
    realisation, thick, and those of the others."""
    fig, panels = each_panel(results, spec)
    names = as_list(spec["series"])
    for a, where, title in panels:
        for i, values in numbered(results, names, where, spec.get("where", {})):
            point = results.one(where | dict(zip(names, values)))
            for nth, r in enumerate(results.found[point].values()):
                came = r["workload"]["flows"][str(point["flow_kb"])].get("arrived_s")
                if not came:
                    raise LookupError(
                        "the result of a run does not have the times at which the data arrived"
                    )
                a.plot(
                    [0, *came],
                    np.linspace(0, point["flow_kb"], len(came) + 1),
                    color=COLOURS[i % len(COLOURS)],
                    linewidth=0.5 if nth else 1.6,
                    alpha=0.5 if nth else 1,
                    label=None if nth else ", ".join(name_of(n, v) for n, v in zip(names, values)),
                )
        a.set(
            title=title,
            xlabel="time since the connection was asked for (s)",
            xlim=(0, None),
            ylim=(0, None),
        )
    panels[0][0].set_ylabel("arrived (kB)")
    add_legend(panels, title=title_of(names), **BELOW)
    return fig


def against(results: Results, spec: dict[str, Any]) -> Figure:
    """A metric against another one: a mark for each combination of the series, with the intervals of
    both."""
    fig, panels = each_panel(results, spec)
    names = as_list(spec["series"])
    for a, where, title in panels:
        for i, values in numbered(results, names, where, spec.get("where", {})):
            points = results.where(**(where | dict(zip(names, values))))
            across, up = (having(results, points, spec[key]) for key in ("x_metric", "metric"))
            for p in across.keys() & up.keys():
                a.errorbar(
                    across[p].mean,
                    up[p].mean,
                    None if math.isnan(up[p].half) else up[p].half,
                    None if math.isnan(across[p].half) else across[p].half,
                    capsize=2.5,
                    label=", ".join(name_of(n, v) for n, v in zip(names, values)),
                    **(style(i) | {"linestyle": "none", "linewidth": 1}),
                )
        a.set(title=title, xlabel=label(spec["x_metric"]), yscale=spec.get("yscale", "linear"))
    panels[0][0].set_ylabel(label(spec["metric"]))
    several = len(combinations(results, names, spec.get("where", {}))) > 6
    add_legend(panels, title=title_of(names), **(BELOW | {"ncol": 3} if several else {}))
    return fig


KINDS = {f.__name__: f for f in (lines, bars, cdf, surface, scatter, over_time, against)}


def draw(results: Results, folder: pathlib.Path) -> list[Drawn]:
    """Writes every figure; returns (name, number, reason why not or None). A former file of a
    figure that its runs do not give is removed; it stays if they cannot be read."""
    done: list[Drawn] = []
    everything = results
    for spec in everything.experiment.tree["figures"]:
        results = everything.averaged(as_list(spec.get("averaged")))
        # the figure's number in the literature; a user's own figure has none
        number = spec.get("number", "")
        png = folder / f"{spec['name']}.png"
        try:
            if not (shown := results.where(**spec.get("where", {}))):
                raise LookupError("no valid run of these points")
            each = [having(results, shown, metric) for metric in of_part(spec)]
            n = sorted(
                {e.n for found in each for e in found.values()}
                if each
                else {len(results.found[part]) for p in shown for part in results.parts[p]}
            )
            if not n:
                raise LookupError(f"no run has {spec['metric']}")
            fig = KINDS[spec["kind"]](results, spec)
        except LookupError as e:
            if not isinstance(e, Gone):
                png.unlink(missing_ok=True)  # an old file would be taken for this figure
            done.append((spec["name"], number, str(e)))
            continue
        experiment = results.experiment
        without = sum(p not in found for found in each for p in shown)
        source = f"as {'' if str(number).startswith('table') else 'figure '}{number}; " * bool(
            number
        )
        fig.suptitle(
            f"{experiment.name} - {spec.get('title', experiment.title)}  "
            f" [{source}{n[0]}{f' to {n[-1]}' * (n[0] < n[-1])}"
            f" realisation{'s' * (n[-1] > 1)}{f', {without} without a value' * (without > 0)}]",
            fontsize=10,
            wrap=True,
        )
        if spec["kind"] == "surface":  # tight_layout cannot place three-dimensional axes
            # room for a title of two lines and the figure's own title
            fig.subplots_adjust(top=0.82)
        else:
            fig.tight_layout()
        try:
            with outputs.replacing(png, binary=True) as out:
                fig.savefig(out, dpi=100, format="png")
        finally:
            plt.close(fig)
        done.append((spec["name"], number, None))
    return done
