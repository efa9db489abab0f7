# SPDX-License-Identifier: GPL-3.0-or-later
"""Markov chains from a trace of lost blocks (docs/explanation/wcdma-cells.md): the two and the three
states of Smaragdakis (2006), by maximum likelihood, each probability with its 95 % interval."""

import math
from typing import Any

import numpy

from ..errors import BadInput

NORMAL_95 = 1.959963984540054  # the normal distribution's 97.5 % quantile
SIGNIFICANT = 0.05  # level of a test: p-values below it reject independence


def wilson(hits: int, trials: int) -> dict[str, Any]:
    """A probability from counts, with Wilson's interval; without any count nothing is known."""
    if trials == 0:
        return {"value": None, "low": 0.0, "high": 1.0, "hits": 0, "of": 0}
    z2 = NORMAL_95**2
    share = hits / trials
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = (
        NORMAL_95
        / (1 + z2 / trials)
        * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    )
    return {
        "value": share,
        "low": max(0.0, middle - half),
        "high": min(1.0, middle + half),
        "hits": hits,
        "of": trials,
    }


def counts(lost: Any) -> dict[str, int]:
    """Transitions between the states C, E1 (first lost block of a burst) and E2 (a further one),
    of every user. What follows a lost block of which nobody knows whether it is a first one, at
    the beginning of a trace, is not counted."""
    before, now = lost[:-1], lost[1:]
    known = numpy.logical_or.accumulate(~lost, axis=0)  # True once some block has arrived
    first = numpy.zeros_like(lost)
    first[1:] = now & ~before
    further = lost & ~first & known
    return {
        "c": int((~before).sum()),
        "c1": int((~before & now).sum()),
        "1": int(first[:-1].sum()),
        "12": int((first[:-1] & now).sum()),
        "2": int(further[:-1].sum()),
        "22": int((further[:-1] & now).sum()),
    }


def _log_likelihood(*of: tuple[int, int]) -> float:
    """Log likelihood of the best probability for so many hits of so many draws."""
    return sum(n * math.log(n / total) for hits, total in of for n in (hits, total - hits) if n > 0)


def _p_value(likelihoods: float) -> float:
    """P value of a likelihood ratio with one degree of freedom."""
    return math.erfc(math.sqrt(max(0.0, likelihoods)))


def error_rate(lost: Any) -> dict[str, Any]:
    """The share of lost blocks. Its interval is that of a ratio over the cycles of a burst and the
    blocks that arrive behind it, which are independent in either chain."""
    share = float(lost.mean())
    bursts, lengths = [], []
    for column in lost.T:
        starts = numpy.flatnonzero(column[1:] & ~column[:-1]) + 1
        if len(starts) > 1:
            sums = numpy.add.reduceat(column[: starts[-1]].astype(numpy.int64), starts[:-1])
            bursts.append(sums)
            lengths.append(numpy.diff(starts))
    cycles = sum(map(len, bursts))
    if cycles < 2:
        return {"value": share, "low": 0.0, "high": 1.0, "cycles": cycles}
    b, n = numpy.concatenate(bursts), numpy.concatenate(lengths)
    residual = b - share * n
    half = (
        NORMAL_95 * math.sqrt(float((residual**2).sum()) * cycles / (cycles - 1)) / float(n.sum())
    )
    return {
        "value": share,
        "low": max(0.0, share - half),
        "high": min(1.0, share + half),
        "cycles": cycles,
    }


def rate_of_chain3(p_c1: float, p_12: float, p_22: float) -> float:
    """P(E) of the stationary chain (Smaragdakis's formula for pC1, solved for P(E))."""
    weight = p_c1 * (1 - p_22 + p_12) / (1 - p_22) if p_22 < 1 else math.inf
    return weight / (1 + weight) if math.isfinite(weight) else 1.0


def fit(lost: Any) -> dict[str, Any]:
    """`lost`: booleans, blocks x users."""
    blocks, users = lost.shape
    if not lost.any() or lost.all():
        raise BadInput(
            f"{'all' if lost.any() else 'none'} of the {lost.size} blocks of the trace are lost;"
            " valid: a trace in which some blocks arrive and some are lost"
        )
    n = counts(lost)
    if n["c1"] == 0 or n["1"] == 0:
        raise BadInput(
            "the trace has no loss that follows an arrived block and has a block after it, so no"
            " transition probability can be estimated; valid: a longer trace"
        )
    errors, again = n["1"] + n["2"], n["12"] + n["22"]
    p_c1, p_ee = wilson(n["c1"], n["c"]), wilson(again, errors)
    p_12, p_22 = wilson(n["12"], n["1"]), wilson(n["22"], n["2"])
    from_good, from_lost = (n["c1"], n["c"]), (again, errors)
    two = _log_likelihood(from_good, from_lost)
    one = _log_likelihood((n["c1"] + again, n["c"] + errors))
    three = _log_likelihood(from_good, (n["12"], n["1"]), (n["22"], n["2"]))
    p_independent, p_third_state = _p_value(two - one), _p_value(three - two)
    kind = "independent"
    if p_independent < SIGNIFICANT:
        kind = "clustered" if p_ee["value"] > p_c1["value"] else "isolated"
    second = p_22["value"] if p_22["value"] is not None else 0.0
    rate = error_rate(lost)
    rate_of_chain2_fit = p_c1["value"] / (p_c1["value"] + 1 - p_ee["value"])
    rate_of_chain3_fit = rate_of_chain3(p_c1["value"], p_12["value"], second)
    return {
        "blocks": int(lost.size),
        "users": users,
        "lost": int(lost.sum()),
        "error_rate": rate,
        "kind": kind,
        "independence": {"p_value": p_independent},
        "chain2": {"p_ce": p_c1, "p_ee": p_ee, "error_rate": rate_of_chain2_fit},
        "chain3": {"p_c1": p_c1, "p_12": p_12, "p_22": p_22, "error_rate": rate_of_chain3_fit},
        "third_state": {"p_value": p_third_state, "needed": p_third_state < SIGNIFICANT},
        "settings": {
            "chain2": {
                "umts.error_model": "markov2",
                "umts.errors": round(rate_of_chain2_fit, 9),
                "umts.error_burst": round(1 / (1 - p_ee["value"]), 9)
                if p_ee["value"] < 1
                else None,
            },
            "chain3": {
                "umts.error_model": "chain3",
                "umts.errors": round(rate_of_chain3_fit, 9),
                "umts.error_p12": round(p_12["value"], 9),
                "umts.error_p22": round(second, 9),
            },
        },
    }


def text_of(result: dict[str, Any], file: str) -> str:
    """The text that the command prints."""

    def interval_text(p: dict[str, Any]) -> str:
        if p["value"] is None:
            return "unknown (it never came to that)"
        return f"{p['value']:.5f} ({p['low']:.5f} to {p['high']:.5f})"

    def p_text(value: float) -> str:
        return f"p {value:.2g}" if value > 1e-300 else "p below 1e-300"

    two, three = result["chain2"], result["chain3"]
    settings = result["settings"]["chain3"]
    third_state = result["third_state"]
    lines = [
        f"{file}: {result['lost']} of {result['blocks']} blocks lost,"
        f" {result['users']} user{'' if result['users'] == 1 else 's'}",
        f"  P(E)        {interval_text(result['error_rate'])}",
        (
            f"  losses are {result['kind']}: P(E|E) {interval_text(two['p_ee'])}, P(E|C) {interval_text(two['p_ce'])}"
            f" ({p_text(result['independence']['p_value'])})"
        ),
        f"  two states    pCE {interval_text(two['p_ce'])}, pEE {interval_text(two['p_ee'])}",
        f"  three states  pC1 {interval_text(three['p_c1'])}, p12 {interval_text(three['p_12'])}, p22"
        f" {interval_text(three['p_22'])}",
        (
            f"  the third state is {'' if third_state['needed'] else 'not '}significant"
            f" ({p_text(third_state['p_value'])})"
        ),
        (
            "  ./openwip emulate --link umts --error-model chain3"
            f" --block-errors {settings['umts.errors']:.6g}"
            f" --error-p12 {settings['umts.error_p12']:.6g}"
            f" --error-p22 {settings['umts.error_p22']:.6g}"
        ),
    ]
    return "\n".join(lines)
