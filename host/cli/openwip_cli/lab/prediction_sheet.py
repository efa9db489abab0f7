# SPDX-License-Identifier: GPL-3.0-or-later
"""Worksheet 3: the error of the predicted SNR against the horizon, in slots and in wavelengths."""

import random
from collections.abc import Mapping
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..figures import prediction as theory
from ..records import prediction
from ..records.run_record import RunRecord
from .questions import Choice, Number, Report, Run, Sheet, failed_percent, ratio

CARRIER_HZ, LIGHT_MPS = 1.8e9, 299_792_458.0
SHORT_MS, LONG_MS = 2, 4  # retransmission delays, and with them horizons: 3 and 6 slots


def recorded(record: RunRecord) -> Mapping[str, float]:
    p = prediction.of_record(record)
    return {
        "horizon_slots": float(p.horizon_slots[-1]),
        "nmse": theory.nmse(p.measured_db, p.predicted_db),
    }


def wavelengths(report: Report) -> float:
    """The way of the terminal from a prediction to the slot that it is for, in wavelengths."""
    seconds = report["recorded"]["horizon_slots"] / SLOTS_PER_SECOND
    speed_mps = report["config"]["channel"]["speed_kmh"] / 3.6
    return float(seconds * speed_mps * CARRIER_HZ / LIGHT_MPS)


def nmse(report: Report) -> float:
    return float(report["recorded"]["nmse"])


def prediction_and_horizon(draw: random.Random) -> Sheet:
    speed = draw.choice([24, 26, 28, 30, 32, 34, 36])

    def moving(factor: int, delay_ms: int, **more: Any) -> dict[str, Any]:
        return {
            "channel.speed_kmh": factor * speed,
            "link.retransmission_delay_ms": delay_ms,
        } | more

    return Sheet(
        3,
        "prediction and its horizon",
        "docs/lab/prediction-and-its-horizon.md",
        {"channel.model": "jakes", "channel.snr_db": 16, "traffic.duration_s": 10},
        [
            Run("a", "your speed, three slots ahead", moving(1, SHORT_MS)),
            Run("b", "your speed, six slots ahead", moving(1, LONG_MS)),
            Run("c", "twice your speed, three slots ahead", moving(2, SHORT_MS)),
            Run(
                "d",
                "as b, but the terminal predicts from the last value alone",
                moving(1, LONG_MS) | {"phy.predictor": "last"},
            ),
        ],
        [
            Number(
                "wavelengths_b",
                "Run b: how many wavelengths does the terminal move from the slot in which a"
                " prediction is made to the slot for which it is made?",
                lambda r: wavelengths(r["b"]),
                0.02,
                hint="the horizon in seconds times the speed in m/s is the way in metres; the"
                " wavelength is the speed of light over 1.8 GHz",
            ),
            Number(
                "nmse_a",
                "Run a: which NMSE has the predicted SNR, over all bins and slots of the record?",
                lambda r: nmse(r["a"]),
                0.04,
                0.0002,
                hint="make linear SNRs of the decibels first; divide the mean of the squared"
                " error by the mean of the squared measured SNR",
            ),
            ratio(
                "nmse_b_over_a",
                "Runs a and b: how many times as large is the NMSE six slots ahead as three slots"
                " ahead?",
                nmse,
                ("b", "a"),
                0.05,
                figure="the NMSE",
                where="both from your records",
            ),
            ratio(
                "nmse_c_over_b",
                "Runs b and c: how many times as large is the NMSE at twice the speed as at twice"
                " the time?",
                nmse,
                ("c", "b"),
                0.05,
                figure="the NMSE",
                where="both from your records",
            ),
            Number(
                "theory_d",
                "Run d: compute the NMSE that theory gives for the best prediction from the last"
                " value alone, without noise: (1 - J0(2 pi d)^4) / 2 at your d wavelengths.",
                lambda r: theory.nmse_of_last_value(wavelengths(r["d"])),
                0.03,
                hint="J0 is the Bessel function of order zero (scipy.special.j0), its argument is"
                " in radians, and d is that of question 1",
            ),
            Number(
                "nmse_d",
                "Run d: which NMSE has the predicted SNR?",
                lambda r: nmse(r["d"]),
                0.04,
                hint="compute it from the record of run d as you did for run a",
            ),
            Number(
                "failed_d_over_b",
                "Runs b and d: how many times as many of the frames fail with the worse prediction"
                " (share of run d over share of run b)?",
                lambda r: failed_percent(r["d"]) / failed_percent(r["b"]),
                0.03,
                hint="the shares are on the screen in the line `link`, and in the record as"
                " about['report']['link']['frame_error_rate']",
            ),
            Choice(
                "why_wavelengths",
                "Why do twice the time and twice the speed make the prediction about as much"
                " harder?",
                {
                    "a": "the Doppler shift is added to the carrier frequency in both",
                    "b": "a slot is longer when the terminal is faster",
                    "c": "the fading depends on where the terminal is, and both double the way"
                    " that it moves meanwhile",
                },
                "c",
                hint="what have runs b and c in common that run a has not? Compute question 1 for"
                " run c",
            ),
        ],
        recorded=recorded,
    )
