# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenWIP from Python: open a record as data frames, run a cell, follow the telemetry of one.

    import openwip

    with openwip.open_record("run.h5") as record:
        slots = record.frame("slot", "base")        # pandas.DataFrame, a row for each message
        print(slots["snr_db.0"].mean())

    report = openwip.run("emulate", generator=True, snr=20, duration=5)
    print(report["verdict"], report["link"])

    for message in openwip.telemetry("demo", topics=["slot"], duration=10):
        print(message.source, message.telemetry.slot)

    print(openwip.estimate([4.2, 4.5, 4.1]).text())  # mean and 95 % confidence interval

docs/reference/python.md has an example of each. Errors are OpenWipError; what it says is one line."""

from openwip_cli.errors import Stop as OpenWipError
from openwip_cli.figures.estimates import Estimate, difference, estimate, ratio

from .live import telemetry
from .record import Record, nmse, open_record
from .run import RunFailed, run

__all__ = [
    "Estimate",
    "OpenWipError",
    "Record",
    "RunFailed",
    "difference",
    "estimate",
    "nmse",
    "open_record",
    "ratio",
    "run",
    "telemetry",
]
