# SPDX-License-Identifier: GPL-3.0-or-later
"""result_tables.py [--check]: the tables of docs/results that are made from kept results. A page
marks the place of each:

    <!-- table NAME -->
    ...
    <!-- end of table -->

and this program writes what stands in between from docs/results/data. Benches write most files
there (tests/support/kept_result.py); the others keep the rows of tables (kept_tables.py). With
--check nothing is written; exit code 1: a page differs."""

import json
import pathlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import queue_rows
import result_rows
import wcdma_rows
from result_rows import number

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kept_tables

PLACE = re.compile(r"<!-- table ([\w-]+) -->\n.*?<!-- end of table -->", re.S)


class Made(NamedTuple):
    """How a table is made."""

    data: str  # a file of docs/results/data
    rows: Callable[[dict[str, Any]], list[list[str]]]  # the first one is the head


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


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


def uplink_targets(data: dict[str, Any]) -> list[list[str]]:
    head, *rows = targets(data)
    return [head, *(r for r in rows if r[0].startswith("uplink") or "feedback form" in r[0])]


def uplink(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "channel",
            "SNR, dB",
            "forms lost",
            "channel told",
            "union bound",
            "16-QAM frames",
            "theory",
        ]
    ]
    for p in data["points"]["uplink"]:
        channel = p["channel"] + (f", {p['kmh']:g} km/h" if p["kmh"] else "")
        white = p["channel"] == "AWGN"
        rows.append(
            [
                channel,
                f"{p['snr_db']:g}",
                f"{p['forms_lost']} of {p['heard']}",
                number(p["form_errors_told"]),
                number(p["form_errors_bound"]) if white else "",
                number(p["fer"]),
                number(p["fer_theory"]) if white else "",
            ]
        )
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
            "realisations",
            "half width asked for",
            "campaigns that the rule stopped",
            "realisations, mean",
            "intervals that cover the true mean",
            f"the same with all {data['most']} realisations",
        ]
    ]
    for r in data["rows"]:
        rows.append(
            [
                f"normal, standard deviation {100 * r['spread']:g} % of the mean"
                if r["kind"] == "normal"
                else f"1 ± {100 * r['spread']:g} %, three times as long with a probability of 5 %",
                f"{100 * r['half_width']:g} %",
                f"{100 * r['stopped']:.1f} %",
                f"{r['realisations']:.1f}",
                f"{100 * r['covers']:.1f} %",
                f"{100 * r['covers_with_all']:.1f} %",
            ]
        )
    return rows


FOOTPRINT_PARTS = {
    "receiver_awgn": "receiver, white noise, 256-QAM at 40 dB",
    "receiver_typical_urban": "receiver, TU at 75 km/h, 64-QAM at 34 dB",
    "transmitter": "transmitter, 256-QAM",
    "noise": "noise",
    "paths_typical_urban": "paths of TU",
    "plan": "`plan()` of the base station's MAC",
    "on_slot": "`on_slot()` of the terminal's MAC",
}


def footprint(data: dict[str, Any]) -> list[list[str]]:
    """The rows of the counts: medians over the slots, and the mean of the instructions."""
    rows = [["part", "instructions", "instructions, mean", "lines of code", "lines of data"]]
    for key, name in FOOTPRINT_PARTS.items():
        part = data["parts"][key]
        figures = [
            part["instructions"]["median"],
            part["instructions"].get("mean"),
            part["code_lines"]["median"],
            part["data_lines"]["median"],
        ]
        rows.append([name, *("-" if f is None else f"{f:,}" for f in figures)])
    return rows


def footprint_times(data: dict[str, Any]) -> list[list[str]]:
    """The rows of the medians of single slots, and of what was aimed at."""
    rows = [["part", "hot, us", "after a pause, us", "after another program, us", "aim, hot, us"]]
    for key, name in FOOTPRINT_PARTS.items():
        part = data["parts"][key]
        times = [f"{part[t]:.1f}" for t in ("hot", "after_pause", "after_another_program")]
        rows.append([name, *times, number(part["budget_us"])])
    return rows


def scale(data: dict[str, Any]) -> list[list[str]]:
    budget, steps = data["budget"], data["planning"] | data["evaluation"]
    rows = [
        ["what", "measured", "budget"],
        [
            f"plan {data['runs']:,} runs and choose the first round",
            f"{data['round_s']:g} s",
            f"{budget['round_s']:g} s",
        ],
        [
            "choose a later round",
            f"{data['later_round_s']:.2f} s",
            f"{budget['round_s']:g} s",
        ],
        ["most memory of the planning", f"{data['planning_mb']:g} MB", ""],
        [
            "most memory of the evaluation",
            f"{data['evaluation_mb']:g} MB",
            f"{budget['evaluation_mb']:g} MB",
        ],
        ["size of the store", f"{data['store_mb']:g} MB", ""],
    ]
    return rows + [[name, f"{each['processor_s']:g} s", ""] for name, each in steps.items()]


def engines(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "engine",
            "runs",
            "wall clock",
            "processor time of a run",
            "made of 100, where one run in ten kills its worker",
        ]
    ]
    for name, each in data["engines"].items():
        live, kill = each["live"], each["kill"]
        rows.append(
            [
                name,
                str(live["runs"]),
                f"{live['wall_s']:g} s",
                f"{live['processor_ms_a_run']:g} ms",
                str(kill["made"]) if "made" in kill else f"none: {kill['error']}",
            ]
        )
    return rows


def packages(data: dict[str, Any]) -> list[list[str]]:
    rows = [["step on a bare machine", "seconds", "exit code"]]
    for step in data["steps"]:
        rows.append([f"`{step['command']}`", str(step["seconds"]), str(step["exit_code"])])
    return rows


TABLES = {
    "handover-statements": Made("handover", result_rows.handover_statements),
    "handovers-later": Made("handover", result_rows.handovers_later),
    "handovers-today": Made("handover", result_rows.handovers_today),
    "handover-grades": Made("handover", result_rows.handover_grades),
    "handover-downloads": Made("handover", result_rows.handover_downloads),
    "queues-fast": Made("queues", queue_rows.fast),
    "queues-gains": Made("queues", queue_rows.gains),
    "queues-slow": Made("queues", queue_rows.slow),
    "queues-statements": Made("queues", queue_rows.statements),
    "wcdma-chains": Made("wcdma-chains", wcdma_rows.chains),
    "wcdma-efficiency": Made("wcdma-tcp", wcdma_rows.efficiency),
    "wcdma-orders": Made("wcdma-tcp", wcdma_rows.orders),
    "wcdma-performance": Made("wcdma-tcp", wcdma_rows.performance),
    "wcdma-statements": Made("wcdma-tcp", wcdma_rows.statements),
    "wcdma-timeouts": Made("wcdma-tcp", wcdma_rows.timeouts),
    "wcdma-tcp-speed": Made("wcdma-tcp-speed", wcdma_rows.speed),
    "rating-pages": Made("rating-pages", result_rows.rated_pages),
    "rating-ratios": Made("rating-pages", result_rows.rated_ratios),
    "curve-targets": Made("curves", targets),
    "predictors": Made("curves", predictors),
    "spectra": Made("curves", spectra),
    "estimators": Made("curves", estimators),
    "switch-tables": Made("curves", switch_tables),
    "uplink-targets": Made("uplink", uplink_targets),
    "uplink": Made("uplink", uplink),
    "fidelity": Made("fidelity", fidelity),
    "interrupts": Made("interrupts", interrupts),
    "adjacent-channel": Made("adjacent-channel", adjacent_channel),
    "footprint": Made("footprint", footprint),
    "footprint-times": Made("footprint-times", footprint_times),
    "stopping-rule": Made("stopping-rule", coverage),
    "campaign-scale": Made("campaign-scale", scale),
    "campaign-engines": Made("campaign-engines", engines),
    "packages": Made("packages", packages),
    "strict-cost": Made("strict-cost", result_rows.strict_cost),
    "strict-without-repairs": Made("strict-without-repairs", result_rows.without_repairs),
    "strict-stalls": Made("strict-radios", result_rows.strict_stalls),
    "strict-overflows": Made("strict-radios", result_rows.strict_overflows),
    "strict-no-restart": Made("strict-radios", result_rows.strict_no_restart),
    "strict-valid": Made("strict-radios", result_rows.strict_valid),
}


def cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def provenance(about: dict[str, Any], file: str) -> list[str]:
    """How the numbers of a table were measured, in sentences."""
    lines = []
    if about.get("command"):
        if isinstance(about["command"], str):
            lines.append(f"Measured with `{about['command']}`.")
        else:
            lines += ["Measured with", "", *(f"- `{c}`" for c in about["command"]), ""]
    where = [about["date"]]
    if about.get("commit"):
        where.append(f"commit {about['commit']}")
    if about.get("processor"):
        where.append(about["processor"])
    if about.get("cores"):
        where.append(f"{about['cores']} cores")
    if "load" in about:
        where.append(f"load {about['load']}")
    lines.append(f"{', '.join(where)}; the numbers are in `docs/results/data/{file}.json`.")
    return lines


def lines_of(
    name: str, top: pathlib.Path, kept: dict[str, tuple[str, dict[str, Any]]]
) -> list[str]:
    """The table, and how it was measured."""
    if name in TABLES:
        file = TABLES[name].data
        data = json.loads((top / f"docs/results/data/{file}.json").read_text())
        about, rows = data["about"], TABLES[name].rows(data)
        if "load" in about:
            about["load"] = f"{about['load']:g}"
    else:
        file, data = kept[name]
        about, rows = data["about"], kept_tables.rows(data)
    made = table([[cell(text) for text in row] for row in rows])
    return [*made, "", *provenance(about, file)]


def with_tables(page: pathlib.Path, top: pathlib.Path) -> str:
    """The page with its tables as the data have them."""
    kept = kept_tables.tables(top)
    if twice := sorted(TABLES.keys() & kept.keys()):
        raise SystemExit(f"docs/results/data: {', '.join(twice)}: this program makes it, too")

    def replaced(place: re.Match[str]) -> str:
        name = place[1]
        if name not in TABLES and name not in kept:
            raise SystemExit(
                f"{page}: there is no table {name}; valid: {', '.join([*TABLES, *kept])}"
            )
        return "\n".join(
            [f"<!-- table {name} -->", "", *lines_of(name, top, kept), "", "<!-- end of table -->"]
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
