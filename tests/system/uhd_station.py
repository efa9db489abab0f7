# SPDX-License-Identifier: GPL-3.0-or-later
"""A stock gr-uhd flowgraph for a test: uhd_station.py send|receive ARGS SAMPLES [DELAY].

send: sends SAMPLES samples of a pseudo-random stream from device time 0.1 s on. receive: takes as
many from the same time on, and exits with 0 only if the stream begins DELAY samples (default 0)
later and is the same in every bit."""

import sys

import numpy as np
from gnuradio import blocks, gr, uhd

PERIOD = 51200  # samples after which the stream repeats


def stream():
    random = np.random.default_rng(1)
    x = random.standard_normal(PERIOD) + 1j * random.standard_normal(PERIOD)
    return (0.1 * x).astype(np.complex64)


def main():
    what, args, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    top = gr.top_block()
    radio = {"send": uhd.usrp_sink, "receive": uhd.usrp_source}[what](
        args, uhd.stream_args(cpu_format="fc32", channels=[0])
    )
    radio.set_samp_rate(7.68e6)
    radio.set_center_freq(1.8e9)
    radio.set_gain(0)
    radio.set_start_time(uhd.time_spec(0.1))
    head = blocks.head(gr.sizeof_gr_complex, count)
    if what == "send":
        top.connect(blocks.vector_source_c(stream().tolist(), True), head, radio)
        top.run()
        return 0
    sink = blocks.vector_sink_c()
    top.connect(radio, head, sink)
    top.run()
    got = np.array(sink.data(), dtype=np.complex64)
    silence = np.zeros(int(sys.argv[4]) if len(sys.argv) > 4 else 0, dtype=np.complex64)
    sent = np.concatenate([silence, np.tile(stream(), count // PERIOD + 1)])[:count]
    wrong = np.flatnonzero(got != sent[: got.size])
    print(
        f"{got.size} samples, {wrong.size} not as sent"
        + (f", from sample {wrong[0]} ({got[wrong[0]]}) to {wrong[-1]}" if wrong.size else "")
    )
    return 0 if np.array_equal(got, sent) else 1


if __name__ == "__main__":
    sys.exit(main())
