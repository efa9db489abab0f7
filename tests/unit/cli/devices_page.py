# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of docs/reference/devices.md from channels/vusrp/devices.yaml. Run: writes it between its two
marks."""

import pathlib

import yaml

TOP = pathlib.Path(__file__).resolve().parents[3]
TABLE, PAGE = TOP / "channels/vusrp/devices.yaml", TOP / "docs/reference/devices.md"
MARKS = "<!-- devices: made by tests/unit/cli/devices_page.py -->\n", "<!-- devices end -->\n"


def mega(hz):
    return f"{hz / 1e6:g}"


def span(values, form=lambda v: f"{v:g}"):
    low, high, *step = values
    text = form(low) if low == high else f"{form(low)} to {form(high)}"
    return text + (f", {step[0]:g}" if step else "")


def clock(c):
    parts = [", ".join(mega(hz) for hz in c["list"])] if "list" in c else []
    if "range" in c:
        parts.append(span(c["range"], mega))
    return " or ".join(parts) + (
        ", automatic" if c.get("automatic") else f" ({mega(c['default'])})"
    )


def corners(filters):
    return ", ".join(f"{filters[part][0] / 2:g}" for part in ("butterworth", "pole"))


SENT_DBFS, RECEIVED_DBFS = -15, -20  # blocks/types/db.h, gain_control.h

ROWS = (  # title, key of its source, text of a product
    ("channels", None, lambda p: len(p["subdevices"].split())),
    ("master clock (default), MHz", "clock", lambda p: clock(p["clock"])),
    (
        "what cannot be had is",
        "clock",
        lambda p: {
            "refuse": "refused",
            "force": "forced into the range, warned",
            "default": "warned, default taken",
            "ignore": "ignored",
        }[p["clock"]["wrong"]],
    ),
    (
        "clock / sample rate",
        "decimation",
        lambda p: "; ".join(
            f"{a}..{b}" + (f" by {s}" if s > 1 else "") for a, b, s in p["decimation"]
        ),
    ),
    (
        "frequency, MHz (sent; received, if another)",
        "frequency",
        lambda p: "; ".join(
            span(p[k], mega) for k in ("transmit_frequency", "frequency") if k in p
        ),
    ),
    ("gain sent, dB, step", "gain", lambda p: span(p["transmit_gain"])),
    (
        "gain received",
        "gain",
        lambda p: span(p["receive_gain"])
        + (
            f"; to {p['receive_low_gain'][1]} up to {mega(p['receive_low_gain'][0])} MHz"
            if "receive_low_gain" in p
            else ""
        ),
    ),
    (
        "bandwidth sent, received, MHz",
        "bandwidth",
        lambda p: "; ".join(span(p[f"{d}_bandwidth"][:2], mega) for d in ("transmit", "receive")),
    ),
    (
        "analog filter, corners in bandwidths: sent; received",
        "filter",
        lambda p: "; ".join(
            corners(p[f"{d}_filter"]) if f"{d}_filter" in p else "wide"
            for d in ("transmit", "receive")
        ),
    ),
    (
        "antennas received from (default first)",
        "antennas",
        lambda p: ", ".join(p["receive_antennas"]),
    ),
    ("DAC, ADC, bits", "bits", lambda p: f"{p['dac_bits']}, {p['adc_bits']}"),
    (
        "LO leakage, dBFS; image sent, dB",
        "transmit_errors",
        lambda p: f"{p['transmit_leakage_dbfs']}; {p['transmit_image_db']}",
    ),
    (
        "DC, dBFS; image received",
        "receive_errors",
        lambda p: f"{p['receive_dc_dbfs']}; {p['receive_image_db']}",
    ),
    ("oscillator, ppm at most", "ppm", lambda p: f"{p['ppm']:g}"),
    (
        "its wander, ppm at most: in a day, warming up, by temperature",
        "analog",
        lambda p: ", ".join(f"{v:g}" for v in p["analog"]["wander_ppm"]),
    ),
    (
        "a gain setting is off by at most, dB, degrees",
        "analog",
        lambda p: ", ".join(f"{v:g}" for v in p["analog"]["gain_error"]),
    ),
    (
        "tracking of DC and image: every s, dBFS, dB",
        "analog",
        lambda p: (
            ", ".join(f"{v:g}" for v in p["analog"]["tracking"])
            if "tracking" in p["analog"]
            else "none"
        ),
    ),
    (
        "delay of the filters: sent; received, us + samples",
        "analog",
        lambda p: "; ".join(
            "{:g} + {:g}".format(*p["analog"][f"{d}_delay"]) for d in ("transmit", "receive")
        ),
    ),
    ("ramp of a burst, us", "analog", lambda p: p["analog"]["ramp_us"]),
    (
        "full scale, dBm: sent at the highest gain, received at 0",
        "full_scale",
        lambda p: ", ".join(map(str, p["full_scale_dbm"])),
    ),
    (
        "carrier, dBm: sent at the highest gain; received best at gain 0",
        "full_scale",
        lambda p: (
            f"{p['full_scale_dbm'][0] + SENT_DBFS:g}; {p['full_scale_dbm'][1] + RECEIVED_DBFS:g}"
        ),
    ),
    ("transport, each way, us", "latency", lambda p: f"{p['latency_us']} + 0..{p['spread_us']}"),
    (
        "gain, LO: timed; settle, us",
        "command_timing",
        lambda p: ("yes" if p["command_timing"] == "exact" else "no") + f"; {p['settling_us']}",
    ),
    ("commands that wait", "command_queue", lambda p: p["command_queue"]),
    ("samples in a packet", "packet", lambda p: p["packet"]),
    ("control logic", "control", lambda p: p["control"]),
    (
        "a station's lead, delay, burst, slots; what it asks for",
        None,
        lambda p: (
            ", ".join(
                str(p["station"][key] or "-")
                for key in ("lead_slots", "delay_slots", "burst_slots")
            )
            + "; "
            + (",".join(f"{k}={v}" for k, v in p["station"]["arguments"].items()) or "-")
        ),
    ),
    (
        "samples held: to be sent; received, then at the computer",
        "buffers",
        lambda p: (
            f"{p['buffers']['transmit']}; {p['buffers']['receive']}, then "
            + (
                f"{p['buffers']['frames']} frames"
                if "frames" in p["buffers"]
                else f"{p['buffers']['socket'] / 1e6:g} MB"
            )
        ),
    ),
)


def table():
    """Values; in italics what is assumed. Products that differ in their channels alone share a
    column."""
    tree = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    unused = (
        set(tree["sources"])
        - {source for product in tree["products"].values() for source in product["from"].values()}
        - {"assumed"}
    )
    if unused:
        raise ValueError(f"{TABLE}: nobody cites {', '.join(sorted(unused))}")
    columns = {}
    for name, product in tree["products"].items():
        first, *rest = [
            (
                f"*{text(product)}*"
                if key and product["from"][key] == "assumed"
                else f"{text(product)}"
            )
            for _, key, text in ROWS
        ]
        columns.setdefault(tuple(rest), []).append((name, first))
    rows = [
        ["", *(", ".join(name for name, _ in of) for of in columns.values())],
        ["---"] * (len(columns) + 1),
    ]
    rows.append([ROWS[0][0], *(", ".join(first for _, first in of) for of in columns.values())])
    rows += [[title, *(rest[i] for rest in columns)] for i, (title, _, _) in enumerate(ROWS[1:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def page():
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return before + MARKS[0] + table() + MARKS[1] + after


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
