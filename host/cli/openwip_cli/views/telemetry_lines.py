# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip telemetry: one JSON object a line for each message, for jq and for programs in other
languages.

The names are those of the protobuf JSON mapping (snrDb; integers of 64 bits are texts, bytes are
base64), and added to them: source, topic, lostBefore."""

import json
import sys
from collections.abc import Callable
from typing import IO

from google.protobuf import json_format

from ..cell.running import cell_lives, running_cell
from ..machine import outputs
from ..machine.places import Places
from ..messages import telemetry
from ..records.record import EVERY_DAY
from ..settings.command_line import Parser
from ..settings.kinds import Real
from . import follow


def line_of(message: telemetry.Message) -> str:
    """One line of JSON, without its end. A number that JSON does not have (NaN) is a text, as the
    mapping has it."""
    tree = {"source": message.source, "topic": message.topic, "lostBefore": message.lost_before}
    tree |= json_format.MessageToDict(message.telemetry)
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def stream(
    reader: telemetry.Reader, alive: Callable[[], bool], out: IO[str], seconds: float | None = None
) -> None:
    """Writes a line for each message until the cell ends or the time is over."""
    for messages in follow.messages(reader, alive, seconds):
        if messages:
            out.write("".join(line_of(m) + "\n" for m in messages))
            out.flush()


def main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "telemetry",
        "Prints what the processes of a running cell publish (telemetry) as lines of JSON.",
        "demo",
    )
    p.add_argument(
        "--topics",
        metavar="TOPICS",
        help=(
            "telemetry topics to print, separated by commas, or all (default: all but frames and"
            " ip, which hold the contents of frames and packets)"
        ),
    )
    p.value(
        "--duration",
        Real(0.1, 1e6),
        was="--seconds",
        metavar="S",
        help="end after this time in seconds (default: at Ctrl-C, or when the cell ends)",
    )
    p.json("the messages, an object in each line (there is no other form),")
    p.earlier["--jsonl"] = "--json"
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    topics = EVERY_DAY if given.topics is None else telemetry.topics_of(given.topics)
    cell = running_cell(given.name)
    with (
        outputs.json_lines(given.json or "-") as out,
        follow.following(telemetry.endpoints_of(cell), topics) as reader,
    ):
        assert out is not None
        stream(reader, lambda: cell_lives(cell), out, given.seconds)
    print(f"openwip: {reader.summary()}", file=sys.stderr)
    return 0
