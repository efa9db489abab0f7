# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of a verdict."""

from typing import Any

from openwip_schema import telemetry_pb2

from ..shapes import Verdict


def number_of(check: str) -> int:
    """A check's number in the schema, by its name in a report."""
    return int(telemetry_pb2.Check.Value(f"CHECK_{check.upper()}"))


def verdict_message(judged: Verdict, command: str, **more: Any) -> telemetry_pb2.Verdict:
    return telemetry_pb2.Verdict(
        valid=judged["valid"],
        reason=judged["reasons"],
        check=[number_of(finding["check"]) for finding in judged["findings"]],
        judged=[number_of(name) for name in judged["checks"]],
        command=command,
        **more,
    )
