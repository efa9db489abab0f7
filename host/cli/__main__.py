# SPDX-License-Identifier: GPL-3.0-or-later
"""python host/cli COMMAND ...: as python -m openwip_cli, but with no module of the folder where it is called (a yaml.py, a signal.py)."""
import runpy

runpy.run_module("openwip_cli", run_name="__main__", alter_sys=True)
