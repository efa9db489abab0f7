# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop of a cell from what a radio and its computer take: the lead and the retransmission delay that follow.

A lead has two halves (docs/radios.md, A clock that does not wait): one for macd, one for modulation and transport. Each has to
survive a standstill of the machine, which shows in the reception: what one slot in 10,000 takes longer than half of them. In the
second half a slot is made, which takes up to a slot, and its burst has to leave so long before its time that one in 10,000 is late.
Beside the lead a delay holds the slot itself, its reception (the latency that one slot in 10,000 exceeds, and up to a slot of work)
and one slot for the way back. Feedback that comes over a slower network than that needs so many slots more."""
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .finding import Finding
from ..air import SLOTS_PER_SECOND
from ..settings import table
from ..settings.scenario import by_clock

SLOT_US = 1e6 / SLOTS_PER_SECOND
SHARE = 1e-4


class Loop(NamedTuple):
    lead: int       # slots
    delay: int

    @property
    def delay_ms(self) -> float:
        """Rounded down: the setting is rounded up to slots."""
        return math.floor(self.delay * SLOT_US / 10) / 100

    @property
    def flags(self) -> str:
        return f"--transmit-lead-slots {self.lead} --retransmission-delay-ms {self.delay_ms:g}"


def not_valid(loop: Loop) -> str:
    """What the settings have to say about it."""
    for key, value in (("link.retransmission_delay_ms", loop.delay_ms), ("link.transmit_lead_slots", loop.lead)):
        of = table.setting(key, "demo")
        try:
            of.kind.read(value)
        except ValueError:
            return f"longer than a loop can be ({of.flag}: {of.kind.valid})"
    return ""


def follows(burst_us: float, median_us: float, rare_us: float) -> Loop:
    """Lead of a burst; latency of half of the slots, and of all but the share that may be late."""
    half = 1 + math.ceil((burst_us + max(0.0, rare_us - median_us)) / SLOT_US)
    reception = 1 + math.ceil(max(0.0, rare_us) / SLOT_US)
    return Loop(2 * half, 2 * half + 1 + reception + 1)


def duration(us: float) -> str:
    return f"{us:.0f} us" if us < 1000 else f"{us / 1000:.2f} ms"


def of_reception(found: dict[str, Any]) -> Finding:
    r = found["receive"]
    says = (f"{duration(r['shortest_us'])} at least after its last sample, half of the slots {duration(r['median_us'])}, one in 1,000 more than "
            f"{duration(r['one_in_thousand_us'])}, one in 10,000 more than {duration(r['one_in_ten_thousand_us'])} ({r['slots']} slots)")
    if r["gaps"]:
        return Finding("a slot is in hand", says, f"samples were lost {r['gaps']} times", "what the lines above say; nothing else running")
    return Finding("a slot is in hand", says)


def of_transmission(found: dict[str, Any]) -> Finding:
    t = found["transmit"]
    all_late = [c["lead_us"] for c in t["leads"] if c["late"] == c["bursts"]]
    some = f"all are late below {duration(max(all_late))}; " if all_late else ""
    last = t["leads"][-1]
    says = f"{some}{duration(t['lead_us'])} before its time: {last['late']} of {last['bursts']} late (a share of {t['late_at_most']:.1e} at most, 95 %)"
    if t["late_at_most"] > SHARE:
        return Finding("a burst has to leave", says, "not shown for one in 10,000", "more --seconds (about 30,000 bursts are needed)")
    return Finding("a burst has to leave", says)


def findings_of_loop(found: dict[str, Any]) -> Iterator[Finding]:
    yield Finding("time of the radio", f"read in {found['time_reading_us']:.0f} us" +
                  ("" if found["realtime_priority"] else "; without real-time priority"))
    yield of_reception(found)
    yield of_transmission(found)
    if found["path_delay_us"] is None:
        yield Finding("path", f"a burst sent with gain {found['sent']['gain_db']:g} dB is not heard: no cable, or too low (--transmit-gain, "
                              "--gain; the times above need none)")
    else:
        yield Finding("path", f"a burst is received {found['path_delay_us']:.1f} us after its time")
    burst, r = found["transmit"]["lead_us"], found["receive"]
    loop = follows(burst, r["median_us"], r["one_in_ten_thousand_us"])
    often = follows(burst, r["median_us"], r["one_in_thousand_us"])     # what a verdict allows
    found["recommended"] = {"transmit_lead_slots": loop.lead, "retransmission_delay_ms": loop.delay_ms,
                            "for_one_in_thousand": {"transmit_lead_slots": often.lead, "retransmission_delay_ms": often.delay_ms}}
    defaults = by_clock("realtime")
    says = f"{loop.flags} ({loop.delay} slots) for one late slot in 10,000; {often.lead} and {often.delay_ms:g} for one in 1,000"
    usual = math.ceil(defaults["link.retransmission_delay_ms"] / 1000 * SLOTS_PER_SECOND - 1e-9)
    if why := not_valid(loop):
        yield Finding("loop", says, why, "what the lines above say: a machine that does not stand still")
    elif loop.lead > defaults["link.transmit_lead_slots"] or loop.delay > usual:
        yield Finding("loop", says, f"the default, {defaults['link.transmit_lead_slots']} and {usual} slots, is too short here", loop.flags)
    else:
        yield Finding("loop", f"{says}; the default, {defaults['link.transmit_lead_slots']} and {usual} slots, is enough")
