# SPDX-License-Identifier: GPL-3.0-or-later
"""One station of a cell whose other station is on another computer: who it speaks to, and its two
processes.

The base station listens at the address of this computer that faces the other one, the terminal
connects; packets and feedback go over that one TCP connection, encrypted (CURVE, keys as of
remote.py: the base station is the server). macd is in the computer's own network namespace and
makes its TUN in the station's."""

import dataclasses
import pathlib
import re
import socket
from typing import Any

from ..errors import BadInput, not_valid
from ..machine import rights
from ..machine.places import Places
from ..settings.scenario import Scenario
from . import remote
from .cell import Cell
from .configuration import TRANSMITTER, mac_config, write_config
from .process import Process
from .processes import MACD, flowgraph, radio_environment, receiver_options, transmitter_options

PORT = 7680  # TCP port of the base station unless another is given
# seconds of the radio's clock from its set-up to the start: time to make the flowgraph
START_IN_S = 0.3


@dataclasses.dataclass
class Peer:
    endpoint: str  # the base station binds it, the terminal connects to it
    keys: str | None  # folder


# The highest carrier power for which tests/bench/adjacent_channel.py found the emission to be within
# the mask of TS 36.104, Local Area (docs/results/radios.md).
MASKED_DBM = -5


def adjacent_channel_warning(power: float | None) -> str:
    """The warning about emission in the adjacent channel at this power (dBm); "": none."""
    return (
        ""
        if power is None or power <= MASKED_DBM
        else (
            f"{power:g} dBm: beside the carrier the mask of TS 36.104 (Local Area) was evaluated"
            " up to"
            f" {MASKED_DBM} dBm only; look at the neighbours"
        )
    )


@dataclasses.dataclass
class Radio:
    arguments: str
    frequency: float
    gain: float
    antenna: str
    clock_source: str
    time_source: str
    power: float | None = None  # dBm of the carrier, instead of a gain

    def level(self, role: str) -> list[str]:
        if self.power is not None:
            return ["--tx-power", f"{self.power:g}"]
        return ["--transmit-gain" if role == "base" else "--receive-gain", f"{self.gain:g}"]

    def options(self, role: str) -> list[str]:
        return [
            "--args",
            self.arguments,
            "--freq",
            f"{self.frequency:.12g}",
            *self.level(role),
            "--antenna",
            self.antenna,
            "--clock-source",
            self.clock_source,
            "--time-source",
            self.time_source,
            "--start-in",
            str(START_IN_S),
        ]


def parse_peer(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9a-fA-F:%.\w]+\]|[^\s:/\[\]]+)(?::(\d{1,5}))?", text)
    if not found or not 1 <= int(found[2] or PORT) <= 65535:
        raise not_valid(
            "--peer",
            repr(text),
            f"HOST or HOST:PORT, the other computer's name or address (port {PORT} by default)",
        )
    return found[1].strip("[]"), int(found[2] or PORT)


def peer(role: str, text: str, keys: str | None) -> Peer:
    """Checks the address and the keys of the other computer before anything is made. The base
    station's own address is the one that packets to the other computer leave from."""
    host, port = parse_peer(text)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.connect(address)
            own_address = s.getsockname()[0]
    except OSError as e:
        raise not_valid(
            "--peer",
            repr(text),
            "a computer that can be reached from this one",
            more=f": {e.strerror or e}",
        ) from None
    far = str(address[0])
    if keys is None:
        raise BadInput(
            f"--peer {text}: {remote.where_keys_are_needed(far)} it needs --keys DIR (./openwip"
            " keys DIR makes them: server.key and client.public at the base station, client.key"
            " and server.public at the terminal)"
        )
    # Read here too: before anything is made, and in the words of the other commands.
    (remote.ServerKeys if role == "base" else remote.ClientKeys)(keys)
    keys = str(pathlib.Path(keys).resolve())
    at = own_address if role == "base" else far
    return Peer(f"tcp://[{at}]:{port}" if ":" in at else f"tcp://{at}:{port}", keys)


def macd_config(cell: Cell, scenario: Scenario, role: str, other: Peer) -> dict[str, Any]:
    tree = mac_config(cell, scenario, role)
    tree["tun"]["namespace"] = cell.namespace(role)
    tree["endpoints"] |= {"uplink": other.endpoint, "uplink_keys": other.keys or ""}
    return tree | {"peer_may_leave": True}


def processes(
    cell: Cell, scenario: Scenario, role: str, radio: Radio, other: Peer, places: Places
) -> list[Process]:
    """The processes of a station in the order in which they start."""
    config = write_config(cell, role, macd_config(cell, scenario, role, other))
    more = (
        transmitter_options(scenario, cell.endpoint(TRANSMITTER))
        if role == "base"
        else receiver_options(scenario)
    )
    return [
        Process(
            f"{role}.macd",
            [str(places.path(MACD)), "--config", config],
            {"OPENWIP_RUN": str(cell.run)},
            slot_path=True,
        ),
        Process(
            f"{role}.radio",
            [
                *flowgraph(role, places),
                *radio.options(role),
                "--endpoint",
                cell.line(f"{role}.slot"),
                "--record-endpoint",
                cell.endpoint(f"{role}.iq"),
                "--least-rights",
                *more,
            ],
            radio_environment(cell, places),
            slot_path=True,
            capabilities=rights.to_load(rights.RADIO, places.top, places.build),
            of_the_group=True,
        ),
    ]
