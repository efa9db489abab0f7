# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs and libraries that a cell runs are built hardened (CMakeLists.txt, OPENWIP_HARDEN): read
from the files."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
CACHE = (BUILD / "CMakeCache.txt").read_text()
PROGRAMS = (
    "host/macd/macd",
    "host/medium/air",
    "host/emulator/wip_emulator",
    "host/observer/wip_observer",
    "host/split/wip_split",
    "host/tcpl/wip_tcpl",
    "host/capture/wip_capture",
    "uhd_modules/libvusrp.so",
)


def readelf(option, path):
    return subprocess.run(
        ["readelf", "-W", option, path], capture_output=True, text=True, check=True
    ).stdout


@unittest.skipUnless(shutil.which("readelf"), "readelf (binutils) is not installed")
@unittest.skipUnless(
    "OPENWIP_HARDEN:BOOL=ON" in CACHE and "-fsanitize" not in CACHE, "not a hardened build"
)
class Hardening(unittest.TestCase):
    def each(self):
        for name in PROGRAMS:
            if (BUILD / name).exists():
                with self.subTest(name):
                    yield BUILD / name

    def test_functions_of_libraries_are_found_at_the_start_and_their_table_is_read_only(self):
        for path in self.each():
            self.assertRegex(readelf("-d", path), r"BIND_NOW|FLAGS_1.* NOW")
            self.assertIn("GNU_RELRO", readelf("-l", path))

    def test_programs_can_lie_anywhere(self):
        for path in self.each():
            self.assertRegex(readelf("-h", path), r"Type: +DYN")

    def test_no_stack_is_executable(self):
        for path in self.each():
            self.assertRegex(readelf("-l", path), r"GNU_STACK .* RW +0x")

    def test_stacks_and_copies_are_checked(self):
        for path in self.each():
            self.assertIn("__stack_chk_fail", readelf("--dyn-syms", path))
        if re.search("CMAKE_BUILD_TYPE:STRING=Rel", CACHE):
            checked = [
                p
                for p in self.each()
                if re.search(r"__\w+_chk@", readelf("--dyn-syms", p).replace("__stack_chk", ""))
            ]
            self.assertGreater(len(checked), 0)


if __name__ == "__main__":
    unittest.main()
