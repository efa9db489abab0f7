# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines on the standard input of ./openwip bridge: each is done when it has come, whatever came
with it."""

import os
import types
import unittest
import unittest.mock

from openwip_cli.commands import bridge


class Lines(unittest.TestCase):
    def setUp(self):
        self.done = []
        self.stdin, self.writer = (os.fdopen(fd, mode) for fd, mode in zip(os.pipe(), ("r", "w")))
        self.stderr, self.words = (os.fdopen(fd, mode) for fd, mode in zip(os.pipe(), ("r", "w")))
        for file in (self.stdin, self.writer, self.stderr, self.words):
            self.addCleanup(file.close)

    def follow(self, n, *pieces, end=False):
        """The calls that have been made once n lines were read, or after some waits; one piece
        comes before each wait."""
        pieces, waits = iter(pieces), iter(range(n + 4))

        def poll():
            if data := next(pieces, b""):
                os.write(self.writer.fileno(), data)
            elif end:
                self.writer.close()
            return 0 if len(self.done) >= n or next(waits, None) is None else None

        with (
            unittest.mock.patch("sys.stdin", self.stdin),
            unittest.mock.patch.object(
                bridge, "change", lambda _, line: self.done.append(line.strip())
            ),
        ):
            bridge.follow(None, types.SimpleNamespace(stderr=self.stderr, poll=poll))
        return self.done

    def test_two_that_come_at_once_are_both_done(self):
        self.assertEqual(
            self.follow(2, b"wired.delay_ms=5\nstatus\n"), ["wired.delay_ms=5", "status"]
        )

    def test_one_that_comes_in_pieces_is_one(self):
        self.assertEqual(self.follow(2, b"sta", b"tus\nsta", b"tus\n"), ["status", "status"])

    def test_the_last_one_needs_no_end(self):
        self.assertEqual(
            self.follow(2, b"status\nwired.delay_ms=\xff", end=True),
            ["status", "wired.delay_ms=\ufffd"],
        )

    def test_nothing_more_is_nothing_wrong(self):
        self.words.write("a warning without an end of line")
        self.words.flush()
        self.assertEqual(self.follow(2, b"status\n", end=True), ["status"])


if __name__ == "__main__":
    unittest.main()
