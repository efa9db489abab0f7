# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a running fader: ./openwip station --fader, ./openwip fader compare, ./openwip get and set
--control; with keys, one on another computer."""

import zmq
from google.protobuf.message import DecodeError

from ..errors import not_valid
from ..figures.through_radios import TERMINAL
from ..messages import control
from ..shapes import AirStatus
from . import remote

ANSWER_S = 2.0
SILENT = (control.NoAnswer, zmq.ZMQError, DecodeError)


def keys_of_station(endpoint: str, folder: str | None) -> remote.ClientKeys | None:
    """The keys for the fader's control socket, which are those of the uplink; a socket in the file
    system needs none."""
    return remote.keys_of("--fader", endpoint, folder if endpoint.startswith("tcp://") else None)


def ask(endpoint: str, keys: remote.ClientKeys | None = None) -> AirStatus:
    """The status of the fader; raises one of SILENT if it does not answer."""
    found: AirStatus = control.Control(endpoint, keys).status(ANSWER_S)
    return found


def find(
    what: str, endpoint: object, valid: str, keys: remote.ClientKeys | None = None
) -> AirStatus:
    """The status of a fader of a cell. `what`: the argument or key that says where it answers,
    `valid`: what that could be."""
    try:
        air = ask(str(endpoint), keys)
    except SILENT:
        raise not_valid(what, repr(endpoint), valid, more=", where no fader answers") from None
    nodes = [n.name for n in getattr(air, "nodes", ())]
    if getattr(air, "clock", "") != "fader" or TERMINAL not in nodes:
        raise not_valid(
            what,
            repr(endpoint),
            f"a fader with a node {TERMINAL}",
            more=f", with nodes {', '.join(nodes) or 'none'}",
        )
    return air


def of_station(endpoint: str, folder: str | None = None) -> AirStatus:
    return find(
        "--fader",
        endpoint,
        "air.control of a ./openwip fader that runs, or --listen of one on another computer",
        keys_of_station(endpoint, folder),
    )


def delay_of(endpoint: str, folder: str | None = None) -> int:
    """The delay of the fader at this endpoint, in samples."""
    return of_station(endpoint, folder).delay_samples
