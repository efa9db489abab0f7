# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements of the literature, as checks on the results. A statement of an experiment file:

  - {id: adaptive, says: "adaptive modulation beats every fixed level", kind: above, ...}

`kind` names a function here. `averaged`: settings over which the metric is averaged before. Each
looks at one or more cases (for_each: {channel: [jakes, winner]}) and gives for each a Finding: what
was measured, whether the statement holds for it, and whether the 95 % interval excludes the other
answer. A statement holds when all its cases do. A case whose points were not measured (the quick
grid is smaller) is left out; a statement without a case is `not measured`."""

import collections
import dataclasses
import enum
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ..errors import BadInput, not_valid, shown
from ..figures import estimates
from ..settings.command_line import read
from ..settings.kinds import Integer, Kind, Real
from .grid import Point
from .metrics import Results
from .plan import Experiment
from .settings import SETTINGS

Case: TypeAlias = dict[str, Any]  # settings, by their names
Statement: TypeAlias = dict[str, Any]  # OF_EACH, OF_KIND


@dataclasses.dataclass(frozen=True)
class Finding:
    text: str
    holds: bool
    sure: bool


class Holds(str, enum.Enum):
    """Whether a statement holds; the values are what tables and comparison.json say."""

    YES = "yes"
    YES_NOT_SURE = "yes (not sure)"
    NO = "no"
    NO_NOT_SURE = "no (not sure)"
    NOT_MEASURED = "not measured"

    def __str__(self) -> str:
        return self.value

    def __format__(self, format_spec: str) -> str:
        return format(self.value, format_spec)

    @property
    def is_yes(self) -> bool:
        return self in (Holds.YES, Holds.YES_NOT_SURE)

    @property
    def is_no(self) -> bool:
        return self in (Holds.NO, Holds.NO_NOT_SURE)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    id: str
    says: str
    source: str
    measured: str
    holds: Holds
    note: str
    # runs without a value, of the points that it is about: why -> how many
    lacking: dict[str, int] = dataclasses.field(default_factory=dict)


def cases(check: Statement) -> Iterator[tuple[str, Case]]:
    """(label, settings) of each combination of for_each."""
    each = check.get("for_each", {})
    names = list(each)
    for values in itertools.product(*each.values()):
        yield " ".join(str(v) for v in values), dict(zip(names, values))


def _verdict(comparisons: Iterable[tuple[bool, bool]]) -> tuple[bool, bool]:
    """The result of several statements, each (holds, sure): all have to hold, and are then sure
    when all are; among those that do not hold one is enough."""
    each = list(comparisons)
    holds = all(h for h, _ in each)
    return holds, all(s for _, s in each) if holds else any(s for h, s in each if not h)


def _limits(estimate: estimates.Estimate, check: Statement) -> tuple[bool, bool]:
    """(holds, sure) of least <= value <= most."""
    least, most = check.get("least", -math.inf), check.get("most", math.inf)
    holds = least <= estimate.mean <= most
    return holds, all(estimate.excludes(x) for x in (least, most))


def _above_0(differences: Iterable[estimates.Estimate]) -> tuple[bool, bool]:
    return _verdict((d.mean > 0, d.excludes(0)) for d in differences)


def _number(estimate: estimates.Estimate, check: Statement) -> str:
    scale, digits, unit = check.get("scale", 1), check.get("digits", 2), check.get("unit", "")
    return estimates.Estimate(estimate.mean * scale, estimate.half * scale, estimate.n).text(
        digits, unit
    )


def value(results: Results, check: Statement, case: Case) -> Finding:
    """The metric at a point lies between least and most."""
    e = estimates.estimate(
        results.values(results.one(check.get("where", {}) | case), check["metric"]).values()
    )
    return Finding(_number(e, check), *_limits(e, check))


def covers(results: Results, check: Statement, case: Case) -> Finding:
    """The metric's interval at a point holds `expect`."""
    e = estimates.estimate(
        results.values(results.one(check.get("where", {}) | case), check["metric"]).values()
    )
    return Finding(_number(e, check), e.covers(check["expect"]), not math.isnan(e.half))


def ratio(results: Results, check: Statement, case: Case) -> Finding:
    """The metric at `a` over that at `b`, `times` that where the literature does so, lies between
    least and most."""
    a, b = (
        results.values(results.one(end | case), check["metric"]) for end in (check["a"], check["b"])
    )
    e, times = estimates.ratio(a, b), check.get("times", 1)
    e = estimates.Estimate(e.mean * times, e.half * times, e.n)
    return Finding(
        f"{f'{times} * ' if times != 1 else ''}{estimates.estimate(a.values()).text()} /"
        f" {estimates.estimate(b.values()).text()} = {e.text(3)}",
        *_limits(e, check),
    )


def above(results: Results, check: Statement, case: Case) -> Finding:
    """The metric is higher at `a` than at `b`, and for `b_each` than at every one of them: the
    closest is shown. `at_each` repeats it over other settings."""
    metric = check["metric"]
    found: list[tuple[float, estimates.Estimate, str]] = []
    others = [
        check.get("b", {}) | dict(zip(check.get("b_each", {}), v))
        for v in itertools.product(*check.get("b_each", {}).values())
    ]
    at = check.get("at_each", {})
    for place in (dict(zip(at, v)) for v in itertools.product(*at.values())):
        try:
            a = results.values(results.one(check["a"] | place | case), metric)
        except LookupError:
            continue
        for other in others:
            points = results.where(**(other | place | case))
            if len(points) != 1:
                continue
            d = estimates.difference(a, results.values(points[0], metric))
            found.append(
                (
                    d.mean / max(1e-12, estimates.estimate(a.values()).mean),
                    d,
                    ", ".join(f"{k} {v}" for k, v in (other | place).items()),
                )
            )
    if not found:
        raise LookupError("no two of the points that it compares have results")
    _, d, name = min(found, key=lambda f: f[0])
    return Finding(
        f"{'least ' if len(others) > 1 or at else ''}difference"
        f" {d.text(check.get('digits', 3), sign='+')} ({name})",
        *_above_0(d for _, d, _ in found),
    )


def gains(results: Results, check: Statement, case: Case) -> Finding:
    """The advantage of `a` over `b`, as a ratio or (`by: difference`) in the metric's unit, is
    larger at each value of `over` than at the next one of `among`: the closest is shown. `at_each`
    repeats it over other settings."""
    over, metric = check["over"], check["metric"]

    def gain(place: Case) -> dict[int, float]:
        a, b = (
            results.values(results.one(end | place | case), metric)
            for end in (check["a"], check["b"])
        )
        return {
            r: a[r] - b[r] if check.get("by") == "difference" else a[r] / b[r]
            for r in set(a) & set(b)
            if check.get("by") == "difference" or b[r]
        }

    compared: list[tuple[estimates.Estimate, str]] = []
    at = check.get("at_each", {})
    for place in (dict(zip(at, v)) for v in itertools.product(*at.values())):
        found = {}
        for v in check["among"]:
            try:
                found[v] = gain(place | {over: v})
            except LookupError:
                continue
        for (v, here), (w, there) in itertools.pairwise(found.items()):
            if not set(here) & set(there):
                continue
            compared.append(
                (
                    estimates.difference(here, there),
                    ", ".join(f"{k} {x}" for k, x in (place | {over: f"{v} and {w}"}).items()),
                )
            )
    if not compared:
        raise LookupError("no two of the points that it compares have results")
    d, name = min(compared, key=lambda c: c[0].mean)
    return Finding(
        f"least difference of gains {d.text(check.get('digits', 3), sign='+')} ({name})",
        *_above_0(d for d, _ in compared),
    )


def best(results: Results, check: Statement, case: Case) -> Finding:
    """Over one setting the metric is highest where `expect` says."""
    over, metric, among = check["over"], check["metric"], check["among"]
    found = {}
    for v in among:
        points = results.where(**(check.get("where", {}) | case | {over: v}))
        if len(points) == 1:
            found[v] = results.values(points[0], metric)
    if len(found) < 2 or check["expect"] not in found:
        raise LookupError("fewer than two of its points have results, or the expected one has none")
    means = {v: estimates.estimate(x.values()).mean for v, x in found.items()}
    order = sorted(means, key=means.__getitem__, reverse=True)
    return Finding(
        f"{order[0]} ({means[order[0]]:.2f}), then {order[1]} ({means[order[1]]:.2f})",
        *_above_0(
            estimates.difference(found[check["expect"]], x)
            for v, x in found.items()
            if v != check["expect"]
        ),
    )


def disjoint(results: Results, check: Statement, case: Case) -> Finding:
    """The intervals of the metric at `a` and `b` do not overlap, for every argument of the metric
    in `over`."""
    a, b = (results.one(end | case) for end in (check["a"], check["b"]))
    texts, every = [], True
    for argument in check["over"]:
        metric = f"{check['metric']}:{argument}"
        x, y = (estimates.estimate(results.values(p, metric).values()) for p in (a, b))
        if x.n < 2 or y.n < 2:
            raise LookupError(
                f"its intervals need two realisations of each point, and one has {min(x.n, y.n)}"
            )
        disjoint_all = estimates.disjoint(x, y)
        every &= disjoint_all
        texts.append(
            f"{argument}: {_number(x, check)} / {_number(y, check)}{'' if disjoint_all else ' (overlap)'}"
        )
    return Finding("; ".join(texts), every, True)


def crossing(results: Results, check: Statement, case: Case) -> Finding:
    """a - b is positive at the lowest value of a setting and negative at `until`: somewhere between
    they cross."""
    over, metric = check["over"], check["metric"]
    points = {}
    for p in results.where(**(check.get("where", {}) | case | check["a"])):
        other = results.where(**(check.get("where", {}) | case | check["b"] | {over: p[over]}))
        if len(other) == 1 and p[over] <= check["until"]:
            points[p[over]] = estimates.difference(
                results.values(p, metric), results.values(other[0], metric)
            )
    xs = sorted(points)
    if len(xs) < 2 or xs[-1] != check["until"]:
        raise LookupError(f"too few values of {over} up to {check['until']} have results")
    first, last = points[xs[0]], points[xs[-1]]
    at = next(
        (
            x0 + (x1 - x0) * points[x0].mean / (points[x0].mean - points[x1].mean)
            for x0, x1 in itertools.pairwise(xs)
            if points[x0].mean > 0 >= points[x1].mean
        ),
        None,
    )
    text = f"{first.text(3, sign='+')} at {xs[0]:g}, {last.text(3, sign='+')} at {xs[-1]:g}" + (
        f", crossing at {at:.3f}" if at is not None else ""
    )
    return Finding(
        text, *_verdict([(first.mean > 0, first.excludes(0)), (last.mean < 0, last.excludes(0))])
    )


def _along(results: Results, check: Statement, case: Case, fewest: int) -> list[Point]:
    """In the order of the setting that it is over, `among` these of its values."""
    over, low, high = check["over"], check.get("least_x", -math.inf), check.get("most_x", math.inf)
    points = [
        p
        for p in results.where(**(check.get("where", {}) | case))
        if p[over] in check.get("among", [p[over]]) and low <= p[over] <= high
    ]
    if len(points) < fewest:
        raise LookupError(f"{len(points)} of its points have results, and it needs {fewest}")
    return sorted(points, key=lambda p: p[over])


def spread(results: Results, check: Statement, case: Case) -> Finding:
    """Over one setting the metric changes by no more than `most` of its largest value."""
    over, metric, points = check["over"], check["metric"], _along(results, check, case, 2)
    found = {p[over]: results.values(p, metric) for p in points}
    means = {x: estimates.estimate(v.values()).mean for x, v in found.items()}
    top, bottom = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    e = estimates.ratio(found[bottom], found[top])
    change = 1 - e.mean
    return Finding(
        f"{means[bottom]:.2f} to {means[top]:.2f} ({change:.1%} ± {e.half:.1%})",
        change <= check["most"],
        not math.isnan(e.half) and abs(change - check["most"]) > e.half,
    )


def _goes_one_way(results: Results, check: Statement, case: Case, way: int) -> Finding:
    found = [results.values(p, check["metric"]) for p in _along(results, check, case, 2)]
    means = [estimates.estimate(v.values()).mean for v in found]
    slack = check.get("slack", 0.0) * max(means)
    ups = [
        estimates.difference(*((b, a) if way > 0 else (a, b)))
        for a, b in (*itertools.pairwise(found), (found[0], found[-1]))
    ]
    return Finding(
        (" > " if way > 0 else " < ").join(f"{m:.3g}" for m in means),
        *_verdict(
            [
                *((d.mean <= slack, d.excludes(slack)) for d in ups[:-1]),
                (ups[-1].mean < 0, ups[-1].excludes(0)),
            ]
        ),
    )


def falls(results: Results, check: Statement, case: Case) -> Finding:
    """Over one setting the metric never rises by more than `slack` of its largest value, and falls
    from end to end."""
    return _goes_one_way(results, check, case, 1)


def rises(results: Results, check: Statement, case: Case) -> Finding:
    """The same as `falls`, for a metric that rises."""
    return _goes_one_way(results, check, case, -1)


def flattens(results: Results, check: Statement, case: Case) -> Finding:
    """Over one setting what a further unit of it adds to the metric, as a share of what there was,
    never grows, nor is less than nothing."""
    over, metric, points = check["over"], check["metric"], _along(results, check, case, 3)
    found = [results.values(p, metric) for p in points]

    def growth(values: list[float]) -> list[float]:
        return [
            (b / a - 1) / (q[over] - p[over]) if a else math.inf
            for a, b, p, q in zip(values, values[1:], points, points[1:])
        ]

    means = [estimates.estimate(v.values()).mean for v in found]
    steps = growth(means)
    each = [
        g
        for r in found[0]
        if all(r in v for v in found)
        and all(map(math.isfinite, g := growth([v[r] for v in found])))
    ]

    def verdict(holds: bool, values: list[float]) -> tuple[bool, bool]:
        """Sure when the realisations, each with a growth of its own, say the same."""
        return (
            holds,
            len(values) > 1
            and (e := estimates.estimate(values)).excludes(0)
            and (e.mean > 0) == holds,
        )

    unit = SETTINGS[over].unit
    return Finding(
        f"{' < '.join(f'{m:.3g}' for m in means)}: {', '.join(f'{100 * s:+.0f}' for s in steps)} %"
        f" a{' ' + unit if unit else ' step'}",
        *_verdict(
            [
                *(
                    verdict(b <= a, [g[n] - g[n + 1] for g in each])
                    for n, (a, b) in enumerate(itertools.pairwise(steps))
                ),
                verdict(steps[-1] >= 0, [g[-1] for g in each]),
            ]
        ),
    )


def padhye_mbps(
    loss: float,
    rtt_s: float,
    rto_s: float = 0.2,
    window_bytes: int = 64096,
    packet_bytes: int = 1500,
    acked: int = 2,
) -> float:
    """Throughput of TCP Reno at a loss rate (equation 6.2 of Alfredsson 2012; Padhye and others
    2000, equation 32). With packets of 1500 bytes it gives the column of the former (3.33, 2.05,
    1.48 Mbit/s at 26.7 ms)."""
    limit = window_bytes * 8 / rtt_s
    if loss <= 0:
        return limit / 1e6
    rate = 1 / (
        rtt_s * math.sqrt(2 * acked * loss / 3)
        + rto_s * min(1, 3 * math.sqrt(3 * acked * loss / 8)) * loss * (1 + 32 * loss**2)
    )
    return min(limit, rate * packet_bytes * 8) / 1e6


def model(results: Results, check: Statement, case: Case) -> Finding:
    """Throughput over the model's at the round-trip time that TCP itself had."""
    point = results.one(check["where"] | case)
    measured = estimates.estimate(results.values(point, "goodput_mbps").values())
    rtts = [
        r["workload"]["rtt_ms"]
        for r in results.found[point].values()
        if r["workload"].get("rtt_ms")
    ]
    if not rtts:
        raise LookupError("no run at its point has measured a round-trip time")
    rtt = sum(rtts) / len(rtts)
    expected = padhye_mbps(point["wired_loss"], rtt / 1000)
    e = estimates.Estimate(measured.mean / expected, measured.half / expected, measured.n)
    return Finding(
        f"{measured.text()} / model {expected:.2f} at RTT {rtt:.1f} ms = {e.text(2)}",
        *_limits(e, check),
    )


def steps(results: Results, check: Statement, case: Case) -> Finding:
    """Delays come in steps: after each retransmission delay many packets arrive within `rise_ms`,
    and hardly any between (at most `between` of the next rise)."""
    point = results.one(check["where"] | case)
    base, delay, rise = check["base_ms"], point["retransmission_delay_ms"], check["rise_ms"]

    def share(low: float, high: float) -> estimates.Estimate:
        return estimates.estimate(
            [
                results.values(point, f"voip_within:{high}")[r] - v
                for r, v in results.values(point, f"voip_within:{low}").items()
            ]
        )

    texts, holds = [], True
    for n in range(check["steps"]):
        at = base + n * delay
        here, between = share(at, at + rise), share(at + rise, at + delay)
        after = share(at + delay, at + delay + rise)
        holds &= between.mean <= check["between"] * after.mean and after.mean > 0
        texts.append(
            f"{at:g}-{at + rise:g} ms {here.mean:.1%}, to {at + delay:g} ms {between.mean:.1%}"
        )
        last = after
    texts.append(f"then {last.mean:.1%}")
    return Finding("; ".join(texts), holds, True)


KINDS = {
    f.__name__: f
    for f in (
        value,
        ratio,
        covers,
        above,
        gains,
        best,
        disjoint,
        crossing,
        spread,
        falls,
        rises,
        flattens,
        model,
        steps,
    )
}
OF_EACH = {"id", "says", "kind", "source", "note", "averaged", "for_each"}  # keys
# The keys of a statement of each kind: required, optional.
OF_KIND = {
    "value": ("metric", "where least most scale digits unit"),
    "covers": ("metric expect", "where scale digits unit"),
    "ratio": ("metric a b", "times least most"),
    "above": ("metric a", "b b_each at_each digits"),
    "gains": ("metric a b over among", "by at_each digits"),
    "best": ("metric over among expect", "where"),
    "disjoint": ("metric over a b", "scale digits unit"),
    "crossing": ("metric over a b until", "where"),
    "spread": ("metric over most", "where least_x most_x"),
    "falls": ("metric over", "where least_x slack among"),
    "rises": ("metric over", "where least_x slack among"),
    "flattens": ("metric over", "where least_x"),
    "model": ("where", "least most"),
    "steps": ("where base_ms rise_ms steps between", ""),
}


# kinds that go along a setting whose values are numbers
ALONG = ("crossing", "spread", "falls", "rises", "flattens")
NUMBERS: dict[str, Kind] = {
    **dict.fromkeys(
        "least most times scale slack least_x most_x until base_ms rise_ms between".split(),
        Real(-1e12, 1e12),
    ),
    "digits": Integer(0, 12),
    "steps": Integer(1, 999),
}


def check_statements(e: Experiment, given: Any) -> None:
    """A statement that cannot be evaluated is found before anything runs."""
    if not isinstance(given, list):
        raise BadInput(
            f"experiment file {e.path}: statements is {shown(given)}; valid: a list of mappings,"
            " each with the keys id, says and kind"
        )
    for s in given:
        if not isinstance(s, dict) or not {"id", "says", "kind"} <= set(s):
            raise BadInput(
                f"experiment file {e.path}: statements: {shown(s)} lacks the key id, says or kind;"
                " valid: a mapping with all three"
            )
        whose = f"experiment file {e.path}: statement {s['id']}"
        if (kind := str(s["kind"])) not in KINDS:
            raise not_valid(f"{whose}: kind", repr(s["kind"]), ", ".join(KINDS))
        needs, may = (keys.split() for keys in OF_KIND[kind])
        for wrong in [
            *(f"the key {key} is missing" for key in needs if key not in s),
            *(f"unknown key {key}" for key in s if key not in {*OF_EACH, *needs, *may}),
            *["the keys least and most are missing, of which one is needed"]
            * ("least" in may and not {"least", "most"} & set(s)),
        ]:
            raise BadInput(f"{whose}: {wrong}; valid for {kind}: {', '.join([*needs, *may])}")
        if s.get("by", "ratio") not in ("ratio", "difference"):
            raise not_valid(f"{whose}: by", repr(s["by"]), "ratio, difference")
        if not isinstance(over := s.get("averaged", []), list) or not all(
            isinstance(name, str) and name in SETTINGS for name in over
        ):
            raise not_valid(f"{whose}: averaged", repr(over), "a list of names of settings")
        kinds = NUMBERS | ({"expect": NUMBERS["least"]} if kind == "covers" else {})
        s |= {key: read(f"{whose}: {key}", kinds[key], s[key]) for key in kinds.keys() & s.keys()}
        for key in {"where", "a", "b", "for_each", "at_each", "b_each"} & s.keys():
            e.grid.check_chosen(f"{whose}: {key}", s[key], key.endswith("_each"))
        if "over" in s and (kind == "disjoint") != isinstance(s["over"], list):
            raise not_valid(
                f"{whose}: over",
                repr(s["over"]),
                "a list of numbers"
                if kind == "disjoint"
                else "the name of a setting that the grid varies",
            )
        if kind != "disjoint" and "over" in s:
            e.grid.check_chosen(f"{whose}: over", {str(s["over"]): s.get("among", [])}, True)
            e.grid.check_chosen(
                f"{whose}: expect", {s["over"]: s["expect"]} if kind == "best" else {}
            )
        for where in (s.get("where", {}) | case for _, case in cases(s) if kind in ALONG):
            e.grid.check_numbers(f"{whose}: over", s["over"], where, s.get("among"))


def evaluate(results: Results, statement: Statement) -> Evaluation:
    findings = []
    results = results.observed().averaged(statement.get("averaged", []))
    for label, case in cases(statement):
        try:
            findings.append((label, KINDS[statement["kind"]](results, statement, case)))
        except LookupError:
            continue
    common = {k: str(statement.get(k, "")).strip() for k in ("id", "says", "source", "note")}
    lacking = dict(collections.Counter(run.lack.value for run in results.lacking_of_used()))
    if not findings:
        return Evaluation(measured="", holds=Holds.NOT_MEASURED, lacking=lacking, **common)
    holds, sure = _verdict((f.holds, f.sure) for _, f in findings)
    measured = "; ".join(
        f"{label}: {f.text}{'' if f.holds or holds else ' (no)'}" if label else f.text
        for label, f in findings
    )
    return Evaluation(
        measured=measured,
        holds=(
            (Holds.YES if sure else Holds.YES_NOT_SURE)
            if holds
            else (Holds.NO if sure else Holds.NO_NOT_SURE)
        ),
        lacking=lacking,
        **common,
    )


def evaluate_all(results: Results) -> list[Evaluation]:
    return [evaluate(results, s) for s in results.experiment.tree["statements"]]
