# SPDX-License-Identifier: GPL-3.0-or-later
"""The flowgraphs in a real window of GNU Radio Companion, opened by ./openwip grc on an X server of
their own: every one opens without an error and runs from there, shows in the pixels of its window
what it is there to show, and ends in order when Companion stops it. The pictures of
docs/reference/gnuradio.md are those that this test takes (target grc_figures)."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import numpy
from grc_world import BUILD, GRAPHS, TOP, Screen, end, missing, pictures

FIGURES = BUILD / "grc-figures"
# pictures are of what has run for a while
SETTLED_S = 12 if os.environ.get("OPENWIP_FIGURES") else 0
TITLES = {
    "cabled": "OpenWIP: two radios on a cable",
    "fading": "OpenWIP: constellation and fading",
    "prediction": "OpenWIP: SNR prediction",
    "arq": "OpenWIP: ARQ with combining",
    "spectrum": "OpenWIP: spectrum of the software USRP",
}
TROUBLE = ("Error", "Warning", "Traceback", "missing")
BLUE, RED = 0x0000FF, 0xFF0000  # RGB
CURVES = {
    "cabled": (BLUE,),
    "fading": (BLUE,),
    "prediction": (BLUE, RED),
    "arq": (BLUE, RED),
    "spectrum": (BLUE,),
}
MAPS = ("fading", "spectrum")


def rows_of(pixels, colour):
    """How many rows of the picture have the colour. A legend has it in 10, a curve without data in
    2 more."""
    return int((pixels == colour).any(axis=1).sum())


def warm(pixels):
    """How many pixels are of the upper half of the raster's and the waterfall's colours, yellow to
    white over red."""
    return int(((pixels >> 16 > 0xF0) & ((pixels & 0xFF) < 0xD0)).sum())


def save(pixels, name):
    """Saves a picture for docs/figures, without the white below."""
    if not SETTLED_S:
        return
    used = numpy.flatnonzero((pixels != pixels[-1, -1]).any(axis=1))[-1]
    pixels = pixels[: used + 20]
    FIGURES.mkdir(exist_ok=True)
    pictures.save(pixels, FIGURES / f"grc_{name}.png")


@unittest.skipIf(missing(), f"{', '.join(missing())} not installed: ./openwip setup")
class Windows(unittest.TestCase):
    def setUp(self):
        self.screen = Screen()
        self.screen.__enter__()
        self.addCleanup(self.screen.__exit__, None, None, None)
        folder = tempfile.TemporaryDirectory(prefix="openwip-grc-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for graph in GRAPHS.glob("*.grc"):  # Companion writes its programs beside them
            shutil.copy(graph, self.folder)
        self.names = sorted(p.stem for p in GRAPHS.glob("*.grc"))
        self.output_file = self.folder / "companion.txt"

    def output(self):
        return self.output_file.read_text()

    def companion(self):
        with open(self.output_file, "w") as output:
            process = subprocess.Popen(
                [TOP / "openwip", "grc", *(self.folder / f"{n}.grc" for n in self.names)],
                env=self.screen.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.addCleanup(end, process)
        titles = self.screen.wait_for(lambda t: any(".grc" in title for title in t), 60)
        (window,) = [w for title, w in titles.items() if ".grc" in title]
        self.screen.xdotool("windowfocus", "--sync", window)
        self.screen.xdotool("mousemove", 1699, 1099)  # off the pictures
        return window

    def happens(self, condition, what, within=60):
        deadline = time.monotonic() + within
        while not condition():
            self.assertLess(
                time.monotonic(),
                deadline,
                f"not within {within} s: {what}; Companion said {self.output()[-2000:]}",
            )
            time.sleep(0.2)

    def tab(self):
        """The flowgraph whose tab is in front."""
        found = [
            m[1] for m in (re.match(r"\*?(\w+)\.grc", title) for title in self.screen.titles()) if m
        ]
        return found[0] if found else None

    def test_every_flowgraph_opens_in_companion_and_runs_from_there(self):
        window = self.companion()
        self.happens(lambda: self.output().count(">>> Done") == len(self.names), "all are loaded")
        time.sleep(1)  # seconds; a dialogue would appear after the window
        self.assert_no_trouble()
        seen = []
        for name in self.names:
            self.assertIn(f'Loading: "{self.folder}/{name}.grc"', self.output())
        for _ in self.names:
            name = self.tab()
            with self.subTest(name):
                if name == "loopback":
                    if shutil.which("xterm") is None:
                        self.skipTest("xterm is not installed")
                else:  # the picture of the window shows both
                    save(self.screen.pixels(window), f"{name}_graph")
                done = self.output().count(">>> Done")
                self.screen.xdotool("key", "F6")
                (self.run_in_a_terminal if name == "loopback" else self.run_in_a_window)(
                    window, name
                )
                self.happens(lambda: self.output().count(">>> Done") > done, "it has ended", 30)
                self.assertTrue(self.output().rstrip().endswith(">>> Done"), "exit code 0")
                self.assert_no_trouble()
            seen.append(name)
            self.screen.xdotool("windowfocus", "--sync", window)
            self.screen.xdotool("key", "ctrl+w")
            self.happens(lambda: self.tab() != name, "the next tab")
        self.assertEqual(sorted(seen), self.names)
        self.assertNotIn("Traceback", self.output())
        self.assertNotIn("Error", self.output())

    def assert_no_trouble(self):
        titles = self.screen.titles()
        self.assertFalse([t for t in titles if any(word in t for word in TROUBLE)], titles)

    def run_in_a_window(self, companion, name):
        titles = self.screen.wait_for(lambda t: TITLES[name] in t, 60)
        self.assertIn(TITLES[name], titles)
        shown = titles[TITLES[name]]
        picture = lambda: self.screen.pixels(shown)
        for colour in CURVES[name]:
            self.happens(lambda: rows_of(picture(), colour) > 50, f"a curve of colour {colour:06x}")
            before = picture() == colour
            self.happens(lambda: ((picture() == colour) != before).any(), "it moves")
        if name in MAPS:
            self.happens(lambda: warm(picture()) > 20000, "the map fills")
        time.sleep(SETTLED_S)
        save(picture(), name)
        self.screen.xdotool("windowfocus", "--sync", companion)
        self.screen.xdotool("key", "F7")  # stop
        left = self.screen.wait_for(lambda t: TITLES[name] not in t, 20)
        self.assertNotIn(TITLES[name], left)

    def run_in_a_terminal(self, companion, name):
        """Runs a flowgraph in a terminal, whose text stays until Enter."""
        log = self.screen.terminal_log
        self.happens(
            lambda: log.exists() and "Enter closes this window" in log.read_text(),
            "the text is there",
        )
        outcomes = re.findall(r"\(outcome \. #\[([0-9 ]*)\]", log.read_text())
        self.assertEqual(outcomes[1:], [" ".join("1" * 25)] * 3, "700 slots, every 150th")
        time.sleep(1)
        (terminal,) = self.screen.xdotool("search", "--onlyvisible", "--class", "xterm")
        self.assertGreater(
            int((self.screen.pixels(terminal) < 0x404040).sum()), 5000, "its pixels are text"
        )
        save(self.screen.pixels(companion), name)
        self.screen.xdotool("windowfocus", "--sync", terminal)
        self.screen.xdotool("key", "Return")
        self.happens(
            lambda: not self.screen.xdotool("search", "--onlyvisible", "--class", "xterm"),
            "Enter closes it",
        )


class Command(unittest.TestCase):
    def run_grc(self, *arguments, **environment):
        return subprocess.run(
            [TOP / "openwip", "grc", *arguments],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "OPENWIP_NO_BUILD": "1", "OPENWIP_BUILD": str(BUILD)}
            | environment,
        )

    @unittest.skipIf(missing(), "not installed")
    def test_refuses_an_unknown_flowgraph_and_a_missing_display_in_one_line(self):
        done = self.run_grc("nothing", DISPLAY=":99")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            r"^openwip: grc: FLOWGRAPH is 'nothing', which does not exist; valid: a .grc file, or one of: arq cabled fading"
            r" .*\n$",
        )
        done = self.run_grc("fading")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^openwip: grc needs a display .*\n$")


if __name__ == "__main__":
    unittest.main()
