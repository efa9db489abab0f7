# SPDX-License-Identifier: GPL-3.0-or-later
"""The preset `core` is configured where nothing but a compiler, GoogleTest, the numeric libraries
and yaml-cpp can be found, and asks for nothing else. What reads YAML is the reader of channel
definitions alone."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from test_structure import PURE

TOP = pathlib.Path(__file__).resolve().parents[3]
OTHERS = (
    "Gnuradio",
    "UHD",
    "pybind11",
    "Protobuf",
    "CLI11",
    "spdlog",
    "nlohmann_json",
    "Qt6",
    "QCustomPlotQt6",
    "HDF5",
    "Liquid",
    "Python3",
)
FORBIDDEN = re.compile(
    r"gnuradio|uhd|pybind|protobuf|zmq|cli11|spdlog|libfmt|nlohmann|[/-]qt6|hdf5|liquid", re.I
)
# The rooms that read no clock, and those that else need no more; the firmware has no core.
SOURCES = {room for room in PURE if any((TOP / room).rglob("*.cpp"))} - {"firmware/core"} | {
    "channels/fader",
    "channels/profiles",
    "tests/sim",
}


def settings_of(name):
    """Cache variables of a preset."""
    presets = {
        p["name"]: p
        for p in json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"]
    }
    return presets[name]["cacheVariables"]


class Core(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.build, pc = pathlib.Path(folder.name, "build"), pathlib.Path(folder.name, "pc")
        pc.mkdir()
        found = subprocess.run(
            ["pkg-config", "--variable=pcfiledir", "fftw3f"],
            capture_output=True,
            text=True,
            check=True,
        )
        shutil.copy(pathlib.Path(found.stdout.strip(), "fftw3f.pc"), pc)
        command = [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            TOP,
            "-B",
            cls.build,
            *(f"-D{k}={v}" for k, v in settings_of("core").items()),
            *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in OTHERS),
        ]
        cls.configured = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PKG_CONFIG_LIBDIR": str(pc), "PKG_CONFIG_PATH": ""},
        )

    def test_it_configures_without_them(self):
        self.assertEqual(self.configured.returncode, 0, self.configured.stderr)
        self.assertNotIn("left out", self.configured.stdout)

    def test_no_source_is_compiled_and_nothing_linked_with_them(self):
        lines = [
            text
            for text in (self.build / "build.ninja").read_text().splitlines()
            if re.match(r"\s*(INCLUDES|DEFINES|LINK_LIBRARIES|FLAGS) =", text)
        ]
        self.assertGreater(len(lines), 200)
        where = str(self.build), str(TOP)
        self.assertEqual(
            [t for t in lines if FORBIDDEN.search(t.replace(where[0], "").replace(where[1], ""))],
            [],
        )

    def test_all_of_the_core_is_compiled(self):
        commands = json.loads((self.build / "compile_commands.json").read_text())
        compiled = {
            str(pathlib.Path(c["file"]).relative_to(TOP))
            for c in commands
            if c["file"].startswith(str(TOP))
        }
        self.assertLess(
            {"mac/umts", "mac/wlan", "mac/relay", "channels/packet", "blocks/phy"}, SOURCES
        )
        missing = [room for room in SOURCES if not any(f.startswith(room + "/") for f in compiled)]
        self.assertEqual(missing, [])
        self.assertEqual(
            [
                f
                for f in compiled
                if f.startswith(
                    ("host/", "blocks/lib", "blocks/os", "blocks/peer", "channels/air")
                    + ("channels/vusrp",)
                )
            ],
            [],
        )
        self.assertEqual(
            {
                pathlib.Path(f).parent.as_posix()
                for f in compiled
                if "#include <yaml-cpp" in (TOP / f).read_text()
            },
            {"channels/profiles"},
        )


if __name__ == "__main__":
    unittest.main()
