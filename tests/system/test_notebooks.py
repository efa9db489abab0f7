# SPDX-License-Identifier: GPL-3.0-or-later
"""The notebooks of the documentation, executed as a reader executes them: no cell fails, each takes
less than two minutes of a processor, and they print and draw what is kept in their files.

Some minutes: only for `ctest -C notebooks`, or here by hand. OPENWIP_NOTEBOOKS=read-a-record: these
alone."""

import importlib.util
import os
import pathlib
import resource
import sys
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
import notebooks
from openwip_cli.machine.places import Places
from openwip_cli.runs import virtual

PLACES = Places(TOP, pathlib.Path(os.environ["OPENWIP_BUILD"]), sys.executable)
NEEDED = ("nbclient", "nbformat", "ipykernel", "pandas", "matplotlib")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
KERNEL = (PLACES.build / virtual.KERNEL).exists()
ASKED = [name for name in os.environ.get("OPENWIP_NOTEBOOKS", "").split(",") if name]
LIMIT_S = 120  # seconds of processor time; wall-clock time would depend on the load


def processor_s():
    """The processor time of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@unittest.skipIf(MISSING, f"no {', '.join(MISSING)}: ./openwip setup --notebooks")
class Notebooks(unittest.TestCase):
    def check(self, path):
        if not KERNEL and any('time="virtual"' in code for code in notebooks.code(path)):
            self.skipTest("no Linux kernel for virtual time: ./openwip setup --virtual-time")
        began, before = time.monotonic(), processor_s()
        executed = notebooks.execute(path)
        used = processor_s() - before
        print(
            f"{path.stem}: {time.monotonic() - began:.0f} s, {used:.0f} s of a processor",
            flush=True,
        )
        kept = notebooks.read(path)
        for at, (now, then) in enumerate(zip(executed.cells, kept["cells"], strict=True)):
            if now.cell_type == "code":
                found = notebooks.difference(notebooks.printed(now), notebooks.printed(then))
                self.assertEqual(found, "", f"cell {at} of {path.name}: {found}")
                self.assertEqual(notebooks.pictures(now), notebooks.pictures(then), f"cell {at}")
        self.assertLess(used, LIMIT_S)

    def test_each_says_what_is_kept_in_it(self):
        notebooks.environment()
        os.environ["OPENWIP_NO_BUILD"] = "1"
        for path in notebooks.paths():
            if not ASKED or path.stem in ASKED:
                with self.subTest(notebook=path.stem):
                    self.check(path)


if __name__ == "__main__":
    unittest.main()
