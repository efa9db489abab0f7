# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry point `openwip` of an environment that pip has installed into."""

import os
import sys

from openwip_cli.errors import BadInput

from .run import launcher


def main() -> None:
    """Becomes ./openwip of this installation, with the arguments of the command line."""
    try:
        path = launcher()
    except BadInput as e:
        print(f"openwip: {e}", file=sys.stderr)
        sys.exit(e.code)
    os.execv(path, [path, *sys.argv[1:]])
