# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of results that no single bench writes: docs/results/data/PAGE.json keeps their rows, each
table with the command, the date and the machine of its measurement.

    {"tables": {"NAME": {"about": {"command": ..., "date": ..., "processor": ..., "load": ...},
                         "columns": [...], "rows": [[...], ...]}}}

A cell of a row is text, a number (its digits are kept), null for an empty cell, or an object:

    {"values": [...], "unit": "%"}         several values and their unit
    {"mean": 4.33, "half": 0.20}           a mean, and half of its 95 % confidence interval
    {"low": 3.5, "high": 7.4}              a range
    {"signed": true, "bold": true}         beside these: a sign before a positive number; the value
                                           does not meet its target, or is the one to look at"""

import decimal
import json
import pathlib
from typing import Any

Number = int | decimal.Decimal


def number(value: Number, signed: bool) -> str:
    """A number with the digits that the file has; from 10,000 on with commas."""
    sign = "+" if signed and value > 0 else ""
    grouped = isinstance(value, int) and abs(value) >= 10_000
    return sign + (f"{value:,}" if grouped else str(value))


def value_text(value: Any, signed: bool) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, decimal.Decimal)):
        return number(value, signed)
    if "mean" in value:
        return f"{number(value['mean'], signed)} ± {number(value['half'], False)}"
    return f"{number(value['low'], signed)} to {number(value['high'], signed)}"


def cell_text(cell: Any) -> str:
    """A cell as it stands on the page."""
    if cell is None:
        return ""
    if not isinstance(cell, dict):
        return value_text(cell, False)
    signed = cell.get("signed", False)
    values = cell["values"] if "values" in cell else [cell]
    text = ", ".join(value_text(v, signed) for v in values)
    if unit := cell.get("unit"):
        text += f" {unit}"
    return f"**{text}**" if cell.get("bold") else text


def read(path: pathlib.Path) -> dict[str, Any]:
    """A file of kept results, whose fractions keep their digits."""
    return json.loads(path.read_text(), parse_float=decimal.Decimal)


def tables(top: pathlib.Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Reads all kept tables by name, each with the name of its file."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted((top / "docs/results/data").glob("*.json")):
        for name, table in read(path).get("tables", {}).items():
            if name in found:
                raise SystemExit(f"{path}: table {name} is in {found[name][0]}.json, too")
            found[name] = (path.stem, table)
    return found


def rows(table: dict[str, Any]) -> list[list[str]]:
    """The head and the rows; every row has a cell for each column."""
    columns = table["columns"]
    made = [columns]
    for row in table["rows"]:
        if len(row) != len(columns):
            raise SystemExit(f"{row}: {len(row)} cells; valid: {len(columns)}, as {columns}")
        made.append([cell_text(c) for c in row])
    return made
