# SPDX-License-Identifier: GPL-3.0-or-later
"""The benches of tests/bench as modules, and a call of one as a command."""

import contextlib
import importlib.util
import io
import pathlib
import sys
import unittest.mock

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def bench(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_of(module, *arguments):
    """Exit code of its command, and its last line."""
    output = io.StringIO()
    with (
        unittest.mock.patch.object(sys, "argv", [module.__name__, *arguments]),
        contextlib.redirect_stderr(output),
    ):
        try:
            code = module.main()
        except SystemExit as e:
            code = e.code
    return code, output.getvalue().strip().splitlines()[-1]
