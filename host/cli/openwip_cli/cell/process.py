# SPDX-License-Identifier: GPL-3.0-or-later
"""One process of a cell: what the supervisor starts, and with which rights."""

import dataclasses

FIRST_DESCRIPTOR = 10  # first descriptor number that a process is handed


@dataclasses.dataclass
class Process:
    name: str
    argv: list
    environment: dict
    namespace: str | None = None
    essential: bool = True  # its death ends the cell; the death of an observer is only reported
    slot_path: bool = False  # slots pass through it (placement.py)
    apart: bool = False  # it may run on another core, since the slot path does not wait for it
    # all that it may ever hold; None: root's, of a program that gives them up itself
    capabilities: tuple | None = None
    of_the_group: bool = False  # it belongs to the account's group, for the account's sockets
    descriptors: tuple = ()  # handed to it as FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 1, ...
