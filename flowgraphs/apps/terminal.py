#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminal: slots from a USRP, reports to macd.

    usrp_source -> slot_receiver

Prints "ready" when the flowgraph runs and "locked ..." when the receiver first locks.
How it ends: see life.py."""

import argparse
from typing import Any

import command_options
import life
import priorities
import program
import radio_buffers
import usrp
from begins import RadioStart
from recording import recording_of
from tree import SLOT_SAMPLES

# Longer than from the command to the first sample: GNU Radio lets a source that had nothing for
# this long sleep for 250 ms, in which a radio that does not wait overflows. Shorter than
# life.STOP_LIMIT_S.
RECEIVE_TIMEOUT_S = 0.4
BUFFER_SAMPLES = 65536  # samples that the receiver may lag before the device's own buffer fills
ANY_CELL = -1

# Boards that change their gain when the command arrives, whatever its time (devices.yaml,
# command_timing).
UNTIMED_GAIN = ("B200", "B210", "B200mini", "B205mini", "e310", "e313", "e320", "n300", "n310")


def cell(text: str) -> int:
    return ANY_CELL if text == "any" else command_options.ranged(int, 0, 63)(text)


def build(options: argparse.Namespace) -> life.Watch:
    from gnuradio import gr, uhd, wip

    top = gr.top_block("terminal")
    source = usrp.open_radio(
        lambda: uhd.usrp_source(
            options.args,
            uhd.stream_args(
                cpu_format="fc32", args=radio_buffers.stream_arguments(options.spp), channels=[0]
            ),
        ),
        usrp.settings(options, "--receive-gain", options.receive_gain),
        options,
        priorities.SLOT_PATH_PRIORITY,
    )
    start_slot = options.start_time[0]
    gain = lowest = highest = source.get_gain(0)
    if options.gain_control == "on":
        gain_range = source.get_gain_range(0)
        lowest, highest = gain_range.start(), gain_range.stop()
    settings = {
        "cell": options.cell,
        "horizon": options.horizon,
        "combining": options.combining == "on",
        "start_slot": start_slot,
        "predictor": options.predictor,
        "gain_db": gain,
        "lowest_gain_db": lowest,
        "highest_gain_db": highest,
        "timed_gain": source.get_usrp_info(0)["mboard_id"] not in UNTIMED_GAIN,
    }
    try:
        receiver = wip.slot_receiver(
            endpoint=options.endpoint, timeout_s=options.timeout, **settings
        )
    except ValueError as e:
        program.bad_input(str(e))
    receiver.set_log_level("off")
    source.set_min_output_buffer(BUFFER_SAMPLES)
    source.set_recv_timeout(RECEIVE_TIMEOUT_S)
    converter = usrp.chain(top, source, source, receiver, options, receive=True)
    top.msg_connect(receiver, "gain", source, "command")
    recording = recording_of(receiver, options, "terminal", settings)

    def on_start_slot(slot: int) -> None:
        # The metadata of a recording get the time of the start from here; the receiver takes it
        # from the radio's samples.
        settings["start_slot"] = slot
        if converter is not None:
            converter.set_first(slot * SLOT_SAMPLES)

    radio_start = RadioStart(source, options, lambda: receiver.status()["slots"] > 0, on_start_slot)
    lock_line = LockLine(receiver)

    def tick() -> None:
        radio_start.tick()
        lock_line()

    return life.Watch(
        top, receiver, source, recording, tick, not options.no_realtime, radio_start.set_and_wait
    )


CLIPPING = 1e-4  # share of the samples from which on it is reported


class LockLine:
    """Prints one line when the receiver first locks, and one when the radio's converter first
    clips."""

    def __init__(self, receiver: Any) -> None:
        self.receiver, self.lock_reported, self.clips = receiver, False, False

    def __call__(self) -> None:
        if self.lock_reported and self.clips:
            return
        status = self.receiver.status()
        samples = SLOT_SAMPLES * status["slots"]
        if not self.clips and status["clipped"] > max(CLIPPING * samples, 100):
            self.clips = True
            print(
                f"the radio clips: {status['clipped']} of {samples} samples so far; less"
                " --receive-gain, or --gain-control on",
                flush=True,
            )
        if status["locked"] and not self.lock_reported:
            self.lock_reported = True
            unlocked = status["slots"] - status["slots_locked"]
            print(
                f"locked: cell {status['cell']} after {unlocked} slots, CFO {status['cfo_hz']:.0f}"
                f" Hz, mean SNR {status['mean_snr_db']:.1f} dB",
                flush=True,
            )


def main() -> None:
    p = command_options.parser(__doc__.split("\n\n")[0])
    p.add_argument(
        "--cell",
        type=cell,
        default=ANY_CELL,
        help="identity of the cell, 0..63, or any: the strongest (default)",
    )
    p.add_argument(
        "--receive-gain", type=command_options.ranged(float, -100, 200), default=0.0, help="dB"
    )
    command_options.setting(p, "phy.gain_control")
    p.add_argument(
        "--horizon",
        type=command_options.ranged(int, 0, 64),
        default=3,
        help="SNR is predicted this many slots ahead",
    )
    command_options.setting(p, "link.combining")
    command_options.setting(p, "phy.predictor")
    p.add_argument(
        "--spp",
        type=command_options.ranged(int, 64, SLOT_SAMPLES),
        help="samples per packet of the radio, 64..5120 (default: as the radio has it)",
    )
    options = p.parse_args()
    program.give_up_rights(options)
    build(options).run()


if __name__ == "__main__":
    program.run_program(main)
