# SPDX-License-Identifier: GPL-3.0-or-later
"""The sums of docs/results/umts.md are those of its tables. A table counts where its last column
is `holds`: `yes` or `no` is a statement, `yes (4)` four,
`(not sure)` changes nothing, `again: ...` is told twice and counts where it does not say so, `not
measurable` is neither. A row is of the texts unless its first cell (that of above where it is
empty) or its second begins with `ours`."""

import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/results/umts.md"
ANSWER = re.compile(r"(yes|no|not measurable|again:.*)(?: \((?:(\d+)(?:, [^)]*)?|[^)\d][^)]*)\))?$")
SUM = re.compile(r"\*\*(\d+) of (\d+) hold\*\*.*?of ours \*\*(\d+) of (\d+)\*\*", re.S)


def answers(cell):
    """(held, of) of a cell."""
    held = of = 0
    for part in re.split(r"[;,] (?![^(]*\))", cell):
        found = ANSWER.match(part)
        if not found:
            raise ValueError(
                f"{part!r} in {cell!r}: yes, no, yes (N), not measurable or again: ... is expected"
            )
        if found[1] in ("yes", "no"):
            n = int(found[2] or 1)
            held, of = held + n * (found[1] == "yes"), of + n
        elif found[1] != "not measurable":
            break
    return held, of


def sums(text):
    """{of the texts or ours: [held, of]} of all tables with a column `holds`."""
    found = {"texts": [0, 0], "ours": [0, 0]}
    counts, whose = False, ""
    for line in text.splitlines():
        if not line.startswith("|"):
            counts = False
            continue
        cells = [c.strip() for c in line.strip("|").split("|")]
        if cells[-1] == "holds":
            counts = True
        elif counts and set(line) - set("|-"):
            whose = cells[0] or whose
            of = found[
                "ours" if whose.startswith("ours") or cells[1].startswith("ours") else "texts"
            ]
            of[:] = map(sum, zip(of, answers(cells[-1])))
    return found


class Sums(unittest.TestCase):
    def test_the_page_has_the_sums_of_its_tables(self):
        output = SUM.search(PAGE.read_text())
        self.assertIsNotNone(output, "**N of M hold** ... of ours **N of M** is not on the page")
        self.assertEqual(
            {"texts": [int(output[1]), int(output[2])], "ours": [int(output[3]), int(output[4])]},
            sums(PAGE.read_text()),
        )

    def test_what_counts(self):
        self.assertEqual(answers("yes"), (1, 1))
        self.assertEqual(answers("no (not sure), yes (3, two not sure); no"), (3, 5))
        self.assertEqual(answers("not measurable; yes"), (1, 1))
        self.assertEqual(answers("again: no (3), yes"), (0, 0))
        for wrong in ("maybe", "yes no", "", "yes (2 of 2)"):
            with self.assertRaises(ValueError):
                answers(wrong)
        table = (
            "| a | b | holds |\n|---|---|---|\n| A 1 | x | yes (2) |\n| | ours: y | no |\n| ours |"
            " z | yes |\n| | w | yes |\n\n| a | c |\n|---|---|\n| A | yes |\n"
        )
        self.assertEqual(sums(table), {"texts": [2, 2], "ours": [2, 3]})


if __name__ == "__main__":
    unittest.main()
