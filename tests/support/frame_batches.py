# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of topic `frames` as a station makes them: the other way of
openwip_cli.messages.link_frames."""

from openwip_cli.messages.link_frames import COLUMNS


def append(batch, frames, grant=b""):
    """The frames of one slot, at least one, into a FrameBatch."""
    batch.slot.add(air=frames[0].slot, frames=len(frames), grant=grant)
    for name in COLUMNS:
        setattr(batch, name, getattr(batch, name) + bytes(int(getattr(f, name)) for f in frames))
    batch.nof_packets += bytes(len(f.packet) for f in frames)
    batch.payload += b"".join(f.payload for f in frames)
    for name in ("sn", "snr_db", "payload_bits"):
        getattr(batch, name).extend(getattr(f, name) for f in frames)
    for f in frames:
        batch.packet.extend(f.packet)
