# SPDX-License-Identifier: GPL-3.0-or-later
"""The head of a record's page: its verdict, and the key figures of the list that are for it."""

from typing import Any

from ...figures import key_figures
from ...records.run_record import RunRecord


def verdict_of(record: RunRecord, report: dict[str, Any]) -> dict[str, Any]:
    v = record.verdict
    if v is None:
        return {
            "kind": "none",
            "word": "NO VERDICT",
            "reasons": [],
            "note": (
                "Neither a report nor a verdict of the cell is in the "
                "record: throughput and delay are not shown."
                + "".join(f" {words}" for words in end_of(record))
            ),
            "checks": {},
        }
    note = " ".join(
        [
            *(
                []
                if v["final"]
                else ["The cell's own verdict so far: the record has no final report."]
            ),
            *end_of(record),
        ]
    )
    return {
        "kind": "valid" if v["valid"] else "invalid",
        "word": "VALID" if v["valid"] else "INVALID",
        "reasons": v["reasons"],
        "note": note,
        "checks": (report.get("verdict") or {}).get("checks", {}),
    }


def end_of(record: RunRecord) -> list[str]:
    """Sentences about a record that ended before the run did."""
    return [f"The record {words}." for words in record.end_words]


def key_figures_of(
    record: RunRecord, report: dict[str, Any], word: str
) -> list[tuple[str, str, str]]:
    """(title, value, note) of a report, in the order of the list. None without a verdict."""
    if record.verdict is None:
        return []
    every = key_figures.every()
    found = []
    for figure in every.values():
        value = figure.reported(report)
        if figure.beside is None or value is None:
            continue
        notes = [
            other.words(known)
            for other in (every[name] for name in figure.beside)
            if (known := other.reported(report)) is not None
        ]
        if figure.name == "tcp_goodput":
            notes += capacity_note(report, value)
        found.append((figure.title, figure.text(value), "; ".join([*notes, f"run {word}"])))
    return found


def capacity_note(report: dict[str, Any], goodput_bps: float) -> list[str]:
    capacity = report.get("capacity") or {}
    most = capacity.get("tcp_payload_bps")
    if not most:
        return []
    if capacity.get("settings_changed"):
        return ["settings were changed during the run, its capacity below"]
    return [f"{goodput_bps / most:.1%} of {key_figures.text('tcp_goodput', most)}"]
