# SPDX-License-Identifier: GPL-3.0-or-later
"""terminal.radio of a replayed cell: the recording instead of a USRP, the receiver with its
settings in that recording, and the terminal's macd behind it, as in flowgraphs/apps/terminal.py.

When the recording is over it says so in RUN/replayed.json and waits for the request to stop: an end
by itself would be a radio that died.

  python -m openwip_cli replay-radio CELL FILE SPEED REPORTS      REPORTS: where the receiver's
  reports go"""

import json
import os
import signal
import sys
import threading

from ..cell import cell as cells
from ..cell.cell import Cell
from ..errors import BAD_INPUT, DIED, BadInput
from ..iq.recordings import Recording
from ..machine import own_files, reason, rights
from ..machine.places import Places

OVER = "replayed.json"
TICK_S = 0.1
STOP_LIMIT_S = 0.6  # seconds after which the process ends even if a thread hangs
BUFFER_SAMPLES = 65536  # least output buffer of the source, samples


def say(text: str) -> None:
    print(f"replay: {text}", file=sys.stderr, flush=True)


def play(cell: Cell, recording: Recording, speed: float, reports: str) -> int:
    """Exit code."""
    from gnuradio import gr, wip

    from ..iq.source import Pace, Source

    asked, over = threading.Event(), threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: asked.set())
    pace = Pace(speed)
    top, source = gr.top_block("replay"), Source(recording, pace)
    # all that is read has been opened, and there are no threads yet
    rights.hold_only(rights.REPLAY)
    receiver = wip.slot_receiver(
        endpoint=cell.line("terminal.slot"), **recording.whole["openwip:receiver"]
    )
    receiver.start_recording("", reports)
    source.set_min_output_buffer(BUFFER_SAMPLES)
    top.connect(source, receiver)
    top.start()
    print("ready", flush=True)

    def wait() -> None:
        top.wait()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    ended, code = False, 0
    while not asked.wait(TICK_S):
        if receiver.end_reason():
            say(receiver.end_reason())
            code = DIED
            break
        if source.failure:
            say(f"the samples of the recording cannot be read: {source.failure}")
            code = DIED
            break
        if over.is_set() and not ended:
            ended = True
            own_files.replace(
                cell.run / OVER,
                json.dumps(
                    {
                        "seconds": pace.seconds,
                        "slots": pace.slots,
                        "behind": pace.behind,
                        "reports_lost": receiver.stop_recording()["reports_lost"],
                    }
                ),
            )
    else:
        say(reason.words_of(cell.run))
    top.stop()
    over.wait(STOP_LIMIT_S)
    return code


def main(arguments: list[str], _places: Places) -> int:
    for name, value in (("GR_CONF_CONTROLPORT_ON", "False"), ("GR_CONF_LOG_LOG_LEVEL", "off")):
        os.environ.setdefault(name, value)
    name, file, speed, reports = arguments
    try:
        return play(cells.Cell(name, base=False), Recording(file), float(speed), reports)
    except (BadInput, ValueError, RuntimeError) as e:
        say(" ".join(str(e).split()))
        return BAD_INPUT
