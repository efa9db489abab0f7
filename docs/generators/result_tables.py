# SPDX-License-Identifier: GPL-3.0-or-later
"""result_tables.py [--check]: the tables of docs/results that are made from kept results. A page
marks the place of each:

    <!-- table NAME -->
    ...
    <!-- end of table -->

and this program writes what stands in between from docs/results/data (tests/support/kept_result.py
says what a file there has). With --check nothing is written; exit code 1: a page differs."""

import json
import pathlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

PLACE = re.compile(r"<!-- table ([\w-]+) -->\n.*?<!-- end of table -->", re.S)


class Made(NamedTuple):
    """How a table is made."""

    data: str  # a file of docs/results/data
    rows: Callable[[dict[str, Any]], list[list[str]]]  # the first one is the head


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; a dash where there is none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return format(float(text), "f").rstrip("0").rstrip(".") if "e" in text else text


# --- tests/curves: ./openwip curves ---


def targets(data: dict[str, Any]) -> list[list[str]]:
    rows = [["quantity", "target", "measured", "reached"]]
    for t in data["targets"]:
        if t["reached"] is not None:
            reached = "yes" if t["reached"] else "**no**"
            rows.append([t["quantity"], t["target"], t["measured"], reached])
    return rows


def predictors(data: dict[str, Any]) -> list[list[str]]:
    ahead = [1, 2, 3, 4, 6, 8]
    points = {
        (p["horizon"], bool(p["shadowing"])): p
        for p in data["points"]["prediction"]
        if p["kmh"] == 75
    }
    bound = data["bounds"]

    def row(name: str, values: list[float | None]) -> list[str]:
        return [name, *(number(v) for v in values)]

    rows = [["method", *map(str, ahead)]]
    for name, key in (
        ("the latest measured value", "last"),
        ("`ar`", "ar"),
        ("`ls`", "ls"),
        ("`kalman`", "kalman"),
        ("`delay`, the default", "nmse"),
    ):
        rows.append(row(name, [points[h, False].get(key) for h in ahead]))
    if (ahead[0], True) in points:
        rows.append(row("`delay`, with shadowing", [points[h, True]["nmse"] for h in ahead]))
    for name, key in (
        ("Wiener bound, 4 pilots of one bin", "pilots"),
        ("Wiener bound, 12 known elements of 5 bins", "known"),
        ("Wiener bound, 12 known elements of all bins", "band"),
    ):
        at = dict(zip(bound["horizon"], bound.get(key, [])))
        rows.append(row(name, [at.get(h) for h in ahead]))
    return rows


SPECTRA = {
    "clarke": "Clarke's: paths from all directions",
    "flat": "flat over ±125 Hz",
    "directional": "directional: paths within 60 degrees of 40 degrees off the direction of"
    " movement",
    "two_clusters": "two clusters: early paths from about 30 degrees, late ones from about 130,"
    " each within 25",
}


def spectra(data: dict[str, Any]) -> list[list[str]]:
    methods = ["last", "ar", "ls", "kalman", "delay", "bound"]
    rows = [["Doppler spectrum", *(f"`{m}`" for m in methods[:-1]), "Wiener bound"]]
    for p in data["points"]["spectra"]:
        if p["horizon"] == 3:
            rows.append([SPECTRA[p["spectrum"]], *(number(p[m]) for m in methods)])
    return rows


ESTIMATORS = {
    "ls": "least squares at the pilots, linear interpolation",
    "pilots": "LMMSE from pilots (first estimate of the receiver)",
    "control": "LMMSE from pilots and decoded control symbols (second estimate)",
    "kalman": "the same, with a Kalman filter over all slots before",
    "decided": "decision feedback (second pass)",
    "bound_pilots": "Wiener bound, pilots",
    "bound_known": "Wiener bound, pilots and control symbols",
    "bound_past": "Wiener bound, the same of eight slots",
    "bound_all": "Wiener bound, all elements of the slot",
}
AT = [(3, 16), (3, 30), (75, 16), (75, 30)]


def estimators(data: dict[str, Any]) -> list[list[str]]:
    points = {(p["kmh"], p["snr_db"]): p for p in data["points"]["estimation"]}
    rows = [["estimator", *(f"{kmh} km/h, {snr} dB" for kmh, snr in AT)]]
    for key, name in ESTIMATORS.items():
        end = "_db" if key.startswith("bound") else "_nmse_db"
        rows.append([name, *(f"{points[at][key + end]:.1f}" for at in AT)])
    return rows


def switch_tables(data: dict[str, Any]) -> list[list[str]]:
    points = {p["snr_db"]: p for p in data["points"]["goodput"]}
    rows = [
        [
            "mean SNR",
            "prediction NMSE",
            "table for NMSE 0",
            "table for NMSE 0.1",
            "`measured`",
            "`measured` over the better fixed one",
        ]
    ]
    for snr, nmse in ((16, "0_1"), (26, "0_1"), (30, "0_2")):
        p = points[snr]
        found = [p[f"{kind}_at_{nmse}"] / 1e3 for kind in ("table_0", "table_0_1", "measured")]
        gain = round(100 * (found[2] / max(found[:2]) - 1), 1) + 0.0
        rows.append(
            [f"{snr} dB", nmse.replace("_", "."), *(f"{v:.2f}" for v in found), f"{gain:+.1f} %"]
        )
    return rows


def fidelity(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "channel",
            "16 dB, 75 km/h: rms of each seed",
            "the slot alone, without the filter",
            "28 dB, 5 km/h: rms",
        ]
    ]
    for c in data["channels"]:
        rows.append(
            [
                f"`{c['channel']}`",
                ", ".join(f"{m['rms_db']:.2f}" for m in c["noisy"]),
                ", ".join(f"{m['alone_rms_db']:.2f}" for m in c["noisy"]),
                f"{c['clear']['rms_db']:.2f}",
            ]
        )
    return rows


# --- tests/bench ---


def interrupts(data: dict[str, Any]) -> list[list[str]]:
    names = {
        "serial_us": "a byte of the serial line",
        "tick_us": "a tick",
        "put_us": "the part of a tick that writes the words to the latches over SPI",
        "tick_with_bytes_us": "a tick while bytes come without a pause",
        "tick_delay_us": "from the timer's event to the tick",
        "trigger_delay_us": "from the trigger's edge to its interrupt",
    }
    rows = [["interval", "at most, us", "budget, us"]]
    for key, name in names.items():
        rows.append([name, f"{data[key]['found']:g}", f"{data[key]['budget']:g}"])
    return rows


def adjacent_channel(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "edge, samples",
            "leakage, dB",
            "EVM, %",
            "inside the mask up to, dBm",
            "the same from 0.1 MHz beside the carrier on, dBm",
        ]
    ]
    for r in data["rows"]:
        rows.append(
            [
                str(r["edge_samples"]),
                f"{r['leakage_db']:.1f}",
                f"{r['evm_percent']:.3f}",
                f"{r['most_dbm_inside_mask']['Local Area']:.1f}",
                f"{r['most_dbm_from_100_khz_on']['Local Area']:.1f}",
            ]
        )
    return rows


def coverage(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "standard deviation of a realisation, over the mean",
            "campaigns that the rule stopped",
            "realisations, mean",
            "intervals that cover the true mean",
            "the same with all 30 realisations",
        ]
    ]
    for r in data["rows"]:
        rows.append(
            [
                f"{100 * r['spread']:g} %",
                f"{100 * r['stopped']:.1f} %",
                f"{r['realisations']:.1f}",
                f"{100 * r['covers']:.1f} %",
                f"{100 * r['covers_with_all']:.1f} %",
            ]
        )
    return rows


def packages(data: dict[str, Any]) -> list[list[str]]:
    rows = [["step on a bare machine", "seconds", "exit code"]]
    for step in data["steps"]:
        rows.append([f"`{step['command']}`", str(step["seconds"]), str(step["exit_code"])])
    return rows


# --- tests/bench/strict_radios.py ---


def share(value: float | None) -> str:
    """A share in percent."""
    return "-" if value is None else f"{100 * value:.2f} %"


def stolen(machine: list[dict[str, Any]]) -> str:
    """The share of the time that a hypervisor took, of each portion of a series."""
    taken = [100 * m["stolen"] for m in machine]
    return f"{min(taken):.1f} to {max(taken):.1f} %" if len(taken) > 1 else f"{taken[0]:.1f} %"


def strict_stalls(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "radio",
            "stalls, of each process",
            "stretched and made anew",
            "packets at a wrong time",
            "slots until the lock: medium",
            "macd of the base station, of the terminal",
            "flowgraph of the base station, of the terminal",
            "runs with exact sums",
            "time taken by the hypervisor",
        ]
    ]
    for product, found in data["stalls"].items():
        of = found["processes"]
        worst = {name: str(max(map(int, p["slots_until_locked"]))) for name, p in of.items()}
        numbers = sorted({p["stalls"] for p in of.values()})
        rows.append(
            [
                product,
                " to ".join(map(str, numbers)),
                str(sum(p["stretched"] for p in of.values())),
                number(found["packets_at_wrong_time"]),
                worst["air"],
                f"{worst['base.macd']}, {worst['terminal.macd']}",
                f"{worst['base.radio']}, {worst['terminal.radio']}",
                f"{found['runs_with_exact_sums']} of {found['runs']}",
                stolen(found["machine"]),
            ]
        )
    return rows


def strict_overflows(data: dict[str, Any]) -> list[list[str]]:
    first = next(iter(data["overflows"].values()))
    windows = [w for w in first["error_and_power"] if w != "before"]
    rows = [
        [
            "radio",
            "overflows",
            "slots without a value, median",
            "locks lost",
            "NMSE before, median",
            *(f"slots {window}" for window in windows),
            "last over before",
            "all together: before, last",
            "time taken by the hypervisor",
        ]
    ]
    for product, found in data["overflows"].items():
        gaps = sorted(int(g) for g, n in found["gap_slots"].items() for _ in range(n))
        asked = found["asked"]
        rows.append(
            [
                product,
                str(found["overflows"]),
                str(gaps[len(gaps) // 2]) if gaps else "-",
                number(found["lock_losses"]),
                number(asked["nmse_median"]["before"]),
                *(number(asked["nmse_median"][window]) for window in windows),
                number(asked["nmse_64_slots_after_over_before"]["found"]),
                ", ".join(number(asked["nmse_of_all"][w]) for w in ("before", windows[-1])),
                stolen(found["machine"]),
            ]
        )
    return rows


def strict_no_restart(data: dict[str, Any]) -> list[list[str]]:
    rows = [["radio", "cells", "ended with 3 and a reason", "longest time to the end, s"]]
    for product, found in data["no-restart"].items():
        rows.append(
            [
                f"{product}, `uhd=4.1`",
                str(found["cells"]),
                str(found["ended_with_3_and_a_reason"]),
                f"{max(map(float, found['seconds_until_the_end'])):g}",
            ]
        )
    return rows


def strict_valid(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "radio",
            "VALID",
            "late slots, at worst",
            "TCP of capacity, at least",
            "locks lost",
            "time taken by the hypervisor",
        ]
    ]
    for product, found in data["valid"].items():
        runs = found["runs"]
        late = [r["late_share"] for r in runs if r["late_share"] is not None]
        tcp = [r["tcp_of_capacity"] for r in runs if r["tcp_of_capacity"] is not None]
        rows.append(
            [
                product,
                f"{sum(r['valid'] for r in runs)} of {len(runs)}",
                share(max(late, default=None)),
                share(min(tcp, default=None)),
                str(sum(r["lock_losses"] or 0 for r in runs)),
                stolen(runs),
            ]
        )
    return rows


def strict_cost(data: dict[str, Any]) -> list[list[str]]:
    rows = [["software USRP", "processor time of the slot path, us a slot", "median"]]
    for key, name in (("this", "with the analog edge"), ("against", "without it")):
        us = data[key]["processor_us"]
        rows.append([name, ", ".join(map(str, us)), f"{data[key]['median']:g}"])
    low, high = data["interval"]
    rows.append(["ratio (interval of 95 %)", "", f"{data['ratio']:.3f} ({low:.3f} to {high:.3f})"])
    return rows


WITHOUT = {
    "end_of_burst_before_gaps": "a burst ends before skipped slots, and anew after an event",
    "packets_of_the_radio": "packets of the radio's own length (5120 samples are asked for)",
}


def without_repairs(data: dict[str, Any]) -> list[list[str]]:
    rows = [["repair that is taken back", "radio", "what the cell did"]]
    for r in data["rows"]:
        if "slots_until_locked" in r:
            slots = r["slots_until_locked"]
            late = sum(s > 30 for s in slots)
            text = (
                f"{late} of {len(slots)} stalls of the base station's processes cost the lock for"
                f" more than 30 slots, {max(slots)} at worst; locks lost: {r['lock_losses']}"
            )
        else:
            text = "VALID" if r["valid"] else "ended with an error before it received anything"
        rows.append([WITHOUT[r["without"]], r["product"], text])
    return rows


TABLES = {
    "curve-targets": Made("curves", targets),
    "predictors": Made("curves", predictors),
    "spectra": Made("curves", spectra),
    "estimators": Made("curves", estimators),
    "switch-tables": Made("curves", switch_tables),
    "fidelity": Made("fidelity", fidelity),
    "interrupts": Made("interrupts", interrupts),
    "adjacent-channel": Made("adjacent-channel", adjacent_channel),
    "stopping-rule": Made("stopping-rule", coverage),
    "packages": Made("packages", packages),
    "strict-cost": Made("strict-cost", strict_cost),
    "strict-without-repairs": Made("strict-without-repairs", without_repairs),
    "strict-stalls": Made("strict-radios", strict_stalls),
    "strict-overflows": Made("strict-radios", strict_overflows),
    "strict-no-restart": Made("strict-radios", strict_no_restart),
    "strict-valid": Made("strict-radios", strict_valid),
}


def cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def lines_of(name: str, top: pathlib.Path) -> list[str]:
    """The table, and how it was measured."""
    made = TABLES[name]
    data = json.loads((top / f"docs/results/data/{made.data}.json").read_text())
    about = data["about"]
    rows = [[cell(text) for text in row] for row in made.rows(data)]
    where = f"{about['date']}, commit {about['commit']}"
    if about.get("processor"):
        where += f", {about['processor']}, {about['cores']} cores, load {about['load']:g}"
    return [
        *table(rows),
        "",
        f"Measured with `{about['command']}`.",
        f"{where}; the numbers are in `docs/results/data/{made.data}.json`.",
    ]


def with_tables(page: pathlib.Path, top: pathlib.Path) -> str:
    """The page with its tables as the data have them."""

    def replaced(place: re.Match[str]) -> str:
        name = place[1]
        if name not in TABLES:
            raise SystemExit(f"{page}: there is no table {name}; valid: {', '.join(TABLES)}")
        return "\n".join(
            [f"<!-- table {name} -->", "", *lines_of(name, top), "", "<!-- end of table -->"]
        )

    return PLACE.sub(replaced, page.read_text())


def pages(top: pathlib.Path) -> list[pathlib.Path]:
    return [p for p in sorted((top / "docs").rglob("*.md")) if "<!-- table " in p.read_text()]


def stale(top: pathlib.Path) -> list[pathlib.Path]:
    """Pages whose tables differ from their data."""
    return [p for p in pages(top) if with_tables(p, top) != p.read_text()]


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        print(f"usage: result_tables.py [--check]; not {' '.join(words)}", file=sys.stderr)
        return 2
    top = pathlib.Path(__file__).resolve().parents[2]
    found = stale(top)
    for page in found:
        print(page.relative_to(top))
        if not words:
            page.write_text(with_tables(page, top))
    return int(bool(found) and bool(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
