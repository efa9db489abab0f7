# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be set in a running cell, and where: the one table behind ./openwip set and get and, as JSON, for other
programs (docs/controls.md).

A key is the key of the scenario file. Its process is asked under the process's own key. Type, range and help are
those of the scenario's table (scenario.SETTINGS, emulator.SETTINGS); what exists in a running cell only stands here.
A key that cannot change has a reason instead of a process that takes it."""
import dataclasses
from typing import Any

from ..errors import BadInput
from . import emulator, scenario as scenarios
from .scenario import Choice, Integer, Real, Setting

OWN = "own"   # speed: what the channel says itself


class Blackout:
    words, low, high = ("on", "off"), 1, 600000
    valid = "on|off|1..600000 ms"

    def read(self, value: Any) -> Any:
        if isinstance(value, bool) or value in self.words:
            return Choice(*self.words).read(value)
        return Real(self.low, self.high).read(value)


class Speed:
    words, low, high = (OWN,), 0, 500
    valid = f"0..500|{OWN}"

    def read(self, value: Any) -> Any:
        return OWN if value in (OWN, None) else Real(self.low, self.high).read(value)


# --- of a running cell only ---

BLACKOUT = Setting("channel.blackout", None, Blackout(), "off",
                   "the signal is gone (100 dB less): until it is switched off, or for so many ms")
ERRORS = Setting("channel.errors", None, Choice("symbols", "computed", "none"), "symbols",
                 "frame errors: noise on every symbol, drawn from the computed probability, or none")
SCHEDULING = Setting("scheduling.method", None, Choice("one_terminal"), "one_terminal", "who gets which bin")
SAMPLES = [Setting(f"telemetry.{station}_slot_every", None, Integer(0, 1500000), 15,
                   f"{station}: a sample of every nth slot on topic slot; 0: none") for station in ("base", "terminal")]

# Values in a running cell where they are others than before it.
RUNNING_KINDS = {"channel.speed_kmh": Speed(), "channel.model": scenarios.CHANNELS,
                 "channel.prediction_nmse": Real(0, 0.5)}
UNITS = {"link.bins": "bins", "link.modulation": "bit/symbol", "link.max_retransmissions": "retransmissions",
         "link.retransmission_delay_ms": "ms", "link.queue_packets": "packets", "channel.snr_db": "dB",
         "channel.speed_kmh": "km/h", "channel.shadowing": "dB", "channel.users_db": "dB", "channel.bins_db": "dB",
         "channel.blackout": "ms", "uplink.kbps": "kbit/s", "uplink.delay_slots": "slots",
         "uplink.queue_packets": "packets", "wired.delay_ms": "ms", "wired.uplink_delay_ms": "ms",
         "wired.rate_kbps": "kbit/s", "wired.uplink_rate_kbps": "kbit/s", "wired.queue_packets": "packets",
         "pacing_limit_ms": "ms", "air.pacing_limit_ms": "ms", "traffic.duration_s": "s",
         "traffic.tcp_window_kb": "KiB", "traffic.udp_mbps": "Mbit/s",
         "telemetry.base_slot_every": "slots", "telemetry.terminal_slot_every": "slots"}

BASE = ("link.bins", "link.modulation", "link.allocation", "link.switch_table", "link.max_retransmissions",
        "link.retransmission_delay_ms")
UPLINK = ("uplink.kbps", "uplink.delay_slots", "uplink.loss", "uplink.feedback_loss", "uplink.queue_packets")
MEDIUM = ("channel.model", "channel.snr_db", "channel.speed_kmh", "channel.shadowing", "channel.blackout")

# key -> process
OWNERS = {
    "demo": dict.fromkeys(BASE, "base") | dict.fromkeys(UPLINK, "terminal")
    | dict.fromkeys((*MEDIUM, "channel.user"), "air")
    | {"link.combining": "terminal", "phy.predictor": "terminal"}
    | {s.key: s.key.split(".")[1].split("_")[0] for s in SAMPLES},
    "emulate": dict.fromkeys((*BASE, "link.combining"), "base") | dict.fromkeys(UPLINK, "terminal")
    | dict.fromkeys((*MEDIUM, "channel.errors", "channel.users_db", "channel.bins_db", "channel.prediction_nmse",
                     "scheduling.method"), "air")
    | {s.key: s.key.split(".")[1].split("_")[0] for s in SAMPLES},
}

LAUNCHER = "it is the launcher's, which has read it; start a run with it"
FORMAT = "both ends agree on it at the start, and frames on the way are in it"
NO_CHANGE = {
    "impairments": "the receiver's samples have been made with it from the start",
    "link.packing": FORMAT, "link.order": FORMAT, "link.deliver_corrupt": FORMAT, "link.profile": FORMAT, "link.tcp_l": FORMAT,
    "link.queue_packets": "packets that wait would have to be dropped by nobody's fault",
    "phy.gain_control": "the radio was opened with it",
    "seed": "channel, noise and losses are functions of it from the first sample",
    "air.speed": "the verdict compares air time and wall clock at one pace",
    "air.pacing_limit_ms": "slots have been judged by it", "pacing_limit_ms": "slots have been judged by it",
    "scheduling.method": "a demo has one terminal, and it gets every bin; the emulator has several (--terminals)",
    "terminals": "their interfaces and namespaces are made at the start",
    "channel.symbol_noise": "use channel.errors = symbols or computed", "channel.error_free": "use channel.errors = none",
}


@dataclasses.dataclass
class Control:
    """One key of one kind of cell."""
    key: str
    kind: Any              # reads and describes values (scenario.py)
    help: str
    unit: str
    process: str | None    # base, terminal, air; None: the launcher
    process_key: str       # dotted, in that process's effective_yaml
    why_not: str           # empty: it can change

    def check(self, text: str) -> Any:
        """Canonical text of a value. Raises BadInput."""
        if self.why_not:
            raise BadInput(f"{self.key} cannot change in a running cell: {self.why_not}")
        try:
            return text_of(self.kind.read(text))
        except (ValueError, TypeError, OverflowError):
            raise BadInput(f"{self.key} = {text}: not valid; valid: {self.kind.valid}") from None

    def describe(self) -> dict[str, Any]:
        """For programs that make an editor of it."""
        kind = self.kind.kind if isinstance(self.kind, scenarios.Optional) else self.kind
        words = list(getattr(kind, "words", getattr(kind, "names", ())))
        if isinstance(kind, scenarios.Modulation):
            words = ["adaptive", *map(str, range(1, 9))]
        elif isinstance(kind, (scenarios.Shadowing, emulator.Shadowing)):
            words = ["on", "off"] + ["as_defined"] * isinstance(kind, emulator.Shadowing)
        low, high = getattr(kind, "low", None), getattr(kind, "high", None)
        if isinstance(kind, emulator.Shadowing):
            low, high = scenarios.Shadowing.low, scenarios.Shadowing.high
        type_ = ("choice" if words and low is None else "number_or_word" if words else
                 "integer" if isinstance(kind, Integer) else "real" if low is not None else "text")
        return {"key": self.key, "process": self.process, "process_key": self.process_key, "type": type_,
                "words": words, "low": low, "high": high, "valid": kind.valid, "unit": self.unit, "help": self.help,
                "changeable": not self.why_not, "why_not": self.why_not}


def text_of(value: Any) -> str:
    """A value as the processes write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, (list, tuple)):
        return ",".join(f"{v:g}" for v in value)
    return "" if value is None else str(value)


def process_key(kind_of_cell: Any, key: str) -> Any:
    if key.startswith("telemetry."):
        return "telemetry.slot_every"
    if kind_of_cell == "demo" and key == "seed":
        return "air.seed"
    if kind_of_cell == "emulate" and key.startswith("wired."):
        name = key.removeprefix("wired.")
        return f"from_base.{name.removeprefix('uplink_')}" if name.startswith("uplink_") else f"to_base.{name}"
    return key


def owner(kind_of_cell: Any, key: str) -> Any:
    """Whose effective_yaml shows it, also when it cannot change; None: nobody's."""
    if key in OWNERS[kind_of_cell]:
        return OWNERS[kind_of_cell][key]
    group = key.split(".")[0]
    if group in ("traffic", "phy", "impairments") or key in ("channel.symbol_noise", "channel.error_free"):
        return None
    if kind_of_cell == "demo":
        return {"link": "base", "air": "air", "seed": "air"}.get(group)
    return "air"


def table(kind_of_cell: Any) -> Any:
    """All keys of a `demo` or an `emulate` cell, in the order of the scenario: {key: Control}."""
    settings = {"demo": [*scenarios.SETTINGS, BLACKOUT, SCHEDULING, *SAMPLES],
                "emulate": [*emulator.SETTINGS, BLACKOUT, ERRORS, *SAMPLES]}[kind_of_cell]
    found = {}
    for s in settings:
        changes = s.key in OWNERS[kind_of_cell]
        why = "" if changes else NO_CHANGE.get(
            s.key, LAUNCHER if s.key.startswith("traffic.") else "the process has been built with it")
        kind = RUNNING_KINDS.get(s.key, s.kind) if changes else s.kind
        found[s.key] = Control(s.key, kind, s.help, UNITS.get(s.key, ""), owner(kind_of_cell, s.key),
                               process_key(kind_of_cell, s.key), why)
    return found


def describe(kind_of_cell: Any = None) -> dict[str, Any]:
    """As JSON; of both kinds unless one is asked for."""
    kinds = [kind_of_cell] if kind_of_cell else list(OWNERS)
    return {"version": 1, "cells": {k: [c.describe() for c in table(k).values()] for k in kinds}}


def find(rows: Any, key: str) -> Any:
    """The control of a key. Raises BadInput naming what is near."""
    if key in rows:
        return rows[key]
    import difflib
    last = [k for k in rows if k.split(".")[-1] == key]
    near = last or difflib.get_close_matches(key, rows, 1)
    if near:
        raise BadInput(f"{key}: unknown key; did you mean {near[0]}?")
    group = [k for k in rows if k.startswith(key.split(".")[0] + ".")]
    raise BadInput(f"{key}: unknown key; valid: {', '.join(group or [k for k, c in rows.items() if not c.why_not])}")
