# SPDX-License-Identifier: GPL-3.0-or-later
"""grant_lists_table.py NOW BEFORE --json FILE: the table of docs/results/terminals.md about lists in
a common grant, from the lines that grant_lists prints: NOW with the scheduler of this tree, BEFORE
with one that serves as many terminals as the limit lets it (commit 9991eed1). They are merged into
the tables of FILE, and docs/generators/result_tables.py puts the table into the page."""

import argparse
import json
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result

Row = dict[str, Any]


def by_cell(path: str) -> dict[tuple[Any, ...], Row]:
    """The lines of a file by what their cells were set to."""
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return {(r["terminals"], r["snr"], r["scheduling"], r["limit"]): r for r in rows}


def table_rows(now: dict[tuple[Any, ...], Row], before: dict[tuple[Any, ...], Row]) -> list[Any]:
    table = []
    for terminals, snr, scheduling, limit in now:
        if limit != 4:
            continue
        two = now[terminals, snr, scheduling, 2]
        old = before[terminals, snr, scheduling, 4]
        new = now[terminals, snr, scheduling, 4]
        table.append(
            [
                str(terminals),
                snr,
                scheduling,
                f"{two['mbit_s']:.2f}",
                f"{old['mbit_s']:.2f}",
                f"{100 * old['failed']:.1f}",
                f"{old['bins']:.1f}",
                f"{old['repeated']:.2f}",
                f"{old['waiting']:.0f}",
                f"{new['mbit_s']:.2f}",
                f"{new['served']:.2f}",
                f"{new['repeated']:.2f}",
                f"{new['waiting']:.0f}",
            ]
        )
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("now")
    parser.add_argument("before")
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    path = pathlib.Path(options.json)
    kept = json.loads(path.read_text())
    kept["tables"]["terminals-lists"] = {
        "about": kept_result.about("build/tests/sim/grant_lists"),
        "columns": [
            "terminals",
            "SNR, dB",
            "scheduler",
            "limit 2, Mbit/s",
            "limit 4 before, Mbit/s",
            "frames failed, %",
            "bins used",
            "retransmissions in a slot",
            "that wait",
            "limit 4 now, Mbit/s",
            "terminals in a slot",
            "retransmissions in a slot, now",
            "that wait, now",
        ],
        "rows": table_rows(by_cell(options.now), by_cell(options.before)),
    }
    path.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
