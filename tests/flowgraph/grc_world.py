# SPDX-License-Identifier: GPL-3.0-or-later
"""A screen for tests of GNU Radio Companion, with the environment of ./openwip grc."""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import pictures  # noqa: F401
import screen
from screen import end  # noqa: F401

TOP = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = TOP / "flowgraphs" / "grc"
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))


def missing():
    return screen.missing("gnuradio-companion")


class Screen(screen.Screen):
    """A screen with Companion's panels hidden, so that the whole flowgraph is seen. What a terminal
    shows is in `terminal_log`, too."""

    def __init__(self):
        super().__init__(
            "1700x1100",
            also={
                "GR_CONF_CONTROLPORT_ON": "False",
                "GR_CONF_GRC_XTERM_EXECUTABLE": shutil.which("xterm") or "/bin/false",
                "GRC_BLOCKS_PATH": str(TOP / "blocks" / "grc"),
                "OPENWIP_BUILD": str(BUILD),
                "OPENWIP_NO_BUILD": "1",
                "PYTHONPATH": str(BUILD / "python"),
                "UHD_MODULE_PATH": str(BUILD / "uhd_modules"),
            },
        )

    def __enter__(self):
        super().__enter__()
        home = pathlib.Path(self.folder.name)
        (home / ".gnuradio").mkdir()
        (home / ".gnuradio" / "grc.conf").write_text(
            "[main]\nblocks_window_visible = False\nconsole_window_visible ="
            " False\nvariable_editor_visable = False\nmain_window_width = 1580\nmain_window_height"
            " = 960\n"
        )
        self.terminal_log = home / "terminal.log"
        resources = home / "xterm.resources"
        resources.write_text(
            f"*logging: true\n*logFile: {self.terminal_log}\n*faceName: DejaVu Sans"
            " Mono\n*faceSize: 9\n*geometry: 90x24+560+430\n"
        )
        self.environment["XENVIRONMENT"] = str(resources)
        return self
