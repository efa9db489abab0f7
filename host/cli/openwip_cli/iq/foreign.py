# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of any program, to be imported: SigMF in its forms (recording, archive, collection,
dataset of another name), or bare samples whose rate is given. Nothing is read as samples that is not
samples.

The samples are in stretches: between two of them the sample time jumps, which SigMF says by
core:global_index, core:datetime or another core:frequency."""

import contextlib
import datetime
import hashlib
import os
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from ..air import SLOT_SAMPLES
from ..errors import BadInput, not_valid
from ..machine.confined import printable
from ..text import LONGEST_TABLE, of_file, of_json
from . import containers, core_fields, recordings
from .recordings import DATA, META, Recording, check_is_file

# SigMF's name: type of a component, what full scale is, and what silence is.
DATATYPES: dict[str, tuple[str, float, float]] = {
    "cf32_le": ("<f4", 1.0, 0.0),
    "cf32_be": (">f4", 1.0, 0.0),
    "cf64_le": ("<f8", 1.0, 0.0),
    "cf64_be": (">f8", 1.0, 0.0),
    "ci32_le": ("<i4", 2.0**31, 0.0),
    "ci32_be": (">i4", 2.0**31, 0.0),
    "ci16_le": ("<i2", 2.0**15, 0.0),
    "ci16_be": (">i2", 2.0**15, 0.0),
    "ci8": ("i1", 2.0**7, 0.0),
    "cu32_le": ("<u4", 2.0**31, 2.0**31),
    "cu32_be": (">u4", 2.0**31, 2.0**31),
    "cu16_le": ("<u2", 2.0**15, 2.0**15),
    "cu16_be": (">u2", 2.0**15, 2.0**15),
    "cu8": ("u1", 2.0**7, 2.0**7),
}
PIECE = 1 << 20  # samples
MOST_CHANNELS = 256  # interleaved channels of a recording
COLLECTION = ".sigmf-collection"
# Time that a stretch is given behind the one before it, where nothing tells how much later it was.
UNKNOWN_S = 1.0


class Asked(NamedTuple):
    """Properties of the samples that the command line gives."""

    rate: float | None = None
    datatype: str | None = None
    recording: str | None = None  # name of the recording in an archive or a collection
    channel: int = 1
    checked: bool = True  # core:sha512


class Stretch(NamedTuple):
    first: int  # sample in the file
    samples: int
    time: int  # sample time of the first sample
    why: str  # the field by which the time jumps before this stretch


def rates() -> tuple[float, float]:
    """The sample rates that can be resampled: lowest and highest, in samples/s."""
    from gnuradio import wip

    return wip.resampler.lowest_hz, wip.resampler.highest_hz


def valid_rates() -> str:
    low, high = rates()
    return f"{low:.10g}..{high:.10g} (the cell occupies {low / 1e6:g} MHz)"


class Bare:
    """A file of nothing but samples."""

    channels, channel, headers = 1, 1, ()

    def __init__(self, path: pathlib.Path, rate: float, datatype: str) -> None:
        self.data_path, self.rate, self.datatype, self.offset = path, rate, datatype, 0
        self.whole: dict[str, Any] = {}
        self.captures: list[dict[str, Any]] = []
        self.samples = count(path, datatype)


class Foreign(Recording):
    """SigMF of any program."""

    def __init__(self, path: pathlib.Path | str, asked: Asked) -> None:
        self.asked = asked
        super().__init__(path)

    def _checked_meta(self, meta: Any) -> dict[str, Any]:
        # JSON of other languages has whole numbers as floats
        return super()._checked_meta(core_fields.with_whole_numbers(meta))

    def _check_kind(self) -> None:
        g, asked = self.whole, self.asked
        rate: Any = g.get("core:sample_rate")
        if rate is None:
            rate = asked.rate
            if rate is None:
                self._wrong(
                    f"core:sample_rate is missing; valid: with --sample-rate {valid_rates()}"
                )
        elif asked.rate is not None:
            raise not_valid(
                "--sample-rate",
                asked.rate,
                f"only for samples whose rate nothing says, and the metadata of {self.base} say it",
            )
        low, high = rates()
        if not isinstance(rate, (int, float)) or isinstance(rate, bool) or not low <= rate <= high:
            self._wrong(f"core:sample_rate is {rate!r}; valid: {valid_rates()}")
        datatype = g.get("core:datatype")
        if not isinstance(datatype, str) or datatype not in DATATYPES:
            real = isinstance(datatype, str) and datatype[:1] == "r"
            self._wrong(
                f"core:datatype is {datatype!r}"
                + ", real samples, which hold one half of the spectrum twice" * real
                + f"; valid: {', '.join(DATATYPES)}"
            )
        if g.get("core:metadata_only") is True:
            self._wrong("core:metadata_only is true, so there are no samples; valid: samples")
        self.channels = g.get("core:num_channels", 1)
        if type(self.channels) is not int or not 1 <= self.channels <= MOST_CHANNELS:
            self._wrong(f"core:num_channels is {self.channels!r}; valid: 1..{MOST_CHANNELS}")
        if not 1 <= asked.channel <= self.channels:
            raise not_valid(
                "--channel",
                asked.channel,
                f"1..{self.channels}",
                more=f", and {self.meta_path} has {self.channels}",
            )
        self.channel = asked.channel
        if needed := core_fields.needed_extensions(self.meta):
            self._wrong(
                f"core:extensions needs {', '.join(printable(n, 60) for n in needed[:5])}; valid:"
                " extensions that are optional, or openwip"
            )
        self.rate, self.datatype = float(rate), datatype
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

    offset = 0  # byte in the file at which the samples begin
    channels = channel = 1

    def _where(self) -> tuple[pathlib.Path, int]:
        """The file with the samples, and how many of its bytes are theirs. OSError."""
        name = self.whole.get("core:dataset")
        if name is not None:
            if not isinstance(name, str) or pathlib.PurePath(name).name != name or not name:
                self._wrong(f"core:dataset is {name!r}; valid: a file in the same folder")
            self.data_path = self.meta_path.with_name(name)
            check_is_file(self.data_path)
            # SigMF describes the bytes around the samples; any other such file is a container.
            if not (self.whole.get("core:trailing_bytes") or self._header_bytes()):
                refuse_container(self.data_path)
        else:
            check_is_file(self.data_path)
            if not self._header_bytes():
                refuse_container(self.data_path)
        return self.data_path, os.stat(self.data_path).st_size

    def _header_bytes(self) -> int:
        found = self.meta.get("captures")
        return sum(c.get("core:header_bytes", 0) for c in found) if isinstance(found, list) else 0

    def _check_length(self) -> None:
        try:
            path, size = self._where()
        except OSError as e:
            self._wrong(
                f"{e.strerror}; valid: the samples beside {self.meta_path.name}", self.data_path
            )
        around = self._header_bytes() + self.whole.get("core:trailing_bytes", 0)
        self.count = counted(size - around, path, self.datatype, self.channels)
        found: Any = self.meta.get("captures")
        good = isinstance(found, list)
        if good:
            # Indices count from the first sample of the whole recording, of which this file is a
            # part that begins at core:offset.
            offset = self.whole.get("core:offset", 0)
            found = [
                c | {"core:sample_start": c.get("core:sample_start", offset) - offset}
                for c in found
            ]
            self.meta["captures"] = found
        begins = [c["core:sample_start"] for c in found] if good else []
        if (
            not good
            or begins != sorted(set(begins))
            or any(not 0 <= b < self.count for b in begins)
        ):
            self._wrong(
                f"captures do not divide its {self.count} samples; valid: core:sample_start"
                " ascending and within the samples, from core:offset on"
            )
        self.headers = tuple(
            (c["core:sample_start"], c["core:header_bytes"])
            for c in found
            if c.get("core:header_bytes")
        )
        self._check_hash(path, size)

    def _check_hash(self, path: pathlib.Path, size: int) -> None:
        wanted = self.whole.get("core:sha512")
        if wanted is None or not self.asked.checked:
            return
        digest, left = hashlib.sha512(), size
        with open(path, "rb") as f:
            f.seek(self.offset)
            while left and (piece := f.read(min(left, 1 << 22))):
                digest.update(piece)
                left -= len(piece)
        if digest.hexdigest() != wanted.lower():
            self._wrong(
                f"core:sha512 is {wanted[:16]}..., and the samples have"
                f" {digest.hexdigest()[:16]}...: they are not those that the metadata were made"
                " for; valid: the samples as they were, or with --unchecked"
            )

    @property
    def samples(self) -> int:
        return self.count


class Archived(Foreign):
    """SigMF in an archive."""

    def __init__(self, path: str, asked: Asked) -> None:
        try:
            self.stored = containers.stored(path, asked.recording)
        except OSError as e:
            raise BadInput(f"archive {path}: {e.strerror}; valid: a SigMF archive") from None
        self.archive = pathlib.Path(path)
        self.offset = self.stored.offset
        super().__init__(path, asked)

    def _read_meta(self) -> dict[str, Any]:
        self.meta_path = self.archive / printable(self.stored.name + META, 100)  # used in messages
        try:
            return self._checked_meta(of_json(self.stored.meta.decode()))
        except ValueError:
            self._wrong("is not JSON; valid: the metadata of a SigMF recording")

    def _where(self) -> tuple[pathlib.Path, int]:
        self.data_path = self.archive
        return self.archive, self.stored.size


def member(file: str, asked: Asked) -> str:
    """Base name of the recording of a collection that was asked for, or of its only one; its
    metadata are those that the collection names."""
    path = pathlib.Path(file)
    try:
        check_is_file(path)
        tree = of_json(of_file(path, LONGEST_TABLE))
        streams = tree["collection"].get("core:streams", [])
        named = {
            s["name"].removesuffix(META): s.get("hash") for s in streams if isinstance(s, dict)
        }
    except OSError as e:
        raise BadInput(f"collection {file}: {e.strerror}; valid: a SigMF collection") from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise BadInput(
            f"collection {file}: is no JSON object collection with core:streams, a list of objects"
            " with name and hash; valid: a SigMF collection"
        ) from None
    names = list(named)
    listed = ", ".join(printable(n, 60) for n in names[: containers.MOST_NAMES]) + (
        f" and {len(names) - containers.MOST_NAMES} more"
        if len(names) > containers.MOST_NAMES
        else ""
    )
    chosen = asked.recording or (names[0] if len(names) == 1 else None)
    if chosen is None or chosen not in named:
        raise BadInput(
            f"collection {file}: holds"
            f" {'the recordings ' + listed if names else 'no recording'}; valid: "
            + ("one of them with --recording NAME" if names else "core:streams with members")
        )
    if pathlib.PurePath(chosen).name != chosen:
        raise BadInput(
            f"collection {file}: names {printable(chosen, 60)}; valid: recordings in the same"
            " folder"
        )
    base = str(path.with_name(chosen))
    wanted = named[chosen]
    if wanted and asked.checked:
        with contextlib.suppress(OSError):  # opening the recording reports what is missing
            found = hashlib.sha512(pathlib.Path(base + META).read_bytes()).hexdigest()
            if found != str(wanted).lower():
                raise BadInput(
                    f"collection {file}: the hash of {printable(chosen, 60)} is"
                    f" {printable(str(wanted)[:16], 16)}..., and its metadata have"
                    f" {found[:16]}...; valid: the metadata as they were, or with --unchecked"
                )
    return base


def refuse_container(path: pathlib.Path) -> None:
    if kind := containers.kind_of(path):
        raise not_valid(
            f"samples {path}",
            kind,
            "a file of nothing but samples, or a SigMF recording or archive (tar)",
            more=", not samples",
        )


def count(path: pathlib.Path, datatype: str) -> int:
    """The number of its samples; BadInput: no whole ones, or less than a slot."""
    try:
        check_is_file(path)
        size = os.stat(path).st_size
        refuse_container(path)
    except OSError as e:
        raise BadInput(f"samples {path}: {e.strerror}; valid: a file of {datatype}") from None
    return counted(size, path, datatype)


def size_of(datatype: str, channels: int = 1) -> int:
    """Bytes of a sample of all channels."""
    return 2 * channels * numpy.dtype(DATATYPES[datatype][0]).itemsize


def counted(size: int, path: pathlib.Path, datatype: str, channels: int = 1) -> int:
    """The samples in so many bytes."""
    each = size_of(datatype, channels)
    if size < 0 or size % each or size < each * SLOT_SAMPLES:
        raise BadInput(
            f"samples {path}: has {size} bytes; valid: a multiple of {each} ({datatype}"
            f"{f' of {channels} channels' if channels > 1 else ''}),"
            f" {each * SLOT_SAMPLES} or more ({SLOT_SAMPLES} samples)"
        )
    return size // each


def opened(
    file: str,
    rate: float | None,
    datatype: str | None,
    name: str | None = None,
    channel: int = 1,
    checked: bool = True,
) -> Bare | Foreign:
    """A recording of any known form. `rate` (samples per second) and `datatype` are used for
    samples without metadata. `name`: the recording to take from an archive or a collection of
    several."""
    asked = Asked(rate, datatype, name, channel, checked)
    archive = False
    with contextlib.suppress(OSError):
        archive = not file.endswith((DATA, META)) and containers.kind_of(file) == containers.TAR
    collection = file.endswith(COLLECTION)
    sigmf = archive or collection or file.endswith((DATA, META)) or os.path.exists(file + META)
    if sigmf and datatype is not None:
        raise not_valid(
            "--datatype", datatype, f"only for bare samples, the metadata of {file} say it"
        )
    if archive:
        return Archived(file, asked)
    if collection:
        return Foreign(member(file, asked), asked)
    if name is not None:
        raise not_valid(
            "--recording", name, f"only for a SigMF archive or collection, and {file} is none"
        )
    if sigmf:
        return Foreign(file, asked)
    if channel != 1:
        raise not_valid("--channel", channel, f"only for SigMF, and {file} is none")
    path = pathlib.Path(file)
    if rate is None:
        if not path.exists():
            Foreign(file, asked)  # says what recordings there are
        if path.is_file():
            # says which container it is, and what is too short
            count(path, datatype or "cf32_le")
        raise BadInput(
            f"samples {file}: have no {META} beside them; valid: with --sample-rate {valid_rates()}"
        )
    return Bare(path, rate, datatype or "cf32_le")


# --- stretches ---


def instant(text: str) -> tuple[float, float] | None:
    """Seconds since 1970, and how exactly they are written. None: no time as SigMF has it."""
    whole, _, rest = text.rstrip("Zz").partition(".")
    if rest and not rest.isdecimal():
        return None
    try:
        at = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return at.timestamp() + float(f"0.{rest or 0}"), 10.0 ** -len(rest)


def stretches(source: Bare | Foreign) -> list[Stretch]:
    """The stretches of a file between jumps of the time, in its order; the first one begins at the
    time of its first capture, or at core:offset."""
    begin_time = source.whole.get("core:offset", 0)
    found: list[Stretch] = []
    before: dict[str, Any] = {}
    for capture in source.captures or [{}]:
        begin = capture.get("core:sample_start", 0)
        if not found:
            # samples before the first capture count as well
            time = capture.get("core:global_index", begin + begin_time) - begin
            if time < 0:
                raise BadInput(
                    f"samples {source.data_path}: the capture at {begin} begins at"
                    f" core:global_index {time + begin}; valid: {begin} or more"
                )
            found.append(Stretch(0, 0, time, ""))
        else:
            last = found[-1]
            follows = last.time + begin - last.first
            time, why = _jump(source, before, capture, follows)
            if why:
                found.append(Stretch(begin, 0, time, why))
        before = capture
    ends = [s.first for s in found[1:]] + [source.samples]
    return [s._replace(samples=end - s.first) for s, end in zip(found, ends)]


def _jump(
    source: Bare | Foreign, before: dict[str, Any], capture: dict[str, Any], follows: int
) -> tuple[int, str]:
    """The time of this capture, and what says that it does not follow; empty: it does."""
    begin = capture["core:sample_start"]
    index = capture.get("core:global_index")
    if index is not None:
        if index < follows:
            raise BadInput(
                f"samples {source.data_path}: the capture at {begin} begins at core:global_index"
                f" {index}; valid: {follows} or more, where the one before it ends"
            )
        if index > follows:
            return index, "samples before this one are missing in the original"
    unknown = follows + round(UNKNOWN_S * source.rate)
    old, new = before.get("core:frequency"), capture.get("core:frequency")
    if old is not None and new is not None and old != new:
        tuned = f"the original was tuned from {old / 1e6:.10g} to {new / 1e6:.10g} MHz here"
        return (unknown, tuned) if index is None else (follows, "")
    if index is None and "core:datetime" in before and "core:datetime" in capture:
        then, now = instant(before["core:datetime"]), instant(capture["core:datetime"])
        if then is None or now is None:
            raise not_valid(
                f"samples {source.data_path}: core:datetime",
                printable(repr((before if then is None else capture)["core:datetime"]), 60),
                "a time such as 2026-01-01T00:00:00.000Z",
            )
        took = (begin - before["core:sample_start"]) / source.rate
        late = now[0] - then[0] - took
        # Seconds since 1970 in a double are exact to less than a microsecond.
        if abs(late) > then[1] + now[1] + 1e-6:
            if late > 0:
                return (
                    follows + max(1, round(late * source.rate)),
                    f"core:datetime says that {late:.6g} s are missing before this one",
                )
            return unknown, f"core:datetime goes back by {-late:.6g} s here"
    return follows, ""


def pieces(source: Bare | Foreign, first: int, n: int) -> "Iterator[NDArray[numpy.complex64]]":
    """complex64, full scale 1, of the channel."""
    kind, full_scale, silence = DATATYPES[source.datatype]
    each, channels = size_of(source.datatype, source.channels), source.channels
    cuts = [begin for begin, _ in source.headers if first < begin < first + n]
    for start, stop in zip([first, *cuts], [*cuts, first + n]):
        headers = sum(size for begin, size in source.headers if begin <= start)
        offset = source.offset + headers + start * each
        components = numpy.memmap(source.data_path, kind, "r", offset, (stop - start, channels, 2))
        for begin in range(0, stop - start, PIECE):
            part = components[begin : begin + PIECE, source.channel - 1]
            wide = part.astype(numpy.float64) if silence or part.itemsize > 4 else part
            scaled = (wide - silence) / full_scale if silence else wide / full_scale
            samples = numpy.ascontiguousarray(scaled, numpy.float32).view(numpy.complex64)[:, 0]
            if not numpy.isfinite(samples).all():
                raise BadInput(
                    f"samples {source.data_path}: sample"
                    f" {start + begin + int(numpy.flatnonzero(~numpy.isfinite(samples))[0])} is no"
                    " number; valid: finite samples"
                )
            yield samples
