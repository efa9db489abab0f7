# SPDX-License-Identifier: GPL-3.0-or-later
"""A USRP as a station needs it: opened, set up, with its start, gain or power, and rate."""

import argparse
import fractions
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import radio_buffers
import radio_time
from priorities import started_with_priority
from program import bad_input, say, tell
from tree import SAMPLE_RATE, radios

EARLY_SAMPLES = 64  # radio samples by which a stream starts before the cell's first sample
CONVERTER_BUFFER = 32768  # samples: some slots, so that nothing waits for room


def open_radio(
    make: Callable[[], Any],
    settings: Iterable[Callable[[Any], None]],
    options: argparse.Namespace,
    priority: int,
) -> Any:
    """A UHD block of gr-uhd, set up, with its clock and time as they have to be; ends the program
    in one line when the device refuses, or what it needs does not come. From then on
    options.start_time is the start (slot, whole seconds, fraction of a second), and
    options.defaults are the defaults of the device."""
    from gnuradio import uhd

    options.early_s = 0
    try:
        options.defaults = radios.defaults_for(options.args, find_devices)
        options.args = radio_buffers.with_defaults(options.args, options.defaults)
        with started_with_priority(not options.no_realtime, priority):
            radio = make()
        for setting in settings:
            setting(radio)
        radio_time.prepare(radio, options.clock_source, options.time_source, uhd.time_spec)
        set_start(radio, options)
    except RuntimeError as e:
        bad_input("radio: " + " ".join(str(e).split()))
    return radio


def find_devices(arguments: str) -> list[dict[str, str]]:
    from gnuradio import uhd

    return [
        radios.device_arguments(found.to_string()) for found in uhd.find(uhd.device_addr(arguments))
    ]


def exact(time_spec: Any) -> fractions.Fraction:
    return time_spec.get_full_secs() + fractions.Fraction(time_spec.get_frac_secs())


def set_start(radio: Any, options: argparse.Namespace) -> Any:
    """Sets the start of the radio's stream and returns it. With --start-in it counts from now, so
    this may be called again while nothing streams."""
    from gnuradio import uhd, wip

    if options.start_in is not None:
        options.start_time = radio_time.time_of_slot(
            radio_time.first_slot(exact(radio.get_time_now()), fractions.Fraction(options.start_in))
        )
    start = (
        fractions.Fraction(options.start_time[0] * wip.SLOT_SAMPLES, SAMPLE_RATE) - options.early_s
    )
    full = math.floor(start)
    at = uhd.time_spec(full, float(start - full))
    radio.set_start_time(at)
    return at


# nominal_transmit_level (blocks/types/db.h): power of the carrier when all bins are in use
CARRIER_DBFS = -15.0


def transmit_power(radio: Any, dbm: float) -> None:
    """Sets the transmit power by UHD's power calibration, whose reference is the power of full
    scale."""
    if not radio.has_power_reference(0):
        bad_input(
            "--tx-power: the radio has no power calibration (uhd_power_cal.py makes one); valid:"
            " --transmit-gain"
        )
    powers = radio.get_power_range(0)
    lowest, highest = powers.start() + CARRIER_DBFS, powers.stop() + CARRIER_DBFS
    if not lowest <= dbm <= highest:
        bad_input(f"--tx-power is {dbm:g}; valid with this radio: {lowest:g}..{highest:g} dBm")
    radio.set_power_reference(dbm - CARRIER_DBFS, 0)
    tell(carrier_dbm=radio.get_power_reference(0) + CARRIER_DBFS, gain_db=radio.get_gain(0))


def set_rate(radio: Any) -> tuple[int, int]:
    """Sets the sample rate of the radio and returns it as (clock, divider): the cell's rate if the
    radio has it, otherwise the lowest one above it. Its divider is even where possible, since the
    radio then filters with half-band filters."""
    clock = round(radio.get_clock_rate())
    divider = clock // SAMPLE_RATE
    if abs(radio.get_samp_rate() - SAMPLE_RATE) < 1:
        return SAMPLE_RATE, 1
    divider -= divider % 2 if divider > 1 else 0
    if divider < 1:
        bad_input(f"radio: its clock is {clock} Hz; valid: {SAMPLE_RATE} Hz or more")
    radio.set_samp_rate(clock / divider)
    rate = radio.get_samp_rate()
    if abs(rate - clock / divider) > 1:
        bad_input(
            f"radio: its sample rate is {rate:.0f}; valid: {SAMPLE_RATE}, or {clock}/{divider} of"
            " its clock"
        )
    return clock, divider


def chain(
    top: Any, radio: Any, first: Any, last: Any, options: argparse.Namespace, receive: bool
) -> Any:
    """Connects first to last, one of which is the radio, through a converter where the radio has
    another rate than the cell. Returns it, or None."""
    from gnuradio import wip

    clock, divider = set_rate(radio)
    if (clock, divider) == (SAMPLE_RATE, 1):
        top.connect(first, last)
        return None
    if receive:  # starts some samples earlier, from which the cell's first sample is interpolated
        options.early_s = fractions.Fraction(EARLY_SAMPLES * divider, clock)
        set_start(radio, options)
        converter = wip.rate_converter(
            clock, divider, SAMPLE_RATE, 1, first=options.start_time[0] * wip.SLOT_SAMPLES
        )
    else:
        converter = wip.rate_converter(SAMPLE_RATE, 1, clock, divider)
    converter.set_min_output_buffer(CONVERTER_BUFFER)
    say(
        f"the radio runs at {clock / divider / 1e6:.6f} MS/s, converted"
        f" {'to' if receive else 'from'} 7.68"
    )
    top.connect(first, converter, last)
    return converter


def set_gain(radio: Any, flag: str, gain: float) -> None:
    """Sets the gain; UHD takes the nearest one that the radio has and does not report it."""
    gains = radio.get_gain_range(0)
    if not gains.start() <= gain <= gains.stop():
        bad_input(
            f"{flag} is {gain:g}; valid with this radio: {gains.start():g}..{gains.stop():g} dB"
        )
    radio.set_gain(gain, 0)


def settings(
    options: argparse.Namespace, flag: str, gain: float
) -> Iterator[Callable[[Any], None]]:
    from gnuradio import uhd

    yield lambda r: r.set_samp_rate(SAMPLE_RATE)
    yield lambda r: r.set_center_freq(options.freq)
    yield lambda r: set_gain(r, flag, gain)
    if options.antenna:
        yield lambda r: r.set_antenna(options.antenna)
    if options.reset_time:
        yield lambda r: r.set_time_now(uhd.time_spec(0.0))


def tell_time(radio: Any, block: Any) -> Callable[[], None]:
    """Returns a function that reads the radio's clock for the block. Watch calls it before the start
    and ten times a second."""

    def read_clock() -> None:
        now = radio.get_time_now()
        block.set_radio_time(now.get_full_secs(), now.get_frac_secs(), time.monotonic_ns())

    return read_clock
