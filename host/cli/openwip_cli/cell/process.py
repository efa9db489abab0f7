# SPDX-License-Identifier: GPL-3.0-or-later
"""One process of a cell: what the supervisor starts, and with which rights."""

import dataclasses

FIRST_DESCRIPTOR = 10  # of those that a process is handed


@dataclasses.dataclass
class Process:
    name: str
    argv: list
    environment: dict
    namespace: str | None = None
    essential: bool = True  # its death ends the cell; that of an observer is reported only
    slot_path: bool = False  # a slot goes through it (placement.py)
    apart: bool = False  # and need not wait for it, on a clock that does not
    # all that it may ever hold; None: root's, of a program that gives them up itself
    capabilities: tuple | None = None
    of_the_group: bool = False  # it is of the account's group, for sockets that are the account's
    descriptors: tuple = ()  # handed to it as FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 1, ...
