# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the tables about TCP in WCDMA cells (tests/bench/wcdma_tcp_table.py), for
result_tables.py."""

import re
from typing import Any

APPLICATIONS = {"ftp": "FTP", "telnet": "Telnet", "http": "HTTP"}
TERMINALS = 7  # number of terminals of a run
DOPPLERS = ("6 Hz", "20 Hz", "80 Hz")


def chains(data: dict[str, Any]) -> list[list[str]]:
    """The chains by rate and number of users."""
    rows = [["kbit/s", "users", *(f"P(E), P(E|E) at {d}, %" for d in DOPPLERS)]]
    at = {(c["rate"], c["users"], f"{c['hz']} Hz"): c for c in data["chains"]}
    for rate, users in dict.fromkeys((c["rate"], c["users"]) for c in data["chains"]):
        cells = []
        for d in DOPPLERS:
            c = at[rate, users, d]
            cells.append(
                ", ".join(
                    f"{100 * c[k]['mean']:.2f} ± {100 * c[k]['half']:.2f}"
                    for k in ("error", "after_error")
                )
            )
        rows.append([rate, str(users), *cells])
    return rows


def holds(case: dict[str, Any]) -> str:
    word = "yes" if case["falls"] else "no"
    return word if case["sure"] or not case["falls"] else f"{word} (not sure)"


def efficiency(data: dict[str, Any]) -> list[list[str]]:
    """The 29 rows of the slide, and the rows that it has not."""
    head = ["kbit/s", "application", "TCP", *(f"text, {d}" for d in DOPPLERS)]
    rows = [[*head, *(f"measured, {d}" for d in DOPPLERS), "falls"]]
    for r in data["efficiency"]:
        text = [f"{v:.2f}" for v in r["text"]] if r["text"] else ["-"] * 3
        measured = [f"{v['mean']:.3f} ± {v['half']:.3f}" for v in r["measured"]]
        rows.append([r["rate"], APPLICATIONS[r["application"]], r["sender"], *text, *measured])
        rows[-1].append(holds(r))
    return rows


def orders(data: dict[str, Any]) -> list[list[str]]:
    """How many cases of each order hold, and which do not."""
    of_text = [r for r in data["efficiency"] if r["text"]]
    lists = {
        "falls with the Doppler frequency (rows of the slide)": [
            (r["falls"], f"{r['rate']} {APPLICATIONS[r['application']]} {r['sender']}")
            for r in of_text
        ],
        "FTP below HTTP below Telnet (rate, Doppler frequency, TCP)": [
            (c["holds"], f"{c['rate']} {c['hz']} Hz {c['sender']}")
            for c in data["orders"]["applications"]
        ],
        "SACK first, or within 0.02 of the first (rate, Doppler frequency, application)": [
            (
                c["holds"],
                f"{c['rate']} {c['hz']} Hz {APPLICATIONS[c['application']]} ({c['best']})",
            )
            for c in data["orders"]["sack"]
        ],
    }
    rows = [["order of the efficiencies", "cases that hold", "cases that do not"]]
    for name, cases in lists.items():
        wrong = [where for held, where in cases if not held]
        rows.append([name, f"{len(cases) - len(wrong)} of {len(cases)}", ", ".join(wrong) or "-"])
    return rows


def performance(data: dict[str, Any]) -> list[list[str]]:
    """Performance, and energy behind it."""
    senders = [
        name for name in data["performance"][0] if isinstance(data["performance"][0][name], dict)
    ]
    rows = [["kbit/s", "application", "Doppler", "users", *senders]]
    for r in data["performance"]:
        rows.append(
            [r["rate"], APPLICATIONS[r["application"]], f"{r['hz']} Hz", str(r["users"])]
            + [
                f"{r[s]['performance']:.2f} ± {r[s]['half']:.2f}; {r[s]['energy']:.3f}"
                for s in senders
            ]
        )
    return rows


def timeouts(data: dict[str, Any]) -> list[list[str]]:
    """Timeouts of a user, as a rate per 120 s."""
    first = data["performance"][0]
    senders = [name for name in first if isinstance(first[name], dict)]
    rows = [["kbit/s", "application", "Doppler", "users", *senders]]
    for r in data["performance"]:
        where = [r["rate"], APPLICATIONS[r["application"]], f"{r['hz']} Hz", str(r["users"])]
        rows.append([*where, *(f"{r[s]['timeouts'] / TERMINALS:.1f}" for s in senders)])
    return rows


SENDERS = {  # congestion control and SACK, as the experiments have them
    ("tahoe", "0"): "Tahoe",
    ("coarse-reno", "0"): "Reno",
    ("newreno", "0"): "NewReno",
    ("vegas", "0"): "Vegas",
    ("newreno", "1"): "SACK",
}
LEAST = re.compile(
    r"least difference (?P<value>[-+][\d.]+ ± [\d.]+) \(application \w+, congestion_control"
    r" (?P<control>[\w-]+), sack (?P<sack>[01]), method \d+ Hz \d+\)"
)


def measured(statement: dict[str, Any]) -> str:
    """The least difference with its unit and the version beside which it is the least."""
    unit = "" if statement["id"].startswith("energy") else " kB"

    def of(found: re.Match[str]) -> str:
        return f"{found['value']}{unit}, beside {SENDERS[found['control'], found['sack']]}"

    return LEAST.sub(of, statement["measured"]) or "-"


def statements(data: dict[str, Any]) -> list[list[str]]:
    """Those of performance and energy; those of efficiency are in the table of its own."""
    rows = [["slide", "kbit/s", "the text says", "we measured", "holds"]]
    for s in data["statements"]:
        if not s["id"].startswith("efficiency") and s["experiment"] != "W-clean":
            rate = s["experiment"].removeprefix("W-")
            text = measured(s)
            equal = re.match(r"[-+]0\.000 ± 0\.000", text) and s["holds"] == "no (not sure)"
            rows.append([s["source"], rate, s["says"], text, "no (equal)" if equal else s["holds"]])
    return rows


def speed(data: dict[str, Any]) -> list[list[str]]:
    """Processor time of runs of 61 s."""
    rows = [["application", "terminals", "processor time of 61 s", "times real time on one core"]]
    for r in data["runs"]:
        rows.append(
            [APPLICATIONS[r["application"]], str(r["terminals"]), f"{r['processor_s']:.2f} s"]
            + [str(r["times_real_time"])]
        )
    return rows
