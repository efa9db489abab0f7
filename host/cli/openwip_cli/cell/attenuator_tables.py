# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables for the programmable attenuator: levels in quarter dB of a table (CSV) or an SNR trace, as
its chips take them."""

import csv
import math
from collections.abc import Sequence
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput, not_valid
from ..machine import snr_trace
from ..machine.places import Places
from ..messages.attenuator import STEP_DB, Attenuator
from ..settings.table import setting
from ..text import LONGEST_TABLE, of_file


def limits_of(key: str) -> tuple[float, float]:
    kind: Any = setting(f"attenuator.{key}", "demo").kind
    number = getattr(kind, "number", kind)
    return number.low, number.high


PERIOD_MS, SILENCE_MS = limits_of("period_ms"), limits_of("silence_ms")
# two chips in series
NOF_CHANNELS, MOST_DB = int(limits_of("channels")[1]), limits_of("levels_db")[1]


def quarters(where: str, text: str) -> int:
    """A level in dB as the nearest step of the chips."""
    try:
        db = float(text)
    except ValueError:
        db = math.nan
    if not 0 <= db <= MOST_DB:
        raise not_valid(where, repr(text), "0 to 63.5 dB (31.75 where chips are not in series)")
    return math.floor(db / STEP_DB + 0.5)


def channel_numbers(where: str, words: Sequence[str]) -> list[int]:
    numbers = [int(w) if w.strip().isdecimal() else 0 for w in words]
    if (
        not numbers
        or any(not 1 <= n <= NOF_CHANNELS for n in numbers)
        or numbers != sorted(set(numbers))
    ):
        raise not_valid(
            where, repr(",".join(words)), f"channels of 1..{NOF_CHANNELS}, ascending, such as 1,3"
        )
    return numbers


def read_table(path: str) -> tuple[list[int], bytes]:
    """(channels, levels). A CSV file: a line of channels (1,3), then a line of dB for each step."""
    try:
        rows = [
            (n, row)
            for n, row in enumerate(csv.reader(of_file(path, LONGEST_TABLE).splitlines()), 1)
            if row and not row[0].lstrip().startswith("#")
        ]
    except (OSError, ValueError, csv.Error) as e:
        raise BadInput(
            f"{path}: cannot be read: {getattr(e, 'strerror', None) or e}; valid: a CSV file"
        ) from None
    if len(rows) < 2:
        raise BadInput(
            f"{path} has {len(rows)} lines; valid: a line of channels (such as 1,3), then for each"
            " step a line of their levels in dB"
        )
    channels = channel_numbers(f"{path}:{rows[0][0]}", rows[0][1])
    levels = bytearray()
    for n, row in rows[1:]:
        if len(row) != len(channels):
            raise BadInput(
                f"{path}:{n} has {len(row)} values; valid: {len(channels)}, one for each channel"
            )
        levels += bytes(quarters(f"{path}:{n}", word) for word in row)
    return channels, bytes(levels)


def limits(device: Attenuator, channels: Sequence[int]) -> list[int]:
    """The most that each channel has, in quarter dB."""
    most = []
    for c in channels:
        answer = device.ask(f"INP{c}:ATT? MAX;*OPC?")
        if ";" not in answer:
            device.errors()
            raise BadInput(
                f"channel {c} of the attenuator cannot be set by itself: its chip is in series"
                f" with that of channel {c - 1}; valid: channel {c - 1}, which sets both"
            )
        most.append(round(float(answer.partition(";")[0]) / STEP_DB))
    return most


def check_levels(channels: Sequence[int], table: bytes, most: Sequence[int]) -> None:
    for column, (c, top) in enumerate(zip(channels, most)):
        if (found := max(table[column :: len(channels)])) > top:
            raise BadInput(
                f"the level of channel {c} of the attenuator is {found * STEP_DB:g} dB; valid: 0 to"
                f" {top * STEP_DB:g} "
                "(63.5 where two chips are in series: ./openwip attenuator set --series)"
            )


def mean_snr(path: str, places: Places) -> Any:
    """Mean over the bins of an SNR trace (docs/how-to/channel-traces.md) in each slot, dB."""
    import numpy

    return 10 * numpy.log10(
        (10 ** (snr_trace.first_rows(places, path).astype(float) / 10)).mean(axis=1)
    )


def levels_of(
    snr: Any, most: Sequence[int], at_zero_db: float, period_ms: int
) -> tuple[bytes, int]:
    """(levels of channels that have `most`, steps that are clipped): the attenuation that gives a
    link, whose SNR is `at_zero_db` at 0 dB, the SNR of each slot. A step takes the slot that is on
    the air when it begins."""
    import numpy

    steps = math.ceil(len(snr) / SLOTS_PER_SECOND * 1000 / period_ms)
    slots = numpy.minimum(
        (numpy.arange(steps) * period_ms * SLOTS_PER_SECOND / 1000).astype(int), len(snr) - 1
    )
    wanted = numpy.floor((at_zero_db - snr[slots]) / STEP_DB + 0.5)
    levels = numpy.clip(wanted[:, None], 0, numpy.array(most)[None, :])
    return levels.astype(numpy.uint8).tobytes(), int((levels != wanted[:, None]).any(axis=1).sum())


def prepare(
    device: Attenuator,
    trace: str,
    channels: list[int],
    at_zero_db: float | None,
    period_ms: int,
    snr: Any = None,
) -> tuple[list[int], bytes, int]:
    """(channels, levels, steps that are clipped) of a table, which names its channels, or with
    `at_zero_db` of an SNR trace, whose mean_snr() is `snr`."""
    if at_zero_db is None:
        channels, table = read_table(trace)
        check_levels(channels, table, limits(device, channels))
        return channels, table, 0
    return channels, *levels_of(snr, limits(device, channels), at_zero_db, period_ms)
