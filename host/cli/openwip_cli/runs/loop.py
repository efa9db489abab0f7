# SPDX-License-Identifier: GPL-3.0-or-later
"""--loop auto: lead and retransmission delay of a cell from what its radios and this machine take, measured before it is made. The
measurement is that of ./openwip doctor --loop, shorter: it shows one late slot in a thousand, which is what a verdict allows."""
from collections.abc import Callable
from typing import Any, NamedTuple

from ..cell import radio_loop, station
from ..errors import BadInput, Stop
from ..machine.places import Places
from ..settings import radios, table
from ..settings.scenario import Scenario, check_cables, check_free_running, text_of

AUTO = "auto"
SECONDS = 10.0      # of bursts and slots, at each radio
MEASURED = ("link.transmit_lead_slots", "link.retransmission_delay_ms")


class Asked(NamedTuple):
    """Of the program that opens radios."""
    radio: str
    options: tuple[str, ...]


def refuse_beside(values: dict[str, Any]) -> None:
    """`values`: given by somebody, without defaults."""
    for key in MEASURED if values.get("link.loop") == AUTO else ():
        if values.get(key) is not None:
            raise BadInput(f"{table.setting(key, 'demo').flag} is {text_of(values[key])} with --loop auto, which measures it; valid: one of the two")


def radios_of_demo(scenario: Scenario) -> dict[str, Asked]:
    """Each on its own, with a path from its transmitter to its receiver in the place of the medium."""
    of = radios.radios(scenario)
    return {role: Asked(",".join(filter(None, ("type=vusrp", of[role].arguments))), ()) for role in ("base", "terminal")}


def radios_of_base(radio: station.Radio) -> dict[str, Asked]:
    """The terminal and its computer are taken to be like the base station and this one. What it sends is what the station would."""
    antenna = (f"--transmit-antenna={radio.antenna}",) if radio.antenna else ()
    asked = Asked(radio.arguments, (f"--freq={radio.frequency:.12g}", f"--transmit-gain={radio.gain:g}", *antenna))
    return {"base": asked, "terminal": asked}


def take(wanted: Any, asked: dict[str, Asked], more_slots: int, places: Places, progress: Callable[[str], None]) -> None:
    """Into the scenario of the run's options, and what was found into their loop_found."""
    places.check_built(radio_loop.PROGRAM)
    found: dict[Asked, dict[str, Any]] = {}
    for one in dict.fromkeys(asked.values()):
        progress(f"measuring the loop of {one.radio}, {SECONDS:g} s: THIS TRANSMITS")
        found[one] = radio_loop.ask(places, "loop", one.radio, [*one.options, f"--seconds={SECONDS:g}"])
    scenario = wanted.scenario
    for rare in radio_loop.RARE:    # one standstill of 20 ms is no reason not to begin
        loop = radio_loop.of_cell(found[asked["base"]], found[asked["terminal"]], more_slots + scenario.fader_slots, rare)
        if not (why := loop.not_valid()):
            break
    if why:
        raise Stop(f"--loop auto: {loop.flags} follow from this machine, {why}; ./openwip doctor --loop says what takes so long")
    scenario.values.update(loop.settings)
    check_cables(scenario)
    check_free_running(scenario)
    wanted.loop_found = loop.settings | {role: {"radio": one.radio, "transmit": found[one]["transmit"], "receive": found[one]["receive"]}
                                         for role, one in asked.items()}
    progress(f"loop: {loop.flags} ({loop.delay} slots)")
