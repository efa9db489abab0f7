#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of application efficiency of Smaragdakis (2006), slide 14 of 14, beside the experiments
W-120, W-240 and W-clean (docs/results/wcdma-tcp.md).

    wcdma_tcp_table.py FOLDER [--json FILE]   FOLDER: of ./openwip experiment W-120 W-240 W-clean --time ns3 --out FOLDER,
                                              or of W-clean and one of the others

Efficiency is what a version of TCP sends, over what the same version with the same application sends
without errors, realisation by realisation; the mean is over the numbers of users, for the slide
names none. Performance is acknowledged data over that of Tahoe, and energy is acknowledged over sent
data.

Exit code 1: a value of the table is missing."""

import argparse
import csv
import json
import pathlib
import statistics
import sys
from collections.abc import Iterable
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result
from openwip_cli.figures import estimates

RATES = ("120", "240")
APPLICATIONS = ("ftp", "telnet", "http")
DOPPLER_HZ = (6, 20, 80)
# congestion control and SACK of each version; the last two are not of the text
SENDERS = {
    "Tahoe": ("tahoe", 0),
    "Reno": ("coarse-reno", 0),
    "NewReno": ("newreno", 0),
    "Vegas": ("vegas", 0),
    "SACK": ("newreno", 1),
    "CUBIC": ("cubic", 1),
    "BBR": ("bbr", 1),
}
OF_TEXT = tuple(SENDERS)[:5]
TIE = 0.02  # two efficiencies that differ by less are tied

# Rate, application, version: at 6, 20, 80 Hz. The slide has no row for SACK, 240 kbit/s, HTTP.
TEXT = {
    ("120", "ftp"): {
        "Tahoe": (0.80, 0.40, 0.26),
        "Reno": (0.85, 0.41, 0.26),
        "NewReno": (0.87, 0.44, 0.27),
        "Vegas": (0.83, 0.42, 0.23),
        "SACK": (0.88, 0.45, 0.28),
    },
    ("120", "telnet"): {
        "Tahoe": (0.96, 0.94, 0.92),
        "Reno": (0.97, 0.95, 0.93),
        "NewReno": (0.97, 0.95, 0.93),
        "Vegas": (0.97, 0.96, 0.93),
        "SACK": (0.97, 0.96, 0.93),
    },
    ("120", "http"): {
        "Tahoe": (0.93, 0.70, 0.50),
        "Reno": (0.92, 0.71, 0.52),
        "NewReno": (0.93, 0.72, 0.53),
        "Vegas": (0.90, 0.70, 0.50),
        "SACK": (0.95, 0.75, 0.55),
    },
    ("240", "ftp"): {
        "Tahoe": (0.76, 0.37, 0.24),
        "Reno": (0.80, 0.38, 0.24),
        "NewReno": (0.80, 0.37, 0.25),
        "Vegas": (0.77, 0.37, 0.21),
        "SACK": (0.82, 0.40, 0.28),
    },
    ("240", "telnet"): {
        "Tahoe": (0.95, 0.94, 0.92),
        "Reno": (0.97, 0.95, 0.92),
        "NewReno": (0.96, 0.95, 0.93),
        "Vegas": (0.97, 0.95, 0.93),
        "SACK": (0.97, 0.96, 0.92),
    },
    ("240", "http"): {
        "Tahoe": (0.88, 0.69, 0.48),
        "Reno": (0.90, 0.71, 0.50),
        "NewReno": (0.91, 0.72, 0.50),
        "Vegas": (0.85, 0.68, 0.44),
    },
}

Values = dict[int, float]  # realisation: value
Key = tuple[str, ...]


def read(folder: pathlib.Path, name: str, settings: Iterable[str]) -> dict[Key, Values]:
    """{metric and settings: values} of an experiment."""
    found: dict[Key, Values] = {}
    with open(folder / f"{name}.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["metric"], *(f"{row[s]}".removesuffix(".0") for s in settings))
            found.setdefault(key, {})[int(row["realisation"])] = float(row["value"])
    return found


class Measured:
    """Values of the three experiments by metric, rate, application and version."""

    def __init__(self, folder: pathlib.Path) -> None:
        of = ("application", "congestion_control", "sack")
        self.cells = {
            rate: read(folder, f"W-{rate}", (*of, "method"))
            for rate in RATES
            if (folder / f"W-{rate}.csv").exists()
        }
        self.clean = read(folder, "W-clean", ("channel", *of))
        # A method is such as "6 Hz 14".
        self.users = {
            rate: sorted({int(key[-1].rpartition(" ")[2]) for key in self.cells[rate]})
            for rate in self.cells
        }

    def at(self, metric: str, rate: str, app: str, who: str, hz: int, users: int) -> Values:
        control, sack = SENDERS[who]
        key = (metric, app, control, str(sack), f"{hz} Hz {users}")
        if key not in self.cells[rate]:
            sys.exit(f"W-{rate}.csv has no {' '.join(key)}")
        return self.cells[rate][key]

    def efficiency(
        self, rate: str, app: str, who: str, hz: int, users: int | None = None
    ) -> Values:
        """For each realisation. Without `users` the mean of their numbers."""
        control, sack = SENDERS[who]
        clean = self.clean.get(("sent_kb", rate, app, control, str(sack)))
        if clean is None:
            sys.exit(f"W-clean.csv has no sent_kb of {rate} {app} {who}")
        each = [
            self.at("sent_kb", rate, app, who, hz, n)
            for n in (self.users[rate] if users is None else [users])
        ]
        return {
            r: statistics.fmean(values[r] for values in each) / clean[r]
            for r in set.intersection(set(clean), *map(set, each))
        }


def shown(values: Iterable[float]) -> dict[str, float]:
    e = estimates.estimate(values)
    return {"mean": round(e.mean, 4), "half": round(e.half, 4)}


def above(a: Values, b: Values) -> dict[str, Any]:
    """Whether a is above b, in pairs of realisations."""
    d = estimates.difference(a, b)
    return {"holds": d.mean > 0, "sure": d.excludes(0)}


def rows_of(m: Measured) -> list[dict[str, Any]]:
    rows = []
    for (rate, app), text in TEXT.items():
        for who in SENDERS if rate in m.cells else ():
            each = [m.efficiency(rate, app, who, hz) for hz in DOPPLER_HZ]
            steps = [above(a, b) for a, b in zip(each, each[1:])]
            rows.append(
                {
                    "rate": rate,
                    "application": app,
                    "sender": who,
                    "text": text.get(who),
                    "measured": [shown(values.values()) for values in each],
                    "falls": all(s["holds"] for s in steps),
                    "sure": all(s["sure"] for s in steps),
                }
            )
    return rows


def orders_of(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """FTP below HTTP below Telnet, for each rate, version and Doppler; SACK first or tied, for each
    rate, application and Doppler."""
    at = {
        (r["rate"], r["application"], r["sender"], hz): value["mean"]
        for r in rows
        for hz, value in zip(DOPPLER_HZ, r["measured"])
    }
    applications, first = [], []
    for rate in dict.fromkeys(r["rate"] for r in rows):
        for hz in DOPPLER_HZ:
            for who in OF_TEXT:
                ftp, telnet, http = (at[rate, app, who, hz] for app in APPLICATIONS)
                applications.append(
                    {"rate": rate, "hz": hz, "sender": who, "holds": ftp < http < telnet}
                )
            for app in APPLICATIONS:
                others = {who: at[rate, app, who, hz] for who in OF_TEXT}
                best = max(others, key=others.__getitem__)
                first.append(
                    {
                        "rate": rate,
                        "hz": hz,
                        "application": app,
                        "best": best,
                        "holds": others["SACK"] >= others[best] - TIE,
                    }
                )
    return {"applications": applications, "sack": first}


def performance_of(m: Measured) -> list[dict[str, Any]]:
    """Performance and energy of each version at each number of users."""
    found = []
    for rate in m.cells:
        for app in APPLICATIONS:
            for hz in DOPPLER_HZ:
                for users in m.users[rate]:
                    tahoe = m.at("acked_kb", rate, app, "Tahoe", hz, users)
                    row: dict[str, Any] = {
                        "rate": rate,
                        "application": app,
                        "hz": hz,
                        "users": users,
                    }
                    for who in SENDERS:
                        acked = m.at("acked_kb", rate, app, who, hz, users)
                        e = estimates.ratio(acked, tahoe)
                        row[who] = {
                            "performance": round(e.mean, 4),
                            "half": round(e.half, 4),
                            "energy": shown(
                                m.at("acked_of_sent", rate, app, who, hz, users).values()
                            )["mean"],
                            "timeouts": shown(m.at("timeouts", rate, app, who, hz, users).values())[
                                "mean"
                            ],
                        }
                    found.append(row)
    return found


def main() -> int:
    p = argparse.ArgumentParser(description="the tables of Smaragdakis beside W-120 and W-240")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--command", default="./openwip experiment W-120 W-240 W-clean --time ns3 --quick --out wcdma",
                   help="command that made the folder, for the kept file")  # fmt: skip
    p.add_argument("--json", metavar="FILE", help="write table and statements to FILE")
    given = p.parse_args()
    measured = Measured(given.folder)
    rows = rows_of(measured)
    orders = orders_of(rows)
    for r in rows:
        values = ", ".join(f"{v['mean']:.3f} +- {v['half']:.3f}" for v in r["measured"])
        print(f"{r['rate']} {r['application']} {r['sender']}: {values}; text {r['text']}")
    of_text = [r for r in rows if r["text"]]
    print(f"fall with the Doppler frequency: {sum(r['falls'] for r in of_text)} of {len(of_text)}")
    for name, cases in orders.items():
        print(f"{name}: {sum(c['holds'] for c in cases)} of {len(cases)}")
    comparison = json.loads((given.folder / "comparison.json").read_text())
    names = [*(f"W-{rate}" for rate in measured.cells), "W-clean"]
    experiments = {name: comparison["experiments"][name] for name in names}
    result = {
        "realisations": experiments["W-clean"]["realisations"],
        "runs": sum(e["counts"]["runs"] for e in experiments.values()),
        "valid": sum(e["counts"]["valid"] for e in experiments.values()),
        "efficiency": rows,
        "orders": orders,
        "performance": performance_of(measured),
        "statements": [
            {"experiment": name} | {k: s[k] for k in ("id", "says", "source", "measured", "holds")}
            for name, e in experiments.items()
            for s in e["statements"]
        ],
    }
    if given.json:
        kept_result.write(
            given.json,
            f"{given.command} && /usr/bin/python3 tests/bench/wcdma_tcp_table.py wcdma --json FILE",
            result,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
