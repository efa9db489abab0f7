# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of doctor and radio, a line each: ok, or the cost and the command that mends it."""

import dataclasses
from collections.abc import Iterable
from typing import Any


@dataclasses.dataclass
class Finding:
    what: str
    says: str
    costs: str = ""  # empty: ok
    mend: str = ""  # a command, or advice
    safe: bool = False  # --fix may run it

    @property
    def ok(self) -> bool:
        return not self.costs

    def lines(self) -> list[str]:
        if self.ok:
            return [f"ok    {self.what}: {self.says}"]
        return [
            f"COSTS {self.what}: {self.says}: {self.costs}",
            *([f"      mend: {self.mend}"] if self.mend else []),
        ]


def evaluated(
    what: str, says: str, ok: bool, costs: str, mend: str = "", safe: bool = False
) -> Finding:
    """A finding that is ok, or has costs. `costs`, `mend` and `safe` are used only if it is not
    ok."""
    return Finding(what, says) if ok else Finding(what, says, costs, mend, safe)


def show(findings: Iterable[Finding]) -> None:
    for f in findings:
        print("\n".join(f.lines()))


def as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(f) | {"ok": f.ok} for f in findings]
