# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a cell ends, as its run folder says it: a cause, and words that decide nothing."""

import json
import pathlib
import tempfile
import unittest

from google.protobuf import json_format
from openwip_schema import stop_pb2

from openwip_cli.machine import reason
from openwip_cli.machine.reason import Cause, Reason


class Reasons(unittest.TestCase):
    def test_the_causes_are_those_of_the_schema(self):
        self.assertEqual({c.name: c.value for c in Cause}, dict(stop_pb2.Cause.items()))

    def test_what_is_written_is_the_message_of_the_schema(self):
        for cause in Cause:
            made = Reason(cause, 'air was "killed" by SIGKILL')
            message = json_format.Parse(made.text(), stop_pb2.Reason())
            self.assertEqual((message.cause, message.words), (cause.value, made.words))
            self.assertEqual(reason.parse(made.text()), made)

    def test_a_file_of_a_supervisor_that_knew_no_causes_is_its_words(self):
        for text in ("air died\n", "12\n", "[]", "null", '{"cause": "NOBODY", "words": "x"}'):
            self.assertEqual(
                reason.parse(text), Reason(Cause.CAUSE_UNSPECIFIED, " ".join(text.split()))
            )

    def test_what_was_asked_for_is_no_loss(self):
        self.assertEqual(set(Cause) - reason.LOST, {Cause.ASKED, Cause.CAUSE_UNSPECIFIED})

    def test_of_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder)
            self.assertIsNone(reason.read(run))
            self.assertEqual(reason.words_of(run), "asked to stop")
            reason.write(run, Reason(Cause.GONE, "wip0 is gone"))
            self.assertEqual(
                json.loads((run / reason.FILE).read_text()),
                {"cause": "GONE", "words": "wip0 is gone"},
            )
            self.assertEqual(reason.read(run), Reason(Cause.GONE, "wip0 is gone"))
            self.assertEqual(reason.words_of(run), "wip0 is gone")


if __name__ == "__main__":
    unittest.main()
