# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of others that a test runs on a software USRP, each in a process of its own:

  foreign_radio.py python ARGS       UHD's Python API: 300 short receptions
  foreign_radio.py soapy ARGS        SoapySDR's Python API over SoapyUHD
  foreign_radio.py grc BASE TERMINAL a GNU Radio flowgraph: timed bursts, and a retune by message

What it found is one JSON object on the standard output."""

import json
import sys
import time

import numpy as np

RATE, CARRIER = 7.68e6, 1.8e9  # Hz
SHORT, TIMES = 2000, 300  # samples of a short reception; how many there are


# --- UHD's Python API ---


def python_api(args):
    import uhd

    radio = uhd.usrp.MultiUSRP(args)
    radio.set_rx_gain(20)
    sizes, powers = [], []
    for _ in range(TIMES - 50):
        x = radio.recv_num_samps(SHORT, CARRIER, RATE, [0], 20)
        sizes.append(x.shape[1])
        powers.append(float(np.mean(np.abs(x) ** 2)))
    # The same by one's own hand: a stream, and a command with a time for each reception.
    stream = radio.get_rx_stream(uhd.usrp.StreamArgs("fc32", "sc16"))
    data, metadata = np.zeros((1, SHORT), np.complex64), uhd.types.RXMetadata()
    times, errors = [], []
    for _ in range(50):
        command = uhd.types.StreamCMD(uhd.types.StreamMode.num_done)
        command.num_samps, command.stream_now = SHORT, False
        command.time_spec = when = radio.get_time_now() + uhd.types.TimeSpec(0.02)
        stream.issue_stream_cmd(command)
        got = 0
        while got < SHORT:
            n = stream.recv(data, metadata, 2.0)
            errors.append(metadata.error_code != uhd.types.RXMetadataErrorCode.none)
            if n == 0:
                break
            if got == 0:
                times.append(metadata.time_spec.get_real_secs() - when.get_real_secs())
            got += n
        sizes.append(got)
    return {
        "receptions": len(sizes),
        "sizes": sorted(set(sizes)),
        "least_power": min(powers),
        "furthest_time_s": max(map(abs, times)),
        "errors": sum(errors),
        "board": radio.get_mboard_name(),
    }


# --- SoapyUHD ---


def soapy(args):
    import SoapySDR
    from SoapySDR import (
        SOAPY_SDR_CF32,
        SOAPY_SDR_END_BURST,
        SOAPY_SDR_HAS_TIME,
        SOAPY_SDR_RX,
        SOAPY_SDR_TX,
    )

    # With Python 3.13, SoapySDR 0.8.1 takes the values of a dictionary for empty ones.
    radio = SoapySDR.Device(f"driver=uhd,{args}")
    for way, gain in (
        (SOAPY_SDR_RX, 20),
        (SOAPY_SDR_TX, radio.getGainRange(SOAPY_SDR_TX, 0).maximum() / 2),
    ):
        radio.setSampleRate(way, 0, RATE)
        radio.setFrequency(way, 0, CARRIER)
        radio.setGain(way, 0, gain)
    found = {
        "hardware": radio.getHardwareKey(),
        "rate": radio.getSampleRate(SOAPY_SDR_RX, 0),
        "frequency": radio.getFrequency(SOAPY_SDR_RX, 0),
        "gain": radio.getGain(SOAPY_SDR_RX, 0),
        "antennas": list(radio.listAntennas(SOAPY_SDR_RX, 0)),
        "sensors": list(radio.listSensors()),
    }
    receive = radio.setupStream(SOAPY_SDR_RX, SOAPY_SDR_CF32, [0])
    send = radio.setupStream(SOAPY_SDR_TX, SOAPY_SDR_CF32, [0])
    data = np.zeros(20000, np.complex64)
    burst = (0.3 * np.exp(2j * np.pi * 625e3 / RATE * np.arange(20000))).astype(np.complex64)
    begin = radio.getHardwareTime() + 50_000_000
    radio.activateStream(send)
    radio.activateStream(receive, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, begin, 60000)
    sent = 0
    while sent < burst.size:
        flags = SOAPY_SDR_END_BURST | (SOAPY_SDR_HAS_TIME if sent == 0 else 0)
        sent += radio.writeStream(
            send, [burst[sent:]], burst.size - sent, flags, begin + 1_000_000
        ).ret
    parts, times = [], []
    while sum(p.size for p in parts) < 60000:
        got = radio.readStream(receive, [data], data.size, timeoutUs=10_000_000)
        if got.ret <= 0:
            found["error"] = got.ret
            break
        times.append(got.timeNs - begin)
        parts.append(data[: got.ret].copy())
    status = radio.readStreamStatus(send, timeoutUs=5_000_000)
    x = np.concatenate(parts) if parts else data[:0]
    tone = x * np.exp(-2j * np.pi * 625e3 / RATE * np.arange(x.size))
    heard = np.abs(np.convolve(tone, np.ones(64) / 64, "same"))
    loud = np.flatnonzero(heard > heard.max() / 2) if x.size else np.array([0])
    for stream in (receive, send):
        radio.deactivateStream(stream)
        radio.closeStream(stream)
    return found | {
        "samples": int(x.size),
        "first_time_ns": times[0] if times else None,
        "burst_from": int(loud[0]),
        "burst_to": int(loud[-1]),
        "acknowledged": bool(status.ret == 0 and status.flags & SOAPY_SDR_END_BURST),
    }


# --- GNU Radio ---

BURSTS, BURST_SAMPLES, BURST_EVERY_S, START_S = 8, 4000, 0.01, 0.3
RETUNE_HZ = 100e3


def flowgraph(base, terminal):
    """Bursts by tags (tx_time, and a length that gr-uhd ends each burst by), received by another
    radio; then it is tuned anew by a message, whose command has a time."""
    import pmt
    from gnuradio import blocks, gr, uhd

    top = gr.top_block()
    stream = uhd.stream_args(cpu_format="fc32", channels=[0])
    sink = uhd.usrp_sink(base, stream, "packet_len")
    source = uhd.usrp_source(terminal, stream)
    for radio in (sink, source):
        radio.set_samp_rate(RATE)
        radio.set_center_freq(CARRIER)
    sink.set_gain(sink.get_gain_range().stop() / 2)
    source.set_gain(20)
    source.set_start_time(uhd.time_spec(START_S))
    tone = 0.5 * np.exp(2j * np.pi * 625e3 / RATE * np.arange(BURST_SAMPLES))
    tags = []
    for i in range(BURSTS):
        when = START_S + 0.005 + i * BURST_EVERY_S
        time_tag = pmt.make_tuple(pmt.from_uint64(int(when)), pmt.from_double(when - int(when)))
        for key, value in (("tx_time", time_tag), ("packet_len", pmt.from_long(BURST_SAMPLES))):
            tags.append(
                gr.tag_utils.python_to_tag((i * BURST_SAMPLES, pmt.intern(key), value, pmt.PMT_NIL))
            )
    samples = np.tile(tone, BURSTS).astype(np.complex64).tolist()
    count = int((BURSTS * BURST_EVERY_S + 0.02) * RATE)
    head, vector = blocks.head(gr.sizeof_gr_complex, count), blocks.vector_sink_c()
    top.connect(blocks.vector_source_c(samples, False, 1, tags), sink)
    top.connect(source, head, vector)
    # In the middle a timed command changes the frequency, so that half of the bursts come at
    # another one.
    change = START_S + 0.005 + (BURSTS / 2 - 0.25) * BURST_EVERY_S
    command = pmt.make_dict()
    command = pmt.dict_add(command, pmt.intern("freq"), pmt.from_double(CARRIER - RETUNE_HZ))
    at = pmt.cons(pmt.from_uint64(0), pmt.from_double(change))
    command = pmt.dict_add(command, pmt.intern("time"), at)
    source.to_basic_block()._post(pmt.intern("command"), command)
    top.run()
    x = np.array(vector.data(), np.complex64)
    envelope = np.convolve(np.abs(x), np.ones(64) / 64, "same")
    loud = envelope > envelope.max() / 2
    edges = np.flatnonzero(np.diff(loud.astype(int)))
    bursts = []
    for first, last in zip(edges[::2], edges[1::2]):
        part = x[first + 200 : last - 200]
        turns = np.angle(part[1:] * np.conj(part[:-1])).mean() / (2 * np.pi)
        bursts.append({"at": int(first), "samples": int(last - first), "hz": float(turns * RATE)})
    return {"samples": int(x.size), "bursts": bursts}


def main():
    what, *args = sys.argv[1:]
    began = time.monotonic()
    found = {"python": python_api, "soapy": soapy, "grc": flowgraph}[what](*args)
    print(json.dumps(found | {"seconds": round(time.monotonic() - began, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
