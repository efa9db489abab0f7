# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, by exit code (docs/demo.md)."""

VALID, INVALID, BAD_INPUT, DIED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 130


class BadInput(Exception):
    """An option, a file or the machine is not as required: one line that says what would be."""


class CellDied(Exception):
    """A process of the cell ended although nobody asked it to."""

    def __init__(self, why, last_words=()):
        super().__init__(why)
        self.last_words = list(last_words)  # (process, last line of its log)


class NotWritten(Exception):
    """The run is over and its report on the screen; a file that was asked for could not be written."""


class NoLock(Exception):
    """The terminal did not lock: a radio event, not a fault of the machine."""
