# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of the uplink's curve."""

from curve_rates import crossing

# The largest share of forms lost where 10 % of the frames fail, and the largest loss of goodput by the
# codes of a form. Both were stated before they were measured.
MOST_FORMS_LOST = 1e-3
MOST_LOST_BY_CODES = 0.01  # share of the forms


def evaluate_codes(rows, goodput, errors):
    """The goodput that the steps of a feedback form cost, at the worst point."""
    worst, snr, error = min(
        (p[f"coded_at_{e}"] / p[f"measured_at_{e}"] - 1, p["snr_db"], e)
        for p in goodput
        for e in errors
    )
    rows.put(
        "goodput: predictions as codes of a feedback form over exact ones (worst point)",
        f">= {-MOST_LOST_BY_CODES:.0%}",
        f"{100 * worst:+.2f} % at {snr} dB, NMSE {error.replace('_', '.')}",
        worst >= -MOST_LOST_BY_CODES,
    )


def evaluate_uplink(rows, uplink):
    for channel, kmh in sorted({(p["channel"], p["kmh"]) for p in uplink}):
        points = [p for p in uplink if (p["channel"], p["kmh"]) == (channel, kmh)]
        name = f"uplink, {channel}" + (f" {kmh:g} km/h" if kmh else "")
        ours, told = (crossing(points, key) for key in ("form_errors", "form_errors_told"))
        if None not in (ours, told):
            rows.put(
                f"{name}: 10 % of the forms lost, over a receiver that is told the channel",
                "-",
                f"{ours - told:.2f} dB (ours {ours:.1f} dB, told {told:.1f} dB)",
            )
        failing = [p for p in points if p["fer"] >= 0.1]
        if failing:
            p = max(failing, key=lambda p: p["snr_db"])
            rows.put(
                f"{name}: forms lost where 10 % of the 16-QAM frames fail, or more",
                f"< {MOST_FORMS_LOST:g}",
                f"{p['forms_lost']} of {p['heard']} at {p['snr_db']:g} dB, where {p['fer']:.2f} fail",
                p["forms_lost"] < MOST_FORMS_LOST * p["heard"],
            )
