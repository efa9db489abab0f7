# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command line has all runs do over what the files say: --set KEY=VALUE, --realisations N."""
import dataclasses
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput
from ..settings import command_line
from .settings import EMULATOR, SETTINGS

# Of the emulator, but told by other parts of a file.
ELSEWHERE = {"seed": "--realisations", "link.kind": "another experiment", "terminals": "a grid with users"}


@dataclasses.dataclass(frozen=True)
class Over:
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    realisations: int | None = None

    @property
    def named(self) -> dict[str, Any]:
        """As a folder of results has it."""
        return self.settings | ({"realisations": self.realisations} if self.realisations else {})


def key_of(name: str) -> str:
    """The same for two names of one setting: order, link.order."""
    return str(SETTINGS[name].key or name)


def read(words: Iterable[str], realisations: int | None) -> Over:
    given: dict[str, Any] = {}
    for word in words:
        name, equal, value = word.partition("=")
        if not name or not equal:
            raise BadInput(f"--set is {word!r}; valid: KEY=VALUE, such as umts.status_prohibit_ms=20")
        if name not in SETTINGS or SETTINGS[name].role != EMULATOR or SETTINGS[name].key is None or name.startswith("traffic."):
            raise BadInput(f"--set {word}: {name} is no setting of the emulator (docs/settings.md); valid: such as umts.status_prohibit_ms; of TCP: --tcp")
        if key_of(name) in ELSEWHERE:
            raise BadInput(f"--set {word}; valid instead: {ELSEWHERE[key_of(name)]}")
        if key_of(name) in map(key_of, given):
            raise BadInput(f"--set {word}: {key_of(name)} is given twice; valid: once")
        given[name] = command_line.read(f"--set {name}", SETTINGS[name].kind, value)
    return Over(given, realisations)
