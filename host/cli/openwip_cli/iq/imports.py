# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of other programs and rates (foreign.py) as a recording. They are resampled, and received
once: those reports are what a replay is compared with. Where the sample time of the original jumps,
that of the recording does."""

import json
import os
import pathlib
import tempfile
from typing import Any

from ..air import SAMPLE_RATE, SLOT_SAMPLES
from ..errors import BadInput
from ..machine import outputs
from ..text import shown
from . import metadata, recordings, replay
from .foreign import DATATYPES, Bare, Foreign, opened, pieces, rates, stretches
from .recordings import BYTES_PER_SAMPLE, DATA, META, Recording

__all__ = ["DATATYPES", "Bare", "Foreign", "make", "opened", "pieces", "rates", "stretches"]

# The settings of a receiver that knows nothing of the cell.
RECEIVER = {
    "cell": -1,
    "horizon": 3,
    "combining": True,
    "start_slot": 0,
    "predictor": "delay",
    "gain_db": 0.0,
    "lowest_gain_db": 0.0,
    "highest_gain_db": 0.0,
}


def write_samples(source: Bare | Foreign, path: pathlib.Path) -> list[tuple[int, int, str]]:
    """(first sample in the file, its sample time, what says that the time jumps there) of each
    stretch."""
    from gnuradio import wip

    begins, written = [], 0
    with open(path, "wb") as out:
        for first, n, time, why in stretches(source):
            begins.append((written, round(time * SAMPLE_RATE / source.rate), why))
            filters = wip.resampler(source.rate) if source.rate != SAMPLE_RATE else None
            for samples in pieces(source, first, n):
                written += (
                    out.write((filters.work(samples) if filters else samples).tobytes())
                    // BYTES_PER_SAMPLE
                )
            if filters:
                written += out.write(filters.finish().tobytes()) // BYTES_PER_SAMPLE
    return begins


# --- the recording ---


def how(source: Bare | Foreign) -> str:
    from gnuradio import wip

    if source.rate == SAMPLE_RATE:
        return f"at {SAMPLE_RATE / 1e6:g} MS/s already, not resampled"
    return (
        f"resampled from {source.rate / 1e6:.10g} to {SAMPLE_RATE / 1e6:g} MS/s by"
        f" {wip.resampler.name} (msresamp_crcf; stop band {wip.resampler.stopband_db:g} dB down)"
    )


def written_meta(
    source: Bare | Foreign, samples: int, begins: list[tuple[int, int, str]]
) -> dict[str, Any]:
    receiver = source.whole.get("openwip:receiver", RECEIVER)
    origin = source.captures[0] if source.captures else {}
    captures = [
        {
            "core:sample_start": index,
            "core:global_index": first,
            "openwip:slot": first // SLOT_SAMPLES,
            "openwip:slot_sample": first % SLOT_SAMPLES,
        }
        for index, first, _ in begins
    ]
    captures[0] |= {
        key: origin[key] for key in ("core:frequency", "core:datetime") if key in origin
    }
    gaps = [
        {
            "core:sample_start": index,
            "core:sample_count": 0,
            "core:label": "gap",
            "core:comment": why,
            "openwip:lost_samples": first - (before + index - at),
            "openwip:lost_by": "radio",
        }
        for (at, before, _), (index, first, why) in zip(begins, begins[1:])
    ]
    return {
        "global": {
            "core:datatype": recordings.DATATYPE,
            "core:sample_rate": SAMPLE_RATE,
            "core:version": recordings.SIGMF_VERSION,
            "core:num_channels": 1,
            "core:recorder": "OpenWIP",
            "core:description": f"imported, {how(source)}",
            "core:extensions": [
                {"name": "openwip", "version": recordings.extension_version(), "optional": True}
            ],
            "openwip:role": "terminal",
            "openwip:samples": samples,
            "openwip:samples_lost": 0,
            "openwip:reports": 0,
            "openwip:reports_lost": 0,
            "openwip:from_start": True,
            "openwip:first_slot": -(-begins[0][1] // SLOT_SAMPLES),
            "openwip:receiver": receiver,
            "openwip:imported": {
                "file": shown(source.data_path.name),
                "sample_rate": source.rate,
                "datatype": source.datatype,
            },
        },
        "captures": captures,
        "annotations": gaps,
    }


def make(source: Bare | Foreign, out: str) -> Recording:
    """The recording `out`, received. It is made in a folder of its own beside its name, so that
    what has the name stays until it is whole."""
    base = recordings.check_place(out, source.samples / source.rate, "OUT")
    if pathlib.Path(base + DATA).resolve() == source.data_path.resolve():
        raise BadInput(f"OUT {out}: is the samples to be imported; valid: another name")
    for ending in recordings.ENDINGS:
        outputs.check("OUT", base + ending, source.data_path, source.data_path.with_suffix(META))
    folder, name = os.path.split(base)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as private:
        copy = os.path.join(private, name)
        begins = write_samples(source, pathlib.Path(copy + DATA))
        samples = os.path.getsize(copy + DATA) // BYTES_PER_SAMPLE
        pathlib.Path(copy + META).write_text(
            json.dumps(written_meta(source, samples, begins)) + "\n"
        )
        recording = Recording(copy)
        replay.receive(recording, recording.slots_path)
        metadata.complete(copy, {"openwip:reports": len(recording.reports())})
        for ending in recordings.ENDINGS:
            os.replace(copy + ending, base + ending)
    return Recording(base)
