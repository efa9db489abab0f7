#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base station: slots that macd plans (or a test pattern) to a USRP.

    slot_transmitter [-> transmit_channel] -> usrp_sink, whose events go back to the transmitter

Prints "ready" when the flowgraph runs. Ends: see life.py."""

import argparse
import os
from typing import Any

import command_options
import life
import priorities
import program
import recording
import usrp
from tree import SLOT_SAMPLES

CHANNEL_BUFFER = 3 * SLOT_SAMPLES  # samples, the same as for the transmitter


def channel(text: str) -> dict[str, Any]:
    """MODEL[,KEY=VALUE...] as arguments of the block."""
    from gnuradio import wip

    kinds = {"speed_kmh": float, "shadowing": str, "user": int, "noise_dbfs": float, "seed": int}
    model, *more = text.split(",")
    found = {"channel": model}
    try:
        for one in more:
            key, _, value = one.partition("=")
            found[key] = kinds[key](value)
        wip.transmit_channel(**found)
    except KeyError:
        raise argparse.ArgumentTypeError(
            f"'{one}' is not valid; valid: {', '.join(kinds)} = VALUE"
        ) from None
    except (ValueError, TypeError) as e:
        raise argparse.ArgumentTypeError(str(e)) from None
    return found


def build(options: argparse.Namespace) -> life.Watch:
    from gnuradio import gr, uhd, wip

    top = gr.top_block("base_station")
    sink = usrp.open_radio(
        lambda: uhd.usrp_sink(options.args, uhd.stream_args(cpu_format="fc32", channels=[0]), ""),
        usrp.settings(options, "--transmit-gain", options.transmit_gain),
        options,
        priorities.TRANSMITTER_PRIORITY,
    )
    start_slot = options.start_time[0]
    try:
        transmitter = wip.slot_transmitter(
            cell=options.cell,
            endpoint=options.endpoint,
            start_slot=start_slot,
            modulation=options.modulation,
            seed=options.seed,
            timeout_s=options.timeout,
            lead_slots=options.lead,
        )
        # The medium, which passes changes on, runs as another user of the same group: the socket
        # for changes of the channel is open to the group.
        before = os.umask(0o007)
        channel_block = (
            wip.transmit_channel(**options.channel, control=options.channel_control)
            if options.channel
            else None
        )
        os.umask(before)
    except (ValueError, RuntimeError) as e:
        program.bad_input(str(e))
    transmitter.set_log_level("off")  # Watch writes the reason for its end
    transmitter.set_edge_samples(options.edge_samples)
    if options.lead:
        transmitter.set_burst_slots(options.defaults.burst_slots)
    if options.bursts_first:
        transmitter.send_bursts_first()
    if options.tx_power is not None:
        usrp.transmit_power(sink, options.tx_power)
    first = transmitter
    if channel_block is not None:
        channel_block.set_min_output_buffer(CHANNEL_BUFFER)
        top.connect(transmitter, channel_block)
        first = channel_block
    usrp.chain(top, sink, first, sink, options, receive=False)
    top.msg_connect(sink, "async_msgs", transmitter, "async")
    return life.Watch(
        top,
        transmitter,
        sink,
        recording.recording_of(transmitter, options, "base"),
        tick=usrp.tell_time(sink, transmitter) if options.lead else lambda: None,
        real_time=not options.no_realtime,
        priority=priorities.TRANSMITTER_PRIORITY,
    )


def main() -> None:
    p = command_options.parser(__doc__.split("\n\n")[0])
    p.add_argument(
        "--cell",
        type=command_options.ranged(int, 0, 63),
        default=0,
        help="identity of the cell, 0..63",
    )
    p.add_argument(
        "--transmit-gain", type=command_options.ranged(float, -100, 200), default=0.0, help="dB"
    )
    p.add_argument(
        "--tx-power",
        type=command_options.ranged(float, -200, 100),
        metavar="DBM",
        help=(
            "power of the carrier with all bins in use, by the radio's own calibration; instead of"
            " --transmit-gain"
        ),
    )
    command_options.setting(p, "link.transmit_lead_slots", "macd", "--lead")
    p.add_argument(
        "--modulation",
        type=command_options.ranged(int, 1, 8),
        default=2,
        help="test pattern (no --endpoint): bits per symbol, 1..8",
    )
    p.add_argument(
        "--seed", type=command_options.ranged(int, 0, 2**63), default=1, help="test pattern: seed"
    )
    command_options.setting(p, "radio.edge_samples")
    p.add_argument(
        "--bursts-first",
        action="store_true",
        help=(
            "send known bursts before the first slot; a fader measures the way through the radios"
            " with them"
        ),
    )
    p.add_argument(
        "--channel",
        type=channel,
        metavar="MODEL[,KEY=VALUE...]",
        help=(
            "channel before the radio: speed_kmh, shadowing, user, noise_dbfs, seed, as of the"
            " block transmit_channel"
        ),
    )
    p.add_argument(
        "--channel-control",
        metavar="ENDPOINT",
        default="",
        help="where that channel changes while it runs, as a medium's does; empty: nowhere",
    )
    options = p.parse_args()
    program.give_up_rights(options)
    build(options).run()


if __name__ == "__main__":
    program.run_program(main)
