# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a cell ends: `why` in its run folder, the Reason of mac/schema/stop.proto as JSON. The cause
decides what becomes of a process; the words are for people."""

import dataclasses
import enum
import json
import pathlib

from . import own_files

FILE = "why"


class Cause(enum.Enum):
    """Names and numbers are those of mac/schema/stop.proto, which a test compares."""

    CAUSE_UNSPECIFIED = 0
    ASKED = 1
    DIED = 2
    SILENT = 3
    GONE = 4
    UNFIT = 5
    FAILED = 6


# Something that the process depends on is lost, as exit_code_of() of host/runtime has it.
LOST = {Cause.DIED, Cause.SILENT, Cause.GONE, Cause.UNFIT, Cause.FAILED}


@dataclasses.dataclass(frozen=True)
class Reason:
    cause: Cause
    words: str

    def text(self) -> str:
        return json.dumps({"cause": self.cause.name, "words": self.words}) + "\n"


def parse(text: str) -> Reason:
    """A text that is no JSON is the words alone, of a supervisor that knew no causes."""
    try:
        tree = json.loads(text)
        return Reason(Cause[tree["cause"]], " ".join(str(tree["words"]).split()))
    except (ValueError, LookupError, TypeError):
        return Reason(Cause.CAUSE_UNSPECIFIED, " ".join(text.split()))


def write(run: pathlib.Path, reason: Reason) -> None:
    own_files.create(run / FILE, reason.text())


def read(run: pathlib.Path) -> Reason | None:
    """None: the cell has no reason to end. It is removed with the cell."""
    try:
        text = (run / FILE).read_text()
    except OSError:
        return None
    return parse(text) if text.strip() else None


def words_of(run: pathlib.Path) -> str:
    reason = read(run)
    return reason.words if reason else "asked to stop"
