# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages lead to each other: no link is dead, every page can be reached from README.md, every
figure is shown."""

import collections
import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "host/cli"), str(TOP / "tests/support")]
import notebooks
from openwip_cli.campaign import settings as page_of_experiments
from openwip_cli.campaign.settings import EMULATOR, SETTINGS
from openwip_cli.runs import ns3_tcp
from openwip_cli.settings import page

QUESTIONS = TOP / "tests/documentation/questions.tsv"
SENTENCES = TOP / "tests/documentation/sentences.tsv"
ROOMS = "blocks channels cmake docs firmware flowgraphs host mac tests .ci".split()
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
TEXT = {
    ".h",
    ".cpp",
    ".py",
    ".sh",
    ".yaml",
    ".yml",
    ".proto",
    ".cmake",
    ".txt",
    ".md",
    ".lua",
    ".in",
    "",
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def pages():
    return [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md")), *notebooks.paths()]


def text_of(page):
    """The Markdown of a page or a notebook."""
    return notebooks.markdown(page) if page.suffix == ".ipynb" else page.read_text()


def links(page):
    """(path, anchor) of each link into the tree."""
    for target in LINK.findall(text_of(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page):
    """The anchors that a web page makes of the headings."""
    return {
        re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in HEADING.findall(text_of(page))
    }


class Docs(unittest.TestCase):
    def test_no_link_is_dead(self):
        dead, seen = [], 0
        for source in pages():
            for path, anchor in links(source):
                seen += 1
                if not path.exists() or (anchor and anchor not in anchors(path)):
                    dead.append(f"{source.relative_to(TOP)}: {path.name}#{anchor}")
        self.assertGreater(seen, 100)
        self.assertEqual([], dead, "\n".join(dead))

    def test_a_page_that_is_named_in_the_tree_exists(self):
        wrong, seen = [], 0
        for folder in [TOP / f for f in ROOMS] + [TOP]:
            for path in sorted(folder.rglob("*") if folder != TOP else folder.iterdir()):
                if path.suffix in TEXT and path.is_file() and "__pycache__" not in path.parts:
                    for name in NAMED.findall(path.read_text(errors="replace")):
                        seen += 1
                        if not (TOP / name).exists():
                            wrong.append(f"{path.relative_to(TOP)}: {name}")
        self.assertGreater(seen, 200)
        self.assertEqual([], wrong, "\n".join(wrong))

    def test_pages_with_questions_have_ten(self):
        rows = [
            line.split("\t")
            for line in QUESTIONS.read_text().splitlines()
            if line and not line.startswith("#")
        ]
        self.assertEqual(
            rows[0],
            [
                "page",
                "question",
                "answer in the page",
                "cold reader",
                "second cold reader",
                "third cold reader",
                "third cold reader's answer",
                "fifth cold reader",
                "fifth cold reader's answer",
            ],
        )
        # A page that nobody has read yet has three columns, one that the fifth reader did not read
        # has seven.
        self.assertEqual([row for row in rows[1:] if len(row) not in (3, 7, 9)], [])
        read = [row + [""] * (9 - len(row)) for row in rows[1:] if len(row) != 3]
        verdicts = {row[column] for row in read for column in (3, 4, 5, 7) if row[column]}
        self.assertEqual(verdicts - {"yes", "partly", "no"}, set())
        # The third reader and the fifth one wrote an answer beside each verdict.
        self.assertEqual([row for row in read if bool(row[5]) != bool(row[6])], [])
        self.assertEqual([row for row in read if bool(row[7]) != bool(row[8])], [])
        # The first two read the same pages.
        self.assertEqual([row for row in read if bool(row[3]) != bool(row[4])], [])
        third = collections.Counter(row[5] for row in read if row[5])
        self.assertEqual(third, {"yes": 236, "partly": 4})
        fifth = collections.Counter(row[7] for row in read if row[7])
        self.assertEqual(fifth, {"yes": 368, "partly": 54, "no": 18})
        self.assertEqual([row for row in rows[1:] if not row[2]], [])
        asked = collections.Counter(row[0] for row in rows[1:])
        self.assertEqual({p: n for p, n in asked.items() if n != 10}, {})
        self.assertEqual([p for p in asked if not (TOP / p).exists()], [])
        self.assertGreaterEqual(len(asked), 46)

    def test_sentences_that_stopped_a_reader_are_counted_by_page(self):
        rows = [
            line.split("\t")
            for line in SENTENCES.read_text().splitlines()
            if line and not line.startswith("#")
        ]
        self.assertEqual(rows[0], ["page", "sentences", "not understood", "fifth cold reader"])
        self.assertEqual([row[0] for row in rows[1:] if not (TOP / row[0]).exists()], [])
        third = [row for row in rows[1:] if row[1]]
        self.assertEqual([row for row in third if int(row[2]) > int(row[1])], [])
        self.assertIn(f"Together {sum(int(row[1]) for row in third)} ", SENTENCES.read_text())
        fifth = [row for row in rows[1:] if row[3]]
        self.assertIn(
            f"was stopped by {sum(int(row[3]) for row in fifth)} sentences on"
            f" {sum(row[3] != '0' for row in fifth)} of {len(fifth)} pages",
            SENTENCES.read_text(),
        )

    def test_every_page_can_be_reached_from_the_readme(self):
        reached, waiting = set(), [TOP / "README.md"]
        while waiting:
            page = waiting.pop()
            if page.suffix in (".md", ".ipynb") and page not in reached and page.exists():
                reached.add(page)
                waiting.extend(path for path, _ in links(page))
        self.assertEqual([str(p.relative_to(TOP)) for p in pages() if p not in reached], [])

    def test_every_figure_is_shown_on_a_page(self):
        named = {path for page in pages() for path, _ in links(page)}
        figures = sorted((TOP / "docs" / "figures").iterdir())
        self.assertGreater(len(figures), 20)
        self.assertEqual([f.name for f in figures if f.resolve() not in named], [])

    def test_the_page_of_settings_is_the_table_of_settings(self):
        self.assertEqual(
            page.markdown(),
            (TOP / "docs/reference/settings.md").read_text(),
            "made by ./openwip get --describe --markdown",
        )

    def test_the_page_of_experiments_settings_is_what_they_can_set(self):
        text = (TOP / "docs/reference/experiment-settings.md").read_text()
        self.assertEqual(
            page_of_experiments.markdown(), text, "made by ./openwip experiment --describe"
        )
        for name in [*(n for n, s in SETTINGS.items() if s.role != EMULATOR), *ns3_tcp.TCP]:
            self.assertIn(f"\n|`{name}`|", text)


if __name__ == "__main__":
    unittest.main()
