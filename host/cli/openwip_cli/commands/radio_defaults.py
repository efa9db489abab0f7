# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of a station to a radio by its product (channels/vusrp/devices.yaml), and which of
them this machine cannot meet: frames over USB, the buffer of a socket, and how long the machine may stand
still before the radio runs dry."""

from collections.abc import Iterator
from typing import Any, Protocol

from ..air import SAMPLE_RATE, SLOTS_PER_SECOND
from ..settings import radios
from .finding import Finding, evaluated

USBFS_MB = "/sys/module/usbcore/parameters/usbfs_memory_mb"
RMEM_MAX = "/proc/sys/net/core/rmem_max"
SAMPLE_BYTES = 4  # sc16, as all of them send it
SOCKET_S = 0.02  # seconds of samples for which UHD requests socket buffers


class Machine(Protocol):
    """doctor.Machine"""

    def number(self, path: str) -> int | None: ...


def milliseconds(samples: float) -> str:
    return f"{samples * 1e3 / SAMPLE_RATE:.3g} ms"


def of_defaults(m: Machine, name: str, software: bool) -> Iterator[Finding]:
    """The findings about the defaults of a product. `name`: the product's name in UHD. `software`:
    a software USRP, whose frames and sockets do not depend on the machine."""
    kind = radios.products().get(radios.model(name))
    defaults = radios.station_defaults(name)
    asked = (
        ",".join(f"{k}={v}" for k, v in defaults.arguments.items()) or "the device's own buffers"
    )
    lead_ms = defaults.lead_slots * 1e3 / SLOTS_PER_SECOND
    known = "" if kind else f"; {name or 'the product'} is not in the table of devices"
    yield Finding(
        "defaults of a station",
        f"lead {defaults.lead_slots} slots ({lead_ms:g} ms), delay {defaults.delay_slots} slots,"
        f" {asked}{known}",
    )
    if kind is None:
        return
    yield of_transmit_store(kind, lead_ms)
    if not software:
        yield of_receive_buffer(m, kind, defaults)


def of_transmit_store(kind: dict[str, Any], lead_ms: float) -> Finding:
    """How many samples to send the radio holds. The rest of a lead waits in this computer, so that
    no lead is too long for it; but the machine may not stall for longer."""
    buffers = kind["buffers"]
    held = buffers["transmit"] + buffers.get("frames", 0) * kind["packet"]
    short = held - kind["packet"]
    says = f"{held} samples, {milliseconds(held)}"
    if held * 1e3 / SAMPLE_RATE < lead_ms:
        says += f" of the lead's {lead_ms:g} ms; the rest waits in this computer"
    return Finding(
        "transmit buffer",
        f"{says}; the radio runs dry when this machine stalls for more than {milliseconds(short)}",
    )


def of_receive_buffer(
    m: Machine, kind: dict[str, Any], defaults: radios.StationDefaults
) -> Finding:
    buffers = kind["buffers"]
    if "frames" in buffers:
        frames = defaults.arguments.get("num_recv_frames", buffers["frames"])
        needed = frames * buffers["frame"]
        granted = m.number(USBFS_MB)
        says = f"{frames} frames, {milliseconds(frames * kind['packet'])}, {needed / 1e6:.3g} MB"
        if granted is None:
            return Finding("receive buffer", f"{says}; what Linux gives to USB is not known")
        return evaluated(
            "receive buffer",
            f"{says} of the {granted} MB that Linux gives to all of USB",
            granted == 0 or granted * 2**20 >= 2 * needed,  # 0: no limit; both directions
            "a radio is not opened, or with fewer frames: it overflows when this machine is late",
            f"echo 16 | sudo tee {USBFS_MB}",
            safe=False,
        )
    granted = m.number(RMEM_MAX)
    wanted = round(SOCKET_S * SAMPLE_RATE * SAMPLE_BYTES)
    if granted is None:
        return Finding("receive buffer", "net.core.rmem_max is not known here")
    got = min(granted, int(buffers["socket"]))
    return evaluated(
        "receive buffer",
        f"{got} of {int(buffers['socket'])} bytes in the socket,"
        f" {milliseconds(got / SAMPLE_BYTES)} of a cell",
        got >= wanted,
        f"a radio overflows when this machine is late for longer; a cell wants"
        f" {milliseconds(wanted / SAMPLE_BYTES)}",
        "sudo sysctl -w net.core.rmem_max=33554432",
        safe=True,
    )
