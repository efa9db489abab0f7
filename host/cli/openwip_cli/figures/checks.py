# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of checks of a verdict. A check has a name (Check of mac/schema/telemetry.proto, in
reports in small letters), the facts that it evaluates (facts.py), and says what it finds wrong: a
sentence with its figures. It applies where its facts are known. A verdict, at the end or so far, of
whatever kind of run, is evaluate() of the facts; its reasons stand in the order of this list."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..air import SLOT_SAMPLES
from ..shapes import (
    Clipped,
    Fader,
    Finding,
    HeldBack,
    Realtime,
    ThroughRadios,
    Verdict,
)
from . import stalls, timing
from .attenuator import ANSWERS_S, WHY
from .conservation import Sums
from .facts import Facts, Heard, Lock, Overflows, Waiting

FACTOR_TOLERANCE = 0.005  # tolerance of the real-time factor
# This share of the slots, and of an emulator's packets but for one, may be released later than the
# pacing limit.
BEHIND_SHARE = 0.01
# A line without slots may release a packet this late: a fifth of the shortest time in which TCP
# reacts here.
LATEST_MS = 20.0
# This share of the samples may be clipped where a fader or a station applies the channel ahead of
# its transmitter. A terminal reports clipping in its receiver from the same share on.
CLIPPED_SHARE = 1e-4
LATE_SHARE = 1e-3  # share of the slots that may be late on a clock that does not wait
# An application may be ready and without a core for this share of the time (docs/reference/demo.md).
WAITING_LIMIT = 0.5
REMEDY = (
    "remedy: more cores for the slot path (--cores), less to compute, or sudo sysctl -w"
    " kernel.sched_rt_runtime_us=-1"
)


class Name(enum.Enum):
    REPLAY = "replay"
    START = "start"
    SURROUNDINGS = "surroundings"
    THROTTLING = "throttling"
    FADER = "fader"
    TRANSMITTER = "transmitter"
    PACING = "pacing"
    LATE_SLOTS = "late_slots"
    CLIPPING = "clipping"
    LOCK = "lock"
    OVERFLOWS = "overflows"
    SUMS = "sums"
    TELEMETRY = "telemetry"
    PEER = "peer"
    APPLICATIONS = "applications"
    TRAFFIC = "traffic"
    PAGE_FAULTS = "page_faults"
    ATTENUATOR = "attenuator"
    WIRED = "wired"
    SPLIT = "split"


# A slot path without a core cannot pass these.
TIMING = (Name.FADER, Name.PACING, Name.LATE_SLOTS, Name.LOCK, Name.OVERFLOWS)


class Wrong:
    """A sentence made from figures: one thing that a check has found."""

    def __init__(self, sentence: str, **figures: Any) -> None:
        self.words, self.figures = sentence.format(**figures), figures


class Check(NamedTuple):
    name: Name
    needs: tuple[str, ...]  # fields of Facts
    wrong: Callable[[Facts], Iterable[Wrong]]

    def applies(self, facts: Facts) -> bool:
        return all(getattr(facts, fact) is not None for fact in self.needs)


CHECKS: list[Check] = []


def check(
    name: Name, *needs: str
) -> Callable[[Callable[..., Iterator[Wrong]]], Callable[..., Iterator[Wrong]]]:
    """Adds a function of these facts to the list."""

    def add(function: Callable[..., Iterator[Wrong]]) -> Callable[..., Iterator[Wrong]]:
        def wrong(facts: Facts) -> Iterator[Wrong]:
            return function(*(getattr(facts, fact) for fact in needs))

        CHECKS.append(Check(name, needs, wrong))
        return function

    return add


def evaluate(facts: Facts) -> Verdict:
    """Valid when no check that applies has found anything."""
    checks: dict[str, bool] = {}
    findings: list[Finding] = []
    for c in CHECKS:
        if c.applies(facts):
            found = [of_finding(c.name, wrong) for wrong in c.wrong(facts)]
            checks[c.name.value] = checks.get(c.name.value, True) and not found
            findings += found
    return verdict_of(checks, findings)


def of_finding(name: Name, wrong: Wrong) -> Finding:
    return {"check": name.value, "reason": wrong.words, "figures": wrong.figures}


def verdict_of(checks: dict[str, bool], findings: list[Finding]) -> Verdict:
    return {
        "valid": not findings,
        "reasons": [f["reason"] for f in findings],
        "checks": checks,
        "findings": findings,
    }


def evaluate_also(evaluated: Verdict, facts: Facts) -> Verdict:
    """Adds to a verdict the checks of facts that are known later."""
    more = evaluate(facts)
    return verdict_of(
        evaluated["checks"]
        | {
            name: good and evaluated["checks"].get(name, True)
            for name, good in more["checks"].items()
        },
        [*evaluated["findings"], *more["findings"]],
    )


def failed(evaluated: Verdict, *names: Name) -> bool:
    """Has it failed in one of these checks?"""
    return any(not evaluated["checks"].get(name.value, True) for name in names)


# --- the list ---


@check(Name.REPLAY, "replayed")
def replay(file: str) -> Iterator[Wrong]:
    yield Wrong(
        "replay: {file}, recorded samples: nothing is transmitted, so there is no goodput",
        file=file,
    )


@check(Name.START, "begun")
def start(begun: bool) -> Iterator[Wrong]:
    if not begun:
        yield Wrong("start: the terminal has not locked yet, nothing is measured")


@check(Name.SURROUNDINGS, "noted")
def surroundings(noted: Sequence[str]) -> Iterator[Wrong]:
    """Events around the cell come first, since they are the cause of other findings."""
    for what in noted:
        yield Wrong("surroundings: {what}", what=what)


def throttling(facts: Facts) -> Iterator[Wrong]:
    """The kernel kept the slot path from its core, and that is the cause of what was late."""
    assert facts.core
    if not any(
        True for c in CHECKS if c.name in TIMING and c.applies(facts) for _ in c.wrong(facts)
    ):
        return
    stalled, share = facts.core
    held = stalled.get("held_back", HeldBack(count=0)) if stalled else HeldBack(count=0)
    used = (
        "it used {used:.0%} of its core, of which real-time processes may have {allowed:.0%}"
        if share
        else ""
    )
    if held["count"]:
        yield Wrong(
            "real-time throttling: the kernel held {whom} back {count} times, {longest_ms:.1f} ms"
            f" at longest, while it was ready{'; ' + used if used else ''}; {REMEDY}",
            whom=stalls.whom(held),
            count=held["count"],
            longest_ms=held["longest_ms"],
            **(dict(share) if share else {}),
        )
    elif share and share["used"] >= stalls.NEAR * share["allowed"]:
        yield Wrong(
            f"real-time throttling: the slot path may have been held back: {used}; {REMEDY}",
            **share,
        )


CHECKS.append(Check(Name.THROTTLING, ("core",), throttling))


@check(Name.FADER, "fader")
def fader(of: Fader) -> Iterator[Wrong]:
    """The fader's radios lost something, or its channel differed from the configured one in its own
    measurement at the start (channels/fader/sounding.h) or in that of the stations. The least lead
    is no criterion, because it is read from the computer's clock: if the medium stalled together
    with the fader, it still takes the samples. Samples that a transmitter did not get in time count
    as late or as an underflow."""
    if of["lost_samples"] + of["overflows"]:
        yield Wrong(
            "fader: {lost_samples} samples lost at its receivers ({overflows} overflows)",
            lost_samples=of["lost_samples"],
            overflows=of["overflows"],
        )
    if of["silences"]:
        yield Wrong(
            "fader: its receivers were silent {silences} times, for a second and more",
            silences=of["silences"],
        )
    if of["stalls"]:
        yield Wrong(
            "fader: its transmitters took nothing for a second, {stalls} times",
            stalls=of["stalls"],
        )
    if of["late"] + of["underflows"]:
        yield Wrong(
            "fader: samples left too late and were lost at its transmitters ({late} late,"
            " {underflows} underflows; {least_lead_ms:.2f} ms left at worst): set a longer fader.delay_samples",
            late=of["late"],
            underflows=of["underflows"],
            least_lead_ms=of["least_lead_us"] / 1000,
        )
    if not of["soundings"]:
        yield Wrong("fader: its channel was not sounded")
    for s in of["soundings"]:
        if not s["not_judged"] and not s["residual_db"] <= s["limit_db"]:
            yield Wrong(
                "fader: from {start} to {end} the channel is {residual_db:.1f} dB off the commanded"
                " one (limit {limit_db:.1f} dB)",
                start=s["from"],
                end=s["to"],
                residual_db=s["residual_db"],
                limit_db=s["limit_db"],
            )
    if of["through_radios"]:
        yield from through(of["through_radios"])


def through(found: ThroughRadios) -> Iterator[Wrong]:
    """The sentences are those of through_radios.py."""
    for words in found["wrong"]:
        yield Wrong(
            "{words}",
            words=words,
            heard=found.get("heard"),
            expected=found.get("expected"),
            residual_db=found.get("residual_db"),
        )


@check(Name.TRANSMITTER, "transmitter")
def transmitter(found: ThroughRadios) -> Iterator[Wrong]:
    yield from through(found)


@check(Name.PACING, "pacing")
def pacing(realtime: Realtime) -> Iterator[Wrong]:
    if abs(realtime["factor"] - 1) > FACTOR_TOLERANCE:
        yield Wrong(
            "pacing: real-time factor {factor:.4f}, valid: {least:g}..{most:g}",
            factor=realtime["factor"],
            least=1 - FACTOR_TOLERANCE,
            most=1 + FACTOR_TOLERANCE,
        )
    for what, late, total, allowed in (
        ("slots", realtime["slots_behind"], realtime["slots"], 0),
        ("packets", realtime["released_behind"], realtime["released"], 1),
    ):
        if late > max(allowed, BEHIND_SHARE * total):
            yield Wrong(
                "pacing: {behind} of {there} {what} were released more than {limit_ms:g} ms late"
                " (limit {share:.0%})",
                behind=late,
                there=total,
                what=what,
                limit_ms=realtime["pacing_limit_us"] / 1000,
                share=BEHIND_SHARE,
            )


@check(Name.PACING, "latest_ms")
def pacing_of_a_line(latest_ms: float) -> Iterator[Wrong]:
    if latest_ms > LATEST_MS:
        yield Wrong(
            "pacing: a packet left {latest_ms:.0f} ms late (limit {limit_ms:g} ms)",
            latest_ms=latest_ms,
            limit_ms=LATEST_MS,
        )


@check(Name.LATE_SLOTS, "slots")
def late_slots(realtime: Realtime) -> Iterator[Wrong]:
    """With a clock that waits no slot may be late. With one that runs freely a few may be; they do
    not affect what is measured."""
    late, slots = realtime["late_slots"], realtime["slots"]
    allowed = LATE_SHARE * slots if realtime["clock"] == "realtime" else 0
    if late > allowed:
        yield Wrong(
            "late: {late} slots"
            + (" of {slots} (limit {share:.1%})" if allowed else "")
            + " missed their time: {why}{stalled}",
            late=late,
            slots=slots,
            share=LATE_SHARE,
            why=timing.missed_words(realtime["missed"]),
            stalled=stalls.words(realtime.get("standstills")),
        )


@check(Name.CLIPPING, "clipped")
def clipping(interval: Clipped | Fader | Realtime) -> Iterator[Wrong]:
    """If fading exceeds the full scale of a fader's or a station's transmitter, the channel is not
    the configured one. `interval`: fading.faded(), or the measured interval."""
    clipped, samples = interval["clipped"], interval["slots"] * SLOT_SAMPLES
    if clipped > CLIPPED_SHARE * samples:
        yield Wrong(
            "clipping: {clipped} of {samples} samples of the faded signal were beyond full scale"
            " (limit {share:g}): lower the power before the channel",
            clipped=clipped,
            samples=samples,
            share=CLIPPED_SHARE,
        )


@check(Name.LOCK, "lock")
def lock(of: Lock) -> Iterator[Wrong]:
    """A lost lock makes a run invalid, unless the channel was changed by a command: then it is
    intended."""
    if of.within_s is not None:
        yield Wrong(
            "lock: the terminal did not lock within {within_s:g} s of air time",
            within_s=of.within_s,
        )
    elif of.losses and not of.asked_for:
        yield Wrong("lock: lost {losses} times", losses=of.losses)
    elif not of.locked:
        yield Wrong("lock: the terminal is not locked")


@check(Name.OVERFLOWS, "overflows")
def overflows(radio: Overflows) -> Iterator[Wrong]:
    if radio.times:
        yield Wrong(
            "late: the radio's samples overflowed {times} times{stalled}",
            times=radio.times,
            stalled=stalls.words(radio.stalls),
        )


@check(Name.SUMS, "sums")
def sums(of: Sums) -> Iterator[Wrong]:
    counts = "{packets} packets, {octets} bytes"
    against = f"{counts} against {{other_packets}} packets, {{other_octets}} bytes"
    for what, left, right in of.equal:
        if left != right:
            yield Wrong(
                f"sums: {{what}}: {against}",
                what=what,
                packets=left.packets,
                octets=left.bytes,
                other_packets=right.packets,
                other_octets=right.bytes,
            )
    for direction, path in of.across.items():
        whole = path.whole
        if whole.queued != (0, 0):
            yield Wrong(
                f"sums: {{direction}} not drained, {counts} left",
                direction=direction,
                packets=whole.queued.packets,
                octets=whole.queued.bytes,
            )
        if not all(0 <= path.surplus[i] <= path.retransmissions_exceeded[i] for i in (0, 1)):
            yield Wrong(
                "sums: {direction} from TUN to TUN, in against delivered + queued + dropped: "
                + against,
                direction=direction,
                packets=whole.came_in.packets,
                octets=whole.came_in.bytes,
                other_packets=whole.accounted.packets,
                other_octets=whole.accounted.bytes,
            )
    if not of.came_to_rest:
        yield Wrong(
            "sums: packets still passed after the traffic had ended, so what went in at one end was"
            " not compared with what came out at the other"
        )


@check(Name.TELEMETRY, "heard")
def telemetry(messages: Heard) -> Iterator[Wrong]:
    for counts, sentence in (
        (messages.lost, "telemetry: {count} messages of {publisher} lost"),
        (messages.malformed, "telemetry: {count} messages of {publisher} do not parse"),
    ):
        for publisher, count in counts.items():
            if count:
                yield Wrong(sentence, publisher=publisher, count=count)
    for publisher, count in messages.received.items():
        if not count:
            yield Wrong("telemetry: nothing came from {publisher}", publisher=publisher)
    if messages.failure:
        yield Wrong("telemetry: not watched to the end: {failure}", failure=messages.failure)
    for words in messages.gone:
        yield Wrong("{words}", words=words)
    for what in messages.silent:
        yield Wrong("control: {what} does not answer", what=what)


@check(Name.PEER, "returns")
def peer(returns: int) -> Iterator[Wrong]:
    if returns > 0:
        yield Wrong("peer: the other station left and came back {returns} times", returns=returns)
    elif returns < 0:
        yield Wrong("peer: the other station never came")


@check(Name.APPLICATIONS, "waiting")
def applications(of: Waiting) -> Iterator[Wrong]:
    """A value that is not known is no reason."""
    if of.share is not None and of.share > WAITING_LIMIT:
        yield Wrong(
            "applications: one waited for a processor core {share:.0%} of the time (limit"
            " {limit:.0%}): what they sent and received is this machine's doing, not the link's",
            share=of.share,
            limit=WAITING_LIMIT,
        )


@check(Name.TRAFFIC, "failed")
def traffic(reasons: Sequence[str]) -> Iterator[Wrong]:
    for what in reasons:
        yield Wrong("traffic: {what}", what=what)


@check(Name.PAGE_FAULTS, "page_faults")
def page_faults(faults: Mapping[str, Mapping[str, int]]) -> Iterator[Wrong]:
    """On a clock that does not wait, a process that waits for the disk makes slots late."""
    major = {name: f["major"] for name, f in faults.items() if f["major"]}
    if major:
        yield Wrong(
            "page faults: {who} for a page from the disk",
            who=", ".join(f"{name} waited {n} times" for name, n in major.items()),
            major=major,
        )


@check(Name.ATTENUATOR, "attenuator")
def attenuator(a: dict[str, Any]) -> Iterator[Wrong]:
    if a["wrong"]:
        yield Wrong("attenuator: {wrong}", wrong=a["wrong"])
    if "state" not in a:
        return
    if not a["wrong"] and a["silent_s"] > ANSWERS_S:
        yield Wrong("attenuator: it has not answered for {silent_s:.1f} s", silent_s=a["silent_s"])
    if a["steps"] and a["state"] not in ("playing", "ended"):
        yield Wrong(
            "attenuator: its playback is {state} after {played} of {steps} steps{why}",
            state=a["state"],
            played=a["played"],
            steps=a["steps"],
            why=WHY.get(a["state"], ""),
        )
    if a["steps"] and a["underflows"] + a["late"]:
        yield Wrong(
            "attenuator: {underflows} steps were not there when due, {late} came too late",
            underflows=a["underflows"],
            late=a["late"],
        )
    if a["missed_ticks"]:
        yield Wrong(
            "attenuator: its controller missed {missed_ticks} ticks",
            missed_ticks=a["missed_ticks"],
        )


@check(Name.WIRED, "wired")
def wired(facts: Facts) -> Iterator[Wrong]:
    """The same checks, of the wired network's facts."""
    for finding in evaluate(facts)["findings"]:
        yield Wrong("wired: {reason}", **finding)


@check(Name.SPLIT, "split")
def split(found: dict[str, Any]) -> Iterator[Wrong]:
    c = found["connections"]
    left = c["open"] + c["ended"] + c["reset"] + c["not_reached"]
    if left != c["split"]:
        yield Wrong(
            "split: {split} connections were split, and {accounted} are open, ended, reset or not"
            " reached",
            split=c["split"],
            accounted=left,
        )
    for name, w in found["bytes_from"].items():
        accounted = w["out"] + w["lost"] + w["held"]
        if w["in"] != accounted:
            yield Wrong(
                "split: {came} bytes came from the {name}, and {accounted} are sent, lost or held",
                name=name,
                came=w["in"],
                accounted=accounted,
            )
