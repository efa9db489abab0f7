# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of a verdict."""

from typing import Any

from openwip_schema import telemetry_pb2

from ..shapes import Verdict


def name_of(check: str) -> str:
    """A check's name in the schema, by its name in a report."""
    return f"CHECK_{check.upper()}"


def verdict_message(evaluated: Verdict, command: str, **more: Any) -> telemetry_pb2.Verdict:
    return telemetry_pb2.Verdict(
        valid=evaluated["valid"],
        reason=evaluated["reasons"],
        check=[name_of(finding["check"]) for finding in evaluated["findings"]],
        judged=[name_of(name) for name in evaluated["checks"]],
        command=command,
        **more,
    )
