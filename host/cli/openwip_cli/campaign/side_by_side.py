# SPDX-License-Identifier: GPL-3.0-or-later
"""experiment --beside FOLDER...: what several campaigns (another TCP, another time) say to the statements of the text, a column each."""
import pathlib
from collections.abc import Sequence
from typing import Any

from ..errors import BadInput
from ..text import of_json
from .report import escape

FILE = "comparison.json"


def read(given: str) -> tuple[str, dict[str, Any]]:
    """Title and comparison of FOLDER, or of TITLE=FOLDER; without a title it is the campaign's time and TCP."""
    title, equal, folder = given.rpartition("=")
    if pathlib.Path(given).is_dir():        # a name that has a = in it
        title, equal, folder = "", "", given
    path = pathlib.Path(folder, FILE)
    if equal and not title:
        raise BadInput(f"--beside is {given!r}; valid: FOLDER or TITLE=FOLDER")
    try:
        tree = of_json(path.read_text())
        for e in tree["experiments"].values():
            for s in e["statements"]:
                _ = s["id"], s["says"], s["holds"], s["measured"]
        return title or f"{tree['about']['time']}, {tree['about']['mode']}", tree
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        why = getattr(e, "strerror", None) or "it is no comparison.json of ./openwip experiment"
        raise BadInput(f"--beside {folder}: {path}: {why}; valid: a folder of results") from None


def held(statements: Sequence[dict[str, Any]]) -> str:
    return f"{sum(s['holds'].startswith('yes') for s in statements)} of {sum(s['holds'] != 'not measured' for s in statements)}"


def markdown(columns: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Statements are the same ones when experiment, id and words are. `-`: not in that folder."""
    rows: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for n, (_, tree) in enumerate(columns):
        for name, experiment in tree["experiments"].items():
            for s in experiment["statements"]:
                rows.setdefault((name, s["id"], s["says"]), {})[n] = s
    titles = [escape(title) for title, _ in columns]
    lines = ["| statement | the text says | " + " | ".join(titles) + " |", "|---" * (len(columns) + 2) + "|"]
    for (name, of, says), found in sorted(rows.items(), key=lambda row: row[0][0]):
        cells = [f"**{found[n]['holds']}**: {escape(found[n]['measured'] or '-')}" if n in found else "-" for n in range(len(columns))]
        lines.append(f"| {name} {escape(of)} | {escape(says)} | " + " | ".join(cells) + " |")
    of_all = [held([found[n] for found in rows.values() if n in found]) for n in range(len(columns))]
    lines.append("| hold, of those measured | | " + " | ".join(of_all) + " |")
    return "\n".join(lines)
