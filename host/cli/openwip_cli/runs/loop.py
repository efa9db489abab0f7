# SPDX-License-Identifier: GPL-3.0-or-later
"""--loop auto: lead and retransmission delay of a cell, and a demo's fader's delay, from what its
radios and this machine take, measured before it is made. The measurement is that of ./openwip
doctor --loop, shorter; what it does not show is reported."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..cell import radio_loop, station
from ..errors import Stop, not_valid
from ..figures.checks import LATE_SHARE
from ..machine.places import Places
from ..settings import radios, table
from ..settings.scenario import Scenario, check_free_running, check_rules, text_of

AUTO, AS_SET = "auto", "as_set"
SECONDS = 10.0  # seconds of bursts and slots, at each radio
# seconds, including opening the radio, whose image may have to be loaded first
LIMIT_S = SECONDS + 50
MEASURED = ("link.transmit_lead_slots", "link.retransmission_delay_ms")
DELAY = "fader.delay_samples"
# The radios of a fader: one receives from the base station, one sends to the terminal.
FADER = ("fader-base", "fader-terminal")
# The shares of slots on which the loop is based: for the stations, and for a fader.
SHARES = ((radio_loop.RARE[0], radio_loop.LONGEST), *((rare, rare) for rare in radio_loop.RARE))


class Asked(NamedTuple):
    """The options of the program that opens radios."""

    radio: str
    options: tuple[str, ...]


def refuse_beside(values: dict[str, Any]) -> None:
    """Raises BadInput for a setting that --loop auto would measure. `values`: those that were
    given, without defaults."""
    for key in MEASURED if values.get("link.loop") == AUTO else ():
        if values.get(key) is not None:
            raise not_valid(
                table.setting(key, "demo").flag,
                text_of(values[key]),
                "one of the two options",
                more=" with --loop auto, which measures and sets it",
            )


def radios_of_demo(scenario: Scenario) -> dict[str, Asked]:
    """The radios of a demo, each measured alone, with a path from its transmitter to its receiver
    instead of the medium."""
    radio_of = radios.radios(scenario)
    return {
        name: Asked(",".join(filter(None, ("type=vusrp", radio.arguments))), ())
        for name, radio in radio_of.items()
    }


def radios_of_base(radio: station.Radio) -> dict[str, Asked]:
    """The terminal and its computer are taken to be like the base station and this one. What it
    sends is what the station would, but for a power, which is not asked for: how late a burst is
    does not depend on it."""
    antenna = (f"--transmit-antenna={radio.antenna}",) if radio.antenna else ()
    asked = Asked(
        radio.arguments,
        (f"--freq={radio.frequency:.12g}", f"--transmit-gain={radio.gain:g}", *antenna),
    )
    return {"base": asked, "terminal": asked}


def not_shown(found: dict[str, Any]) -> Iterator[str]:
    """The limits of this measurement of a radio, as far as a run is concerned."""
    late = found["transmit"]["late_at_most"]
    if late > LATE_SHARE:
        yield (
            f"of the bursts a share of {late:.1e} may be late (95 %), a verdict allows"
            f" {LATE_SHARE:g}"
        )
    if found["receive"]["gaps"]:
        yield f"samples were lost {found['receive']['gaps']} times"
    if not found["realtime_priority"]:
        yield "it had no real-time priority"


class Settled(NamedTuple):
    loop: radio_loop.Loop
    fader: dict[str, Any]  # settings of the fader: its delay; empty: there is no fader
    share: str  # share of the received slots on which the fader's delay is based
    why: str  # why the loop cannot be used; empty: it can

    @property
    def flags(self) -> str:
        return self.loop.flags + "".join(f" --fader-delay-samples {n}" for n in self.fader.values())


def settle(found: dict[str, dict[str, Any]], scenario: Scenario, more_slots: int) -> Settled:
    """The settings that follow from measurements of the radios, by role."""
    fader = {DELAY: scenario[DELAY]} if FADER[0] in found else {}
    # A single stall of 20 ms is no reason to refuse a run.
    for rare, share in SHARES if fader else SHARES[1:]:
        if fader:
            fader = {
                DELAY: max(
                    scenario[DELAY],
                    radio_loop.fader_samples(found[FADER[0]], found[FADER[1]], share),
                )
            }
        loop = radio_loop.of_cell(
            found["base"],
            found["terminal"],
            more_slots + scenario.replaced(fader).fader_slots,
            rare,
        )
        settled = Settled(loop, fader, share, loop.not_valid(fader))
        if not settled.why:
            break
    return settled


def take(
    wanted: Any,
    asked: dict[str, Asked],
    more_slots: int,
    places: Places,
    progress: Callable[[str], None],
) -> None:
    """Puts lead and delays into the scenario of the run's options, and what was measured into their
    loop_found. This process owns the cell, so nothing is transmitted if the cell is refused."""
    places.check_built(radio_loop.PROGRAM)
    found: dict[Asked, dict[str, Any]] = {}
    for one in dict.fromkeys(asked.values()):
        progress(f"measuring the loop of {one.radio}, {SECONDS:g} s: THIS TRANSMITS")
        found[one] = radio_loop.ask(
            places, "loop", one.radio, [*one.options, f"--seconds={SECONDS:g}"], limit_s=LIMIT_S
        )
    scenario = wanted.scenario
    loop, fader, share, why = settled = settle(
        {role: found[one] for role, one in asked.items()}, scenario, more_slots
    )
    if why:
        raise Stop(
            f"--loop auto: this machine and its radios need {settled.flags}, {why}; ./openwip doctor"
            " --loop shows what takes the time"
        )
    # so that the report's `config` shows the settings of this run
    scenario.values.update(loop.settings, **fader, **{"link.loop": AS_SET})
    check_rules(scenario)
    check_free_running(scenario)
    doubts = [
        f"{one.radio}: {doubt}" for one, measured in found.items() for doubt in not_shown(measured)
    ]
    if fader and share != radio_loop.LONGEST:
        doubts.append(
            "the fader's delay is shorter than the longest reception seen, which would make its"
            " loop too long; one piece too late is INVALID"
        )
    wanted.loop_found = (
        loop.settings
        | fader
        | {"not_shown": doubts}
        | {
            role: {
                "radio": one.radio,
                "transmit": found[one]["transmit"],
                "receive": found[one]["receive"],
            }
            for role, one in asked.items()
        }
    )
    progress(f"loop: {settled.flags} ({loop.delay} slots)")
    for doubt in doubts:
        progress(f"loop: not shown: {doubt}")
