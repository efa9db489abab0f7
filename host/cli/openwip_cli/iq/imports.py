# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of other programs and rates as a recording: SigMF, or bare samples whose rate is given.
They are resampled, and received once: those reports are what a replay is compared with.

Where the sample time of the original jumps (core:global_index of a capture), that of the recording
does."""

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from ..air import SAMPLE_RATE, SLOT_SAMPLES
from ..errors import BadInput
from ..machine import outputs
from ..machine.confined import printable
from ..text import of_json, shown
from . import containers, core_fields, metadata, recordings, replay
from .recordings import BYTES_PER_SAMPLE, DATA, META, Recording, check_is_file

# SigMF's name: type of a component, and what full scale is.
DATATYPES = {"cf32_le": ("<f4", 1.0), "ci16_le": ("<i2", 2.0**15), "ci8": ("i1", 2.0**7)}
PIECE = 1 << 20  # samples
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


def rates() -> tuple[float, float]:
    """The sample rates that can be resampled: lowest and highest, in samples/s."""
    from gnuradio import wip

    return wip.resampler.lowest_hz, wip.resampler.highest_hz


def valid_rates() -> str:
    low, high = rates()
    return f"{low:.10g}..{high:.10g} (the cell occupies {low / 1e6:g} MHz)"


class Bare:
    """A file of nothing but samples."""

    def __init__(self, path: pathlib.Path, rate: float, datatype: str) -> None:
        self.data_path, self.rate, self.datatype, self.offset = path, rate, datatype, 0
        self.whole: dict[str, Any] = {}
        self.captures: list[dict[str, Any]] = []
        self.samples = count(path, datatype)


class Foreign(Recording):
    """SigMF of any program."""

    def _check_kind(self) -> None:
        g = self.whole
        (low, high), rate = rates(), g.get("core:sample_rate")
        if not isinstance(rate, (int, float)) or isinstance(rate, bool) or not low <= rate <= high:
            self._wrong(f"core:sample_rate is {rate!r}; valid: {valid_rates()}")
        if not isinstance(g.get("core:datatype"), str) or g["core:datatype"] not in DATATYPES:
            self._wrong(
                f"core:datatype is {g.get('core:datatype')!r}; valid: {', '.join(DATATYPES)}"
            )
        if g.get("core:num_channels", 1) != 1:
            self._wrong(f"core:num_channels is {g['core:num_channels']!r}; valid: 1")
        if needed := core_fields.needed_extensions(self.meta):
            self._wrong(
                f"core:extensions needs {', '.join(printable(n, 60) for n in needed[:5])}; valid:"
                " extensions that are optional, or openwip"
            )
        self.rate, self.datatype = float(rate), g["core:datatype"]
        if "openwip:receiver" in g:
            import jsonschema

            try:
                jsonschema.validate(
                    g["openwip:receiver"],
                    recordings.extension_schema()["properties"]["global"]["properties"][
                        "openwip:receiver"
                    ],
                )
            except jsonschema.ValidationError as e:
                self._wrong(f"openwip:receiver: {e.message[:200]}")

    offset = 0  # of the samples in their file

    def _count(self) -> int:
        return count(self.data_path, self.datatype)

    def _check_length(self) -> None:
        self.count = self._count()
        found: Any = self.meta.get("captures")
        good = isinstance(found, list)
        begins = [c.get("core:sample_start", 0) for c in found] if good else []
        if not good or begins != sorted(set(begins)) or any(b >= self.count for b in begins):
            self._wrong(
                f"captures are not stretches of its {self.count} samples; valid: core:sample_start"
                " ascending, core:global_index 0 or more"
            )
        if any(c.get("core:header_bytes") for c in found):
            self._wrong("core:header_bytes is there; valid: samples and nothing else")

    @property
    def samples(self) -> int:
        return self.count


class Archived(Foreign):
    """SigMF in an archive."""

    def __init__(self, path: str, name: str | None) -> None:
        try:
            self.stored = containers.stored(path, name)
        except OSError as e:
            raise BadInput(f"archive {path}: {e.strerror}; valid: a SigMF archive") from None
        self.archive = pathlib.Path(path)
        super().__init__(path)
        self.data_path, self.offset = self.archive, self.stored.offset

    def _read_meta(self) -> dict[str, Any]:
        self.meta_path = self.archive / printable(self.stored.name + META, 100)  # for messages
        try:
            return self._checked_meta(of_json(self.stored.meta.decode()))
        except ValueError:
            self._wrong("is not JSON; valid: the metadata of a SigMF recording")

    def _count(self) -> int:
        return counted(self.stored.size, self.archive, self.datatype)


def count(path: pathlib.Path, datatype: str) -> int:
    """The number of its samples; BadInput: no whole ones, or less than a slot."""
    try:
        check_is_file(path)
        size = os.stat(path).st_size
        if kind := containers.kind_of(path):
            raise BadInput(
                f"samples {path}: is {kind}, not samples; valid: a file of nothing but samples, or"
                " a SigMF recording or archive (tar)"
            )
    except OSError as e:
        raise BadInput(f"samples {path}: {e.strerror}; valid: a file of {datatype}") from None
    return counted(size, path, datatype)


def counted(size: int, path: pathlib.Path, datatype: str) -> int:
    """The samples in so many bytes."""
    each = 2 * numpy.dtype(DATATYPES[datatype][0]).itemsize
    if size % each or size < each * SLOT_SAMPLES:
        raise BadInput(
            f"samples {path}: has {size} bytes; valid: a multiple of {each} ({datatype}),"
            f" {each * SLOT_SAMPLES} or more ({SLOT_SAMPLES} samples)"
        )
    return size // each


def opened(
    file: str, rate: float | None, datatype: str | None, name: str | None = None
) -> Bare | Foreign:
    """`rate` and `datatype` are for bare samples; SigMF says its own. `name`: the recording of an
    archive with several."""
    archive = False
    with contextlib.suppress(OSError):
        archive = not file.endswith((DATA, META)) and containers.kind_of(file) == containers.TAR
    if archive or file.endswith((DATA, META)) or os.path.exists(file + META):
        for option, value in (("--sample-rate", rate), ("--datatype", datatype)):
            if value is not None:
                raise BadInput(
                    f"{option} is {value}; valid: only for bare samples, the metadata of {file}"
                    " say it"
                )
        if archive:
            return Archived(file, name)
    if name is not None:
        raise BadInput(
            f"--recording is {name}; valid: only for a SigMF archive, and {file} is none"
        )
    if file.endswith((DATA, META)) or os.path.exists(file + META):
        return Foreign(file)
    path = pathlib.Path(file)
    if rate is None:
        if not path.exists():
            Foreign(file)  # says what recordings there are
        if path.is_file():
            # says which container it is, and what is too short
            count(path, datatype or "cf32_le")
        raise BadInput(
            f"samples {file}: have no {META} beside them; valid: with --sample-rate {valid_rates()}"
        )
    return Bare(path, rate, datatype or "cf32_le")


# --- stretches ---


def stretches(source: Bare | Foreign) -> list[tuple[int, int, int]]:
    """(first sample in the file, number of samples, time of the first one in samples), where the
    time jumps."""
    found: list[tuple[int, int]] = []
    for capture in source.captures or [{}]:
        begin = capture.get("core:sample_start", 0)
        follows = found[-1][1] + begin - found[-1][0] if found else 0
        time = capture.get("core:global_index", follows)
        if time < follows:
            raise BadInput(
                f"samples {source.data_path}: the capture at {begin} begins at core:global_index"
                f" {time}; valid: {follows} or more, where the one before it ends"
            )
        if not found or time > follows:
            found.append((begin, time))
    ends = [begin for begin, _ in found[1:]] + [source.samples]
    return [(begin, end - begin, time) for (begin, time), end in zip(found, ends)]


def pieces(source: Bare | Foreign, first: int, n: int) -> "Iterator[NDArray[numpy.complex64]]":
    """complex64, full scale 1."""
    kind, full_scale = DATATYPES[source.datatype]
    components = numpy.memmap(source.data_path, kind, "r", source.offset, (2 * source.samples,))
    for begin in range(first, first + n, PIECE):
        part = components[2 * begin : 2 * min(begin + PIECE, first + n)]
        samples = (part.astype(numpy.float32) / numpy.float32(full_scale)).view(numpy.complex64)
        if not numpy.isfinite(part).all():
            raise BadInput(
                f"samples {source.data_path}: sample"
                f" {begin + int(numpy.flatnonzero(~numpy.isfinite(samples))[0])} is no number;"
                " valid: finite samples"
            )
        yield samples


def write_samples(source: Bare | Foreign, path: pathlib.Path) -> list[tuple[int, int]]:
    """(first sample in the file, its sample time) of each stretch."""
    from gnuradio import wip

    begins, written = [], 0
    with open(path, "wb") as out:
        for first, n, time in stretches(source):
            begins.append((written, round(time * SAMPLE_RATE / source.rate)))
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
    source: Bare | Foreign, samples: int, begins: list[tuple[int, int]]
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
        for index, first in begins
    ]
    captures[0] |= {
        key: origin[key] for key in ("core:frequency", "core:datetime") if key in origin
    }
    gaps = [
        {
            "core:sample_start": index,
            "core:sample_count": 0,
            "core:label": "gap",
            "core:comment": "samples before this one are missing in the original",
            "openwip:lost_samples": first - (before + index - at),
            "openwip:lost_by": "radio",
        }
        for (at, before), (index, first) in zip(begins, begins[1:])
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
        beside = os.path.join(private, name)
        begins = write_samples(source, pathlib.Path(beside + DATA))
        samples = os.path.getsize(beside + DATA) // BYTES_PER_SAMPLE
        pathlib.Path(beside + META).write_text(
            json.dumps(written_meta(source, samples, begins)) + "\n"
        )
        recording = Recording(beside)
        replay.receive(recording, recording.slots_path)
        metadata.complete(beside, {"openwip:reports": len(recording.reports())})
        for ending in recordings.ENDINGS:
            os.replace(beside + ending, base + ending)
    return Recording(base)
