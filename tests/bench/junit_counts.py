# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts of a run of ctest, from the JUnit file that it writes (--output-junit)."""

import pathlib
import xml.etree.ElementTree
from typing import Any

RAN, FAILED = "run", "fail"  # status of a test case; every other one was left out


def counts(file: pathlib.Path) -> dict[str, Any] | None:
    """How many tests there are, passed, failed (with their names) and were left out; None: there is
    no such file."""
    if not file.exists():
        return None
    status = {
        case.get("name", ""): case.get("status")
        for case in xml.etree.ElementTree.parse(file).iter("testcase")
    }
    failed = sorted(name for name, of in status.items() if of == FAILED)
    passed = sum(of == RAN for of in status.values())
    return {
        "tests": len(status),
        "passed": passed,
        "failed": len(failed),
        "left_out": len(status) - passed - len(failed),
        "names_of_failed": failed,
    }
