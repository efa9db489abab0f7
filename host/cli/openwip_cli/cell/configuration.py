# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration files of a cell's processes, made from its scenario."""

import pathlib
from typing import Any

from ..air import SLOT_SAMPLES
from ..machine import own_files, system
from ..settings import inputs, radios, table
from ..settings.scenario import NOMINAL_TRANSMIT_DBFS, SETTINGS, Scenario
from ..text import to_yaml
from .cell import ADDRESS, ADDRESS6, STATIONS, Cell

TRANSMITTER = "base.channel"  # control of a channel in the base station's flowgraph


# above the stations' (blocks/os/realtime.h), where its clock does not wait for them
FADER_PRIORITY = 11


# above a transmitter's (flowgraphs/apps/priorities.py), where its clock waits for nobody: a clock that
# stood still while others worked would then go on by more than a radio's store lasts
MEDIUM_PRIORITY = 12


def address6(scenario: Scenario, station: str) -> str:
    """IPv6 address of a station's interface, as its process takes it."""
    return f"{ADDRESS6[station]}/64" if scenario["network.ipv6"] == "on" else "none"


def mac_config(cell: Cell, scenario: Scenario, role: str) -> dict[str, Any]:
    """The configuration of a macd: every setting of the scenario that it has, and those of the cell
    itself."""
    s = scenario
    given = inputs.for_process(s.values, SETTINGS)
    values = {
        process_key: given[key]
        for process_key, key in table.process_keys("macd", "demo").items()
        if given.get(key) is not None
    }
    values |= {"link.fader_slots": s.fader_slots}
    return table.nested(values) | {
        "role": role,
        "name": cell.name,
        "tun": {
            "name": "wip0",
            "address": f"{ADDRESS[role]}/30",
            "address6": address6(s, role),
            "mtu": s["network.mtu"],
        },
        "endpoints": {
            "slot_link": cell.line(f"{role}.slot"),
            "uplink": cell.line("uplink"),
            "control": cell.endpoint(f"{role}.control"),
            "telemetry": cell.endpoint(f"{role}.telemetry"),
        },
        "user": system.account()[0],
        # The peer is quiet for as long as the medium takes to start its radios; slower at low
        # speed.
        "peer_timeout_s": max(2, round(2 / s.speed)),
    }


def air_config(cell: Cell, scenario: Scenario) -> dict[str, Any]:
    s = scenario
    radio = radios.radios(s)
    base, terminal = radio["base"].level_db, radio["terminal"].level_db
    # The latency of a multipath filter is taken off the delay of the path, so with 6 samples a
    # change of the channel while it runs does not move the signal.
    path = {
        "from": "base",
        "to": "terminal",
        "gain_db": round(-base - terminal, 4) + 0.0,
        "delay_samples": 6,
        "channel": s["channel.model"],
        "shadowing": s["channel.shadowing"],
        "user": s["channel.user"],
    }
    if s.plays_trace:
        path |= {
            "channel": str(pathlib.Path(s["channel.model"]).resolve()),
            "trace_snr_db": s["channel.snr_db"],
        }
    if s.speed_kmh is not None:
        path["speed_kmh"] = s.speed_kmh
    own = {
        key.removeprefix("air."): s[key]
        for key in table.keys_of("medium")
        if key.startswith("air.") and key in s.values
    }
    air = own | {
        "name": cell.name,
        "speed": s.speed,
        "quantum": SLOT_SAMPLES,
        "wait_for": {"transmitters": 1, "receivers": 1},
        "seed": s["seed"],
        "control": cell.endpoint("air.control"),
        "user": system.account()[0],
    }
    if s["air.clock"] == "realtime":
        air["priority"] = MEDIUM_PRIORITY
    if s.fade_in_transmitter:
        return {
            "air": air | {"fader": cell.endpoint(TRANSMITTER)},
            "nodes": {"base": {}, "terminal": {"impairments": s["impairments"]}},
            "paths": [{key: path[key] for key in ("from", "to", "gain_db")}],
        }
    noise = {"noise_dbfs": round(s.noise_dbfs - terminal, 4)}
    if not s.cabled:
        sent = {"transmit_dbfs": round(NOMINAL_TRANSMIT_DBFS + base, 4)} if base else {}
        return {
            "air": air,
            "nodes": {"base": sent, "terminal": noise | {"impairments": s["impairments"]}},
            "paths": [path],
        }
    # The medium is two cables, with the fader's radios at their ends.
    return {
        "air": (
            air
            | {
                "wait_for": {"transmitters": 2, "receivers": 2},
                "fader": cell.endpoint("fader.control"),
            }
        ),
        "nodes": {
            "base": {},
            "fader-base": {},
            "fader-terminal": {},
            "terminal": {"impairments": s["impairments"]},
        },
        "paths": [
            {
                "from": "base",
                "to": "fader-base",
                "gain_db": round(-base - radio["fader-base"].level_db, 4) + 0.0,
            },
            {
                "from": "fader-terminal",
                "to": "terminal",
                "gain_db": round(-radio["fader-terminal"].level_db - terminal, 4) + 0.0,
            },
        ],
    }


def fader_config(cell: Cell, scenario: Scenario) -> dict[str, Any]:
    """The configuration of the fader, with the channel that the medium would have. A product with
    two channels is one device at both cables."""
    medium = air_config(cell, scenario.replaced({"air.over": "medium"}))
    path, radio_of = medium["paths"][0], radios.radios(scenario)
    gains = {"base": "receive_gain_db", "terminal": "transmit_gain_db"}
    one = radios.two_channels(radio_of["fader-base"])
    radio = {
        node: {
            "radio": ",".join(
                filter(
                    None,
                    (
                        f"type=vusrp,air={cell.name},node="
                        + ("fader-base:fader-terminal" if one else f"fader-{node}"),
                        radio_of[f"fader-{node}"].arguments,
                    ),
                )
            ),
            "channel": i if one else 0,
            gain: radio_of[f"fader-{node}"].gain,
        }
        for i, (node, gain) in enumerate(gains.items())
    }
    air = {
        "name": cell.name,
        "seed": scenario["seed"],
        "control": cell.endpoint("fader.control"),
        "user": system.account()[0],
    }
    # Its samples are due whatever a station computes; acquisition takes a station long.
    if scenario["air.clock"] == "realtime":
        air["priority"] = FADER_PRIORITY
    return {
        "air": air,
        "fader": {"delay_samples": scenario["fader.delay_samples"], "start_delay_s": 0.05},
        "nodes": {
            "base": radio["base"],
            "terminal": radio["terminal"] | {"noise_dbfs": round(scenario.noise_dbfs, 4)},
        },
        "paths": [path | {"gain_db": 0.0}],
    }


def write_config(cell: Cell, name: str, tree: dict[str, Any]) -> str:
    """Writes the configuration of a process into the run folder; returns its path."""
    path = cell.run / f"{name}.yaml"
    own_files.create(path, to_yaml(tree))
    return str(path)


def write_configs(cell: Cell, scenario: Scenario) -> None:
    write_config(cell, "air", air_config(cell, scenario))
    if scenario.cabled:
        write_config(cell, "fader", fader_config(cell, scenario))
    for role in STATIONS:
        write_config(cell, role, mac_config(cell, scenario, role))
