# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording on disk: BASE.sigmf-data, BASE.sigmf-meta, and BASE.openwip-slots, the slot reports
of the live receiver. An error of one is one line that names the file and what would be valid."""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import stat
import struct
from typing import Any, NoReturn

from ..air import SAMPLE_RATE
from ..errors import BadInput
from ..machine import outputs
from ..text import LONGEST_TABLE, of_file, of_json
from . import core_fields

DATA, META, SLOTS = ENDINGS = ".sigmf-data", ".sigmf-meta", ".openwip-slots"
# The files of a station's recording, in the order that flowgraphs/apps/recording.py takes them.
WRITTEN = {"terminal": (DATA, META, SLOTS), "base": (DATA, META)}
DATATYPE = "cf32_le"
SIGMF_VERSION = "1.2.0"
MARGIN = 1.1  # factor on the size of the samples, for the slot reports
BYTES_PER_SAMPLE = 8  # complex64
SLOTS_MAGIC = b"OWSLOTS1"
LARGEST_REPORT = 1 << 20  # bytes of one slot report
LARGEST_REPORTS = 2 << 30  # bytes of the file with all of them
MOST_NAMES = 5  # names of recordings in a message


def base_of(path: pathlib.Path | str) -> str:
    """The name without the ending, whichever of the three files was named."""
    text = str(path)
    for ending in (DATA, META, SLOTS):
        if text.endswith(ending):
            return text.removesuffix(ending)
    return text


@functools.cache
def extension_schema() -> dict[str, Any]:
    return json.loads(pathlib.Path(__file__).with_name("sigmf-openwip.schema.json").read_text())


def extension_version() -> str:
    """The last word of the schema's title."""
    return str(extension_schema()["title"].split()[-1])


class Recording:
    def __init__(self, path: pathlib.Path | str) -> None:
        self.base = base_of(path)
        self.meta_path, self.data_path, self.slots_path = (
            pathlib.Path(self.base + ending) for ending in (META, DATA, SLOTS)
        )
        self.meta = self._read_meta()
        self.whole = self.meta["global"]
        self._check_kind()
        self._check_length()

    # --- what is in it ---

    @property
    def samples(self) -> int:
        return int(self.whole["openwip:samples"])

    @property
    def captures(self) -> list[dict[str, Any]]:
        return list(self.meta["captures"])

    @property
    def gaps(self) -> list[dict[str, Any]]:
        return [a for a in self.meta["annotations"] if "openwip:lost_by" in a]

    def reports(self) -> list[bytes]:
        """Serialised SlotReports of the live receiver, in order."""
        return read_reports(self.slots_path)

    # --- checks ---

    def _wrong(self, text: str, path: pathlib.Path | str | None = None) -> NoReturn:
        raise BadInput(f"recording {path or self.meta_path}: {text}")

    def _what_is_there(self) -> str:
        """The end of the message for a name that is no recording: which recordings the folder
        has."""
        folder = self.meta_path.parent
        names = sorted(p.name.removesuffix(META) for p in folder.glob(f"*{META}"))
        shown = ", ".join(names[:MOST_NAMES]) + (
            f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        )
        return (
            f"valid: the name of a recording, NAME{META} and NAME{DATA}, with or without the"
            f" ending; in {folder}: {shown or 'none'}"
        )

    def _read_meta(self) -> dict[str, Any]:
        try:
            check_is_file(self.meta_path)
            meta = of_json(of_file(self.meta_path, LONGEST_TABLE))
        except OSError as e:
            self._wrong(f"{e.strerror}; {self._what_is_there()}")
        except ValueError:
            self._wrong("is not JSON; valid: the metadata of a SigMF recording")
        return self._checked_meta(meta)

    def _checked_meta(self, meta: Any) -> dict[str, Any]:
        whole = meta.get("global") if isinstance(meta, dict) else None
        if not isinstance(whole, dict) or "core:version" not in whole:
            self._wrong(
                "has no global object with core:version; valid: the metadata of a SigMF recording"
            )
        if why := core_fields.wrong(meta):
            self._wrong(why)
        return dict(meta)

    def _check_kind(self) -> None:
        g = self.whole
        extensions = g.get("core:extensions", [])
        if not (
            isinstance(extensions, list)
            and any(isinstance(e, dict) and e.get("name") == "openwip" for e in extensions)
        ):
            self._wrong(
                "does not declare the extension openwip; valid: a recording of ./openwip demo"
                " --record-iq or ./openwip iq record; ./openwip iq import makes one of it"
            )
        for key, valid in (
            ("core:datatype", DATATYPE),
            ("core:sample_rate", SAMPLE_RATE),
            ("core:num_channels", 1),
        ):
            if g.get(key, 1 if key == "core:num_channels" else None) != valid:
                self._wrong(
                    f"{key} is {g.get(key)!r}; valid: {valid}"
                    + (" (./openwip iq import resamples)" if key == "core:sample_rate" else "")
                )
        import jsonschema

        try:
            jsonschema.validate(self.meta, extension_schema())
        except jsonschema.ValidationError as e:
            at = "/".join(str(part) for part in e.absolute_path) or "the top"
            self._wrong(f"{at}: {e.message[:200]}")

    def _check_length(self) -> None:
        try:
            check_is_file(self.data_path)
            # opened now, so that a user who may not read it gets the error now
            with open(self.data_path, "rb") as f:
                size = os.fstat(f.fileno()).st_size
        except OSError as e:
            self._wrong(
                f"{e.strerror}; valid: the samples beside {self.meta_path.name}", self.data_path
            )
        if size != self.samples * BYTES_PER_SAMPLE:
            self._wrong(
                f"has {size} bytes; valid: {self.samples * BYTES_PER_SAMPLE}, the {self.samples}"
                f" samples of {BYTES_PER_SAMPLE} bytes that the metadata announce",
                self.data_path,
            )
        begins = [c["core:sample_start"] for c in self.captures]
        if begins != sorted(set(begins)) or any(b >= max(self.samples, 1) for b in begins):
            self._wrong(f"captures begin at {begins}; valid: ascending, below {self.samples}")

    def check_hash(self) -> bool:
        """The hash of the samples, when the metadata has one; it reads all of them."""
        wanted = self.whole.get("core:sha512")
        if wanted is not None and sha512(self.data_path) != wanted:
            self._wrong(
                "its SHA-512 differs from core:sha512 in the metadata, so these are not the"
                " samples that were recorded; valid: the samples as they were",
                self.data_path,
            )
        return wanted is not None


def check_is_file(path: pathlib.Path | str) -> None:
    """OSError, BadInput: opening a FIFO would wait for somebody to write into it."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # open() says what a folder is
        raise BadInput(f"recording {path}: is no file; valid: a file")


def sha512(path: pathlib.Path | str) -> str:
    digest = hashlib.sha512()
    with open(path, "rb") as f:
        while piece := f.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


def read_reports(path: pathlib.Path | str) -> list[bytes]:
    try:
        check_is_file(path)
        if (size := os.stat(path).st_size) > LARGEST_REPORTS:
            raise BadInput(f"slot reports {path}: has {size} bytes; valid: up to {LARGEST_REPORTS}")
        raw = pathlib.Path(path).read_bytes()
    except OSError as e:
        raise BadInput(f"slot reports {path}: {e.strerror}") from None
    if not raw.startswith(SLOTS_MAGIC):
        raise BadInput(f"slot reports {path}: begins with {raw[:8]!r}; valid: {SLOTS_MAGIC!r}")
    at = len(SLOTS_MAGIC)
    found: list[bytes] = []
    while at < len(raw):
        length = struct.unpack_from("<I", raw, at)[0] if at + 4 <= len(raw) else LARGEST_REPORT + 1
        if length > LARGEST_REPORT or at + 4 + length > len(raw):
            raise BadInput(
                f"slot reports {path}: report {len(found)} at byte {at} is cut off; valid: whole"
                " reports, as the receiver wrote them"
            )
        found.append(raw[at + 4 : at + 4 + length])
        at += 4 + length
    return found


# --- the files of a recording that is to be made ---


def check_place(path: pathlib.Path | str, seconds: float, option: str) -> str:
    """Absolute name without ending. Refuses what cannot be written, and what the disk has no room
    for."""
    base = pathlib.Path(base_of(path)).absolute()
    outputs.check(option, base)
    needed, free = (
        MARGIN * seconds * SAMPLE_RATE * BYTES_PER_SAMPLE,
        shutil.disk_usage(base.parent).free,
    )
    if needed > free:
        raise BadInput(
            f"{option} {path}: a recording of {seconds:g} s needs {needed / 1e9:.1f} GB, and"
            f" {base.parent} has {free / 1e9:.1f} GB free; valid: a shorter recording, or another"
            " folder"
        )
    return str(base)


def remove_former(base: str, *endings: str) -> None:
    for ending in endings:
        pathlib.Path(base + ending).unlink(missing_ok=True)
