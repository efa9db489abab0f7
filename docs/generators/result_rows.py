# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the tables about radios, handovers and rating studies, for result_tables.py. Each
function takes the data of a file of docs/results/data and returns rows, the head first."""

from typing import Any


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; a dash where there is none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return format(float(text), "f").rstrip("0").rstrip(".") if "e" in text else text


# --- tests/bench/handover_table.py: ./openwip experiment H-1 ---


def statements_of(data: dict[str, Any], experiment: str, says: str) -> list[list[str]]:
    rows = [["", says, "we measured", "holds"]]
    for s in data["statements"]:
        if s["experiment"] == experiment:
            rows.append([s["source"], s["says"], s["measured"] or "-", s["holds"]])
    return rows


def handover_statements(data: dict[str, Any]) -> list[list[str]]:
    return statements_of(data, "H-1", "the text says")


def handovers_later(data: dict[str, Any]) -> list[list[str]]:
    return statements_of(data, "H-3", "the text says")


def handovers_today(data: dict[str, Any]) -> list[list[str]]:
    return statements_of(data, "H-2", "expected")


HANDOVER_CELLS = [f"{b} {o}" for b in ("NB", "IB", "FB") for o in ("ordinary", "Eifel", "SACK")]


def handover_grades(data: dict[str, Any]) -> list[list[str]]:
    """A cell has the literature's grade; where ours is another one, that stands behind it."""
    rows = [["delay", "handover", *HANDOVER_CELLS]]
    for r in data["rows"]:
        cells = [
            text if ours == text else f"{text} (here {ours})"
            for ours, text in zip(r["ours"], r["text"])
        ]
        rows.append([f"{r['delay_s']} s", r["channel"].replace("-", " to "), *cells])
    return rows


def handover_downloads(data: dict[str, Any]) -> list[list[str]]:
    rows = [["delay", "handover", *HANDOVER_CELLS]]
    for r in data["rows"]:
        rows.append(
            [f"{r['delay_s']} s", r["channel"].replace("-", " to ")]
            + [f"{t:.2f}" for t in r["times_s"]]
        )
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


# --- tests/bench/rating_pages.py ---

PAGES = {"page-a": "A", "page-b": "B"}


def rated_pages(data: dict[str, Any]) -> list[list[str]]:
    rows = [["page", "case", "runs", "skeleton, s (text)", "total, s (text)", "total over text"]]
    for c in data["cases"]:
        initial, total = c["initial_s"], c["total_s"]
        rows.append(
            [
                PAGES[c["page"]],
                c["case"],
                str(c["runs"]),
                f"{initial['measured']:.1f} ({initial['text']:g})",
                f"{total['measured']:.1f} ({total['text']:g})",
                f"{total['ratio']:.2f}",
            ]
        )
    return rows


def rated_ratios(data: dict[str, Any]) -> list[list[str]]:
    rows = [
        ["page", "ratio of total delays", "text", "measured", "measured over text", "within 25 %"]
    ]
    for r in data["ratios"]:
        rows.append(
            [
                PAGES[r["page"]],
                r["ratio"],
                f"{r['text']:.2f}",
                f"{r['measured']:.2f}",
                f"{r['measured_over_text']:.2f}",
                "yes" if r["within"] else "**no**",
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
