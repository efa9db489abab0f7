# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip telemetry: one JSON object a line for each message, for jq and for programs in other languages.

The names are those of the protobuf JSON mapping (snrDb; integers of 64 bits are texts, bytes are
base64), and added to them: source, topic, lostBefore."""
import json
import os
import signal
import sys
import time

from google.protobuf import json_format

from ..messages import telemetry
from ..cell.running import cell_lives, running_cell
from ..records.record import LEFT_OUT
from ..settings.command_line import Parser
from ..settings.kinds import Real

DEFAULT = tuple(t for t in telemetry.TOPICS if t not in LEFT_OUT)


def line_of(message):
    """One line of JSON, without its end. A number that JSON does not have (NaN) is a text, as the mapping has it."""
    tree = {"source": message.source, "topic": message.topic, "lostBefore": message.lost_before}
    tree |= json_format.MessageToDict(message.telemetry)
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def stream(reader, alive, out, seconds=None):
    """Until the cell ends or the time is over. Returns the exit code."""
    deadline = None if seconds is None else time.monotonic() + seconds
    looked = time.monotonic()
    try:
        while deadline is None or time.monotonic() < deadline:
            messages = reader.poll(0.2)
            if messages:
                out.write("".join(line_of(m) + "\n" for m in messages))
                out.flush()
            elif time.monotonic() - looked > 0.5:
                looked = time.monotonic()
                if not alive():
                    break
    except BrokenPipeError:      # whoever read has enough; nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    return 0


def main(arguments, _places):
    p = Parser("telemetry", "Telemetry of a running cell as JSON lines on standard output.", "demo")
    p.add_argument("--topics", metavar="X", help="topics, separated by commas, or all (default all but frames and ip)")
    p.value("--seconds", Real(0.1, 1e6), metavar="S", help="end after so long (default: until Ctrl-C, or until the cell ends)")
    p.add_argument("--jsonl", action="store_true", help="JSON lines: the only form there is, and the default")
    given = p.parse_args(arguments)
    topics = DEFAULT if given.topics is None else telemetry.topics_of(given.topics)
    cell = running_cell(given.name)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    with telemetry.Reader(telemetry.endpoints_of(cell), topics) as reader:
        try:
            return stream(reader, lambda: cell_lives(cell), sys.stdout, given.seconds)
        except KeyboardInterrupt:
            return 0
        finally:
            print(f"openwip: {reader.summary()}", file=sys.stderr)
