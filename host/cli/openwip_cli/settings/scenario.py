# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a run: the table (table.py) makes the command line, the scenario file and the
checks of both.

Precedence: defaults < scenario file (--config) < command line."""

import math
import pathlib
from typing import Any

from ..air import SLOT_SAMPLES, SLOTS_PER_SECOND
from ..errors import BadInput, not_valid
from ..text import of_file, of_yaml
from . import episodes, radios, rules
from .command_line import read
from .kinds import ChoiceOrFile, Numbers
from .table import Setting, nested, settings_of

NOMINAL_TRANSMIT_DBFS = -15.0  # blocks/types/db.h
USUAL_SPEED_KMH = 30.0  # default of channels that move
TRACE, NONE = ".h5", "none"
# default SNR with a channel definition; SNR at unit gain with a trace
USUAL_SNR_DB, UNIT_SNR_OF_TRACE_DB = 16.0, 34.0
SETTINGS = settings_of("demo")
# channels that take no speed
MOVES_BY_ITSELF = rules.excluded("demo", "channel.speed_kmh", "channel.model")


def text_of(value: Any) -> str:
    """A value as the processes write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, (list, tuple)):
        return ",".join(str(v) if isinstance(v, dict) else f"{v:.10g}" for v in value)
    return "" if value is None else str(value)


def by_clock(
    clock: str | None, fader_slots: int = 0, radio: radios.StationDefaults | None = None
) -> dict[str, Any]:
    """Defaults that depend on the clock, the fader and the radio. A radio that does not wait gets
    each plan some slots ahead (the lead) and its report later; a fader adds its own delay. `radio`:
    the defaults of the base station's radio; None: it is not known."""
    free = clock == "realtime"
    radio = radio or radios.station_defaults()
    delay = (radio.delay_slots if free else rules.feedback_slots()) + fader_slots
    return {
        "link.transmit_lead_slots": radio.lead_slots if free else 0,
        "link.retransmission_delay_ms": delay * 1000 / SLOTS_PER_SECOND,
    }


class Scenario:
    """Values of all settings by key: scenario["link.bins"]."""

    def __init__(
        self, values: dict[str, Any] | None = None, settings: list[Setting] | None = None
    ) -> None:
        self.values = {s.key: s.default for s in settings or SETTINGS}
        self.values.update(values or {})
        clock = self.values.get("air.clock")
        radio_defaults = radios.station_defaults(radios.product_of(self.values))
        for key, default in by_clock(clock, self.fader_slots, radio_defaults).items():
            if key in self.values and self.values[key] is None:
                self.values[key] = default
        if self.values.get("channel.snr_db", 0) is None:
            self.values["channel.snr_db"] = (
                UNIT_SNR_OF_TRACE_DB if self.plays_trace else USUAL_SNR_DB
            )

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def tree(self) -> dict[str, Any]:
        """Nested, as a scenario file has it."""
        return nested(self.values)

    @property
    def speed(self) -> float:
        """The speed of the air against the wall clock; only the demo can set it."""
        speed: Any = self.values.get("air.speed", 1.0)
        return 1.0 if speed == "auto" else speed

    def replaced(self, values: dict[str, Any]) -> "Scenario":
        return Scenario({**self.values, **values})

    @property
    def plays_trace(self) -> bool:
        return str(self.values.get("channel.model", "")).endswith(TRACE)

    @property
    def files(self) -> list[str]:
        """The names of files among the values."""
        return [
            str(v)
            for s in SETTINGS
            if isinstance(s.kind, ChoiceOrFile)
            and (v := self.values.get(s.key))
            and str(v).endswith(s.kind.endings)
        ]

    @property
    def cabled(self) -> bool:
        return self.values.get("air.over") == "cabled"

    @property
    def fade_in_transmitter(self) -> bool:
        return self.values.get("air.fade") == "transmitter"

    @property
    def fader_slots(self) -> int:
        """Slots by which a fader makes the loop of plan and report longer: its delay, and one slot
        more, into which the delay of the channel's paths reaches."""
        return math.ceil(self["fader.delay_samples"] / SLOT_SAMPLES) + 1 if self.cabled else 0

    @property
    def retransmission_delay_slots(self) -> int:
        return max(rules.feedback_slots(), rules.slots_of(self["link.retransmission_delay_ms"]))

    @property
    def speed_kmh(self) -> float | None:
        """The speed of the terminal; None if the channel itself defines how it moves."""
        model, speed = self["channel.model"], self["channel.speed_kmh"]
        if (
            model in ("awgn", "static", *MOVES_BY_ITSELF)
            or self.plays_trace
            or (model == "winner" and speed is None)
        ):
            return None
        return USUAL_SPEED_KMH if speed is None else speed

    @property
    def noise_dbfs(self) -> float:
        """Noise power over the whole 7.68 MHz for the mean SNR per subcarrier: the signal fills 500
        of 768 subcarriers, the noise all of them."""
        return NOMINAL_TRANSMIT_DBFS - self["channel.snr_db"] + 10 * math.log10(768 / 500)


def scenario_of(values: dict[str, Any], settings: list[Setting]) -> Scenario:
    """A scenario of {key: value}, each checked."""
    by_key = {s.key: s for s in settings}
    if unknown := [k for k in values if k not in by_key]:
        raise BadInput(f"unknown setting {unknown[0]}; valid: {', '.join(by_key)}")
    return Scenario({k: read(k, by_key[k].kind, v) for k, v in values.items()}, settings)


def check_rules(scenario: Scenario) -> None:
    """The rules and sums of the table between the settings that the scenario has."""
    command = "demo" if "air.clock" in scenario.values else "emulate"
    rules.check(command, scenario.values, text_of)
    rules.check_sums(command, scenario.values | {"link.fader_slots": scenario.fader_slots})


def check_together(scenario: Scenario) -> Scenario:
    check_attenuator(scenario)
    check_rules(scenario)
    if scenario.values.get("air.over") == "radio":
        raise BadInput(
            "--air is 'radio'; valid in a demo: medium, cabled; the same scenario file over radios:"
            " ./openwip station base|terminal --config FILE --radio ARGS --peer HOST"
        )
    if scenario.values.get("air.clock") == "realtime":
        check_free_running(scenario)
    if "radio.product" in scenario.values:
        radios.radios(scenario)
    return scenario


def check_attenuator(scenario: Scenario) -> None:
    """Checks the attenuator's settings, except the tables and levels of its trace: what is valid
    there depends on the chips of the device, which is asked when it is opened."""
    port, trace, at_zero = (
        scenario.values.get(f"attenuator.{key}") for key in ("port", "trace", "at_zero_db")
    )
    if port not in (None, NONE) and not str(port).startswith("/"):
        raise not_valid(
            "--attenuator",
            repr(port),
            "none, or a serial port such as /dev/ttyACM0 (./openwip attenuator list)",
        )
    if trace not in (None, NONE) and not str(trace).endswith((TRACE, ".csv")):
        raise not_valid(
            "--attenuator-trace",
            repr(trace),
            f"none, a table FILE.csv, or an SNR trace FILE{TRACE}",
        )
    if port not in (None, NONE) and (at_zero is None) == str(trace).endswith(TRACE):
        raise not_valid(
            "--attenuator-at-zero",
            "missing" if at_zero is None else f"{at_zero:g}",
            f"a number with an SNR trace ({TRACE}), and only then",
            more=f" with --attenuator-trace {trace}",
        )


def check_free_running(scenario: Scenario) -> None:
    if (lead := scenario["link.transmit_lead_slots"]) < 2:
        raise not_valid(
            "--transmit-lead-slots",
            lead,
            f"2..{scenario.retransmission_delay_slots - rules.feedback_slots()} slots, the rest of"
            " the delay is for the feedback",
            more=" with --clock realtime and a retransmission delay of"
            f" {scenario.retransmission_delay_slots} slots",
        )
    scenario.values["air.speed"] = 1.0


def read_yaml(kind: str, path: pathlib.Path | str) -> Any:
    try:
        return of_yaml(of_file(path))
    except OSError as e:
        raise BadInput(f"{kind} {path}: cannot be read: {e.strerror}; valid: a YAML file") from None
    except UnicodeDecodeError:
        raise BadInput(f"{kind} {path} is not YAML; valid: a YAML file in UTF-8") from None
    except ValueError as e:
        line = getattr(e, "line", None)
        raise BadInput(f"{kind} {path} {e}" + (f" (line {line})" if line else "")) from None


def read_file(path: pathlib.Path | str, settings: list[Setting] | None = None) -> dict[str, Any]:
    """Settings of a scenario file, by key."""
    by_key = {s.key: s for s in settings or SETTINGS}
    tree = read_yaml("scenario file", path)
    if tree is None:
        return {}
    values: dict[str, Any] = {}

    def walk(node: Any, prefix: str) -> None:
        if not isinstance(node, dict):
            groups = ", ".join(sorted({k.split(".")[0] for k in by_key}))
            at = f": {prefix[:-1]}" if prefix else ""
            raise BadInput(
                f"scenario file {path}{at}: has no settings; valid: groups of them, {groups}"
            )
        for name, value in node.items():
            key = f"{prefix}{name}"
            if key in by_key:
                where, kind = f"scenario file {path}: {key}", by_key[key].kind
                # These settings may be given as the name of a file with the numbers.
                if key in episodes.KEYS and isinstance(kind, Numbers) and isinstance(value, str):
                    value = episodes.numbers_of(key, where, value, kind)
                values[key] = read(where, kind, value)
            elif any(k.startswith(f"{key}.") for k in by_key):
                walk(value, f"{key}.")
            else:
                known = ", ".join(k for k in by_key if k.startswith(prefix))
                raise BadInput(f"scenario file {path}: unknown key {key}; valid: {known}")

    walk(tree, "")
    return values
