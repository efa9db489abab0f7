# SPDX-License-Identifier: GPL-3.0-or-later
"""Link frames of topic `frames`, one by one out of the columns of a message:

for m in reader.poll(0.5):
    for f in link_frames.of(m.telemetry.frames):
        print(f.slot, f.bin, f.payload.hex())"""

from collections.abc import Iterator
from typing import NamedTuple

from ..shapes import FrameBatch

# The columns with one byte a frame.
COLUMNS = (
    "bin",
    "bits_per_symbol",
    "offset",
    "whole",
    "last",
    "retransmissions",
    "outcome",
    "combined",
    "border",
)


class LinkFrame(NamedTuple):
    """A frame of the link, with the fields of FrameBatch in telemetry.proto."""

    slot: int
    bin: int
    bits_per_symbol: int
    sn: int
    payload: bytes = b""
    payload_bits: int = 0
    offset: int = 0
    whole: bool = True
    last: bool = True
    retransmissions: int = 0
    outcome: int = 0
    snr_db: float = 0.0
    combined: bool = False
    packet: tuple = ()
    border: int = 255  # SDU boundary, a value of 4 bits; 254: none, 255: not known


def of(batch: FrameBatch) -> Iterator[LinkFrame]:
    """The frames of a FrameBatch. IndexError when its columns are not of one length."""
    at = payload_at = packet_at = 0
    columns = {name: getattr(batch, name) for name in COLUMNS}
    for slot in batch.slot:
        for _ in range(slot.frames):
            entries = {
                name: column[at] if column else LinkFrame._field_defaults.get(name, 0)
                for name, column in columns.items()
            }
            for name in ("whole", "last", "combined"):
                entries[name] = bool(entries[name])
            bits = batch.payload_bits[at]
            packets = batch.nof_packets[at] if batch.nof_packets else 0
            yield LinkFrame(
                slot=slot.air,
                sn=batch.sn[at],
                snr_db=batch.snr_db[at],
                payload_bits=bits,
                payload=batch.payload[payload_at : payload_at + (bits + 7) // 8],
                packet=tuple(batch.packet[packet_at : packet_at + packets]),
                **entries,
            )
            at, payload_at, packet_at = at + 1, payload_at + (bits + 7) // 8, packet_at + packets
