# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections of a record's page that are tables and texts: events, losses, configuration. Each is the
content of one section, as Page.add() takes it."""

from typing import Any

from ...records.run_record import RunRecord, silence_words
from . import data

MOST_EVENTS = 200  # events that the page lists
MOST_GAPS = 50  # gaps that the page lists
SEVERITIES = ("info", "warning", "ERROR")


def section(name: str, title: str, how: str = "", **content: Any) -> dict[str, Any]:
    return {"name": name, "title": title, "how": how} | content


def events(record: RunRecord, times: data.Times) -> dict[str, Any]:
    found = data.events(record, times)
    if not found:
        return section("events", "Events", absent="None was recorded (topic event).")
    left = len(found) - MOST_EVENTS
    how = "Drops, locks, settings that were changed, in the order of time." + (
        f" The first {MOST_EVENTS}; {left} more are in the record." if left > 0 else ""
    )
    rows = [
        [
            f"{t:.3f}",
            source,
            SEVERITIES[severity] if 0 <= severity < 3 else severity,
            kind,
            reason,
            count,
        ]
        for t, source, severity, kind, reason, count in found[:MOST_EVENTS]
    ]
    return section(
        "events",
        "Events",
        how,
        table={"head": ["s", "source", "severity", "kind", "reason", "count"], "rows": rows},
    )


def lost(record: RunRecord, _times: data.Times) -> dict[str, Any]:
    """Messages that this page lacks."""
    r, total, rows = record, 0, []
    for topic, source, table in r.each():
        counts = table.attributes
        total += counts.get("lost", 0)
        rows.append(
            [
                topic,
                source,
                len(table),
                counts.get("lost", 0),
                counts.get("restarts", 0),
                counts.get("misshapen", 0),
            ]
        )
    refused = [
        f"{sum((r.about.get(k) or {}).values())} {words}"
        for k, words in (
            ("malformed", "messages did not parse"),
            ("future", "messages were of a later version"),
        )
        if sum((r.about.get(k) or {}).values())
    ]
    gaps = r.gaps
    texts = []
    if len(gaps):
        lines = [
            f"{gaps['topic'][i]} of {gaps['source'][i]}: {gaps['lost'][i]} messages before slot"
            f" {gaps['slot'][i]}"
            for i in range(min(len(gaps), MOST_GAPS))
        ]
        more = len(gaps) - MOST_GAPS
        texts = [
            (f"{len(gaps)} gaps", "\n".join(lines + ([f"and {more} more"] if more > 0 else [])))
        ]
    how = "Telemetry that the recorder did not get: publishers never wait for it. " + (
        "Nothing was lost."
        if not total
        else f"{total} messages were lost, and are missing in the plots."
    )
    refused += [f"{words}." for words in silence_words(r.about)]
    if r.about.get("unread"):
        refused.append(
            "Messages that waited at the end were left out: the recorder was too far behind."
        )
    return section(
        "lost",
        "What was lost",
        " ".join([how, *refused]),
        texts=texts,
        table={
            "head": [
                "topic",
                "publisher",
                "messages",
                "lost",
                "restarts",
                "lists of wrong length",
            ],
            "rows": rows,
        },
    )


def configuration(record: RunRecord, _times: data.Times) -> dict[str, Any]:
    a = record.about
    rows = [
        ["seed", str(a.get("seed"))],
        *[[k, v] for k, v in (a.get("versions") or {}).items()],
    ]

    def walk(tree: Any, prefix: str = "") -> None:
        for key, value in tree.items():
            if isinstance(value, dict):
                walk(value, f"{prefix}{key}.")
            else:
                rows.append([prefix + key, "" if value is None else str(value)])

    walk(a.get("scenario") or {})
    effective, first = a.get("effective") or {}, a.get("effective_at_first") or {}
    texts = [
        (f"{name}: effective configuration at the end", text) for name, text in effective.items()
    ]
    texts += [
        (f"{name}: at the beginning, it was changed", text)
        for name, text in first.items()
        if effective.get(name) != text
    ]
    return section(
        "configuration",
        "Configuration",
        "Versions and scenario; the whole of what each process used below.",
        texts=texts,
        table={"head": ["setting", "value"], "rows": rows},
    )
