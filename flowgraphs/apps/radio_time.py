# SPDX-License-Identifier: GPL-3.0-or-later
"""Clock and time of a station's radio: the sources that it is told to take, and what has to be
there before it starts.

Each wait ends with `Missing`, in one line: what did not come, within how long, and what to look at.
`radio` is a block of gr-uhd; a test gives its own."""

import fractions
import time
from collections.abc import Callable
from typing import Any

# a PLL takes one second or two, an oven of a GPSDO that was just switched on longer
REFERENCE_S = 10.0
GPS_S = 60.0
LO_S = 2.0
PPS_S = 2.5  # two edges at least
AGAIN_S = 0.02
# A receiver reports the second of an edge some time behind it, so it is read in the middle of the
# second.
MID_SECOND_S = 0.5
GPS_TRIES = 5  # attempts to read a GPS time that belongs to the second just begun
HINTS = {
    (
        "ref_locked",
        "external",
    ): "connect 10 MHz to REF IN (level: the device's manual), or --clock-source internal",
    ("ref_locked", "gpsdo"): "is a GPSDO fitted, and warm? else --clock-source internal",
    ("ref_locked", "internal"): "the device's own oscillator fails",
}


class Missing(RuntimeError):
    """The station waits for this and does not get it."""


def choose(radio: Any, clock_source: str, time_source: str) -> None:
    """Sets both. Raises Missing for what the device does not have."""
    for what, wanted, there, choose_it in (
        ("clock", clock_source, radio.get_clock_sources(0), lambda s: radio.set_clock_source(s, 0)),
        ("time", time_source, radio.get_time_sources(0), lambda s: radio.set_time_source(s, 0)),
    ):
        if wanted not in there:
            raise Missing(
                f"--{what}-source is '{wanted}'; valid with this device: {', '.join(there)}"
            )
        choose_it(wanted)


def wait_for(
    condition: Callable[[], bool],
    seconds: float,
    words: tuple[str, str],
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    end = now() + seconds
    while not condition():
        if now() >= end:
            raise Missing(f"{words[0]} did not come within {seconds:g} s: {words[1]}")
        sleep(AGAIN_S)


def wait_for_reference(radio: Any, clock_source: str, **clock: Any) -> None:
    """A device that has no such sensor says nothing of it, and is believed."""
    if "ref_locked" in radio.get_mboard_sensor_names(0):
        wait_for(
            lambda: radio.get_mboard_sensor("ref_locked", 0).to_bool(),
            REFERENCE_S,
            (f"ref_locked (clock source {clock_source})", HINTS["ref_locked", clock_source]),
            **clock,
        )


def wait_for_lo(radio: Any, **clock: Any) -> None:
    if "lo_locked" in radio.get_sensor_names(0):
        wait_for(
            lambda: radio.get_sensor("lo_locked", 0).to_bool(),
            LO_S,
            (
                "lo_locked",
                "the synthesizer cannot hold this frequency (--freq), or the board is faulty",
            ),
            **clock,
        )


def next_second(radio: Any, time_source: str, **clock: Any) -> int | None:
    """Waits for an edge of the second and returns the time in seconds that the device is to have at
    the next one, from the GPSDO or from this computer. None: without a common edge (internal) the
    device keeps its time, which nothing depends on."""
    if time_source == "internal":
        return None
    last = radio.get_time_last_pps(0).get_real_secs()
    wait_for(
        lambda: radio.get_time_last_pps(0).get_real_secs() != last,
        PPS_S,
        (
            f"an edge of the second (time source {time_source})",
            (
                "connect 1 PPS to PPS IN, or --time-source internal"
                if time_source == "external"
                else "is a GPSDO fitted? else --time-source internal"
            ),
        ),
        **clock,
    )
    if time_source != "gpsdo":
        return round(time.time()) + 1
    sensors = radio.get_mboard_sensor_names(0)
    if "gps_locked" in sensors:
        wait_for(
            lambda: radio.get_mboard_sensor("gps_locked", 0).to_bool(),
            GPS_S,
            (
                "gps_locked",
                "connect the GPS antenna and wait for satellites, or --time-source internal",
            ),
            **clock,
        )
    if "gps_time" not in sensors:
        raise Missing(
            "the device has no GPS time (sensor gps_time); valid: --time-source external or"
            " internal"
        )
    return gps_second(radio, **clock)[0] + 1


def gps_second(
    radio: Any,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> tuple[int, int]:
    """Second of the GPSDO and the device's second at the last edge, both of the same edge: reading
    the sensor takes up to a second."""
    for _ in range(GPS_TRIES):
        edge = radio.get_time_last_pps(0).get_full_secs()
        wait_for(
            lambda: radio.get_time_last_pps(0).get_full_secs() != edge,
            PPS_S,
            ("an edge of the second (time source gpsdo)", "is a GPSDO fitted?"),
            sleep,
            now,
        )
        sleep(MID_SECOND_S)
        edge = radio.get_time_last_pps(0).get_full_secs()
        second = radio.get_mboard_sensor("gps_time", 0).to_int()
        if radio.get_time_last_pps(0).get_full_secs() == edge:
            return second, edge
    raise Missing(
        f"an edge of the second came within each of {GPS_TRIES} readings of gps_time: the GPSDO"
        " answers too slowly; valid: --time-source external or internal"
    )


def prepare(
    radio: Any,
    clock_source: str,
    time_source: str,
    spec: Callable[[int], Any],
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Chooses the sources and sets the time, before a station computes its start. `spec`: makes a
    UHD time of whole seconds."""
    choose(radio, clock_source, time_source)
    clock: dict[str, Any] = {"sleep": sleep, "now": now}
    wait_for_reference(radio, clock_source, **clock)
    wait_for_lo(radio, **clock)
    for _ in range(GPS_TRIES):
        second = next_second(radio, time_source, **clock)
        if second is None:
            return
        set_second(radio, second, spec, **clock)
        if time_source != "gpsdo":
            return
        # The same as in UHD's sync_to_gps: both are read again, for an edge may have come between
        # reading the second and setting it.
        of_gps, of_device = gps_second(radio, **clock)
        if of_gps == of_device:
            return
    raise Missing(
        f"the device's second is {of_device}, gps_time {of_gps}, after setting it {GPS_TRIES}"
        " times: another program may set it too"
    )


def set_second(radio: Any, second: int, spec: Callable[[int], Any], **clock: Any) -> None:
    before = radio.get_time_last_pps(0).get_full_secs()
    radio.set_time_next_pps(spec(second))
    wait_for(
        lambda: radio.get_time_last_pps(0).get_full_secs() in (second, second + 1)
        and radio.get_time_last_pps(0).get_full_secs() != before,
        PPS_S,
        (
            "the time set at the edge of the second",
            (
                f"the device says {radio.get_time_last_pps(0).get_real_secs():.3f}; "
                "another program may set it too"
            ),
        ),
        **clock,
    )


def first_slot(device_seconds: fractions.Fraction, ahead_seconds: fractions.Fraction) -> int:
    """The first slot (of 1/1500 s) that begins `ahead_seconds` after a device time, or later."""
    return -int(-(device_seconds + ahead_seconds) * 1500 // 1)


def time_of_slot(slot: int) -> tuple[int, int, float]:
    """(slot, full, fraction)"""
    from gnuradio import wip

    full, samples = divmod(slot * wip.SLOT_SAMPLES, wip.SAMPLE_RATE)
    return slot, full, samples / wip.SAMPLE_RATE
