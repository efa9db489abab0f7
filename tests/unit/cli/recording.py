# SPDX-License-Identifier: GPL-3.0-or-later
"""A world for tests of the run record: a file written from messages that a reader took, without
waiting."""

import pathlib
import tempfile
import unittest

from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import telemetry
from openwip_cli.records import record_file, run_record

ENDPOINTS = {
    "base": "ipc:///tmp/openwip-nobody-binds-this",
    "terminal": "ipc:///tmp/openwip-nobody-binds-that",
}


class Recording:
    """A record that is being written to `path`."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.reader = telemetry.Reader(ENDPOINTS)
        self.file = record_file.RecordFile(self.path)
        self.sequence = {}

    def give(self, topic, source="base", skip=0, slot=0, wall_ns=0, user=0, **what):
        """One message into the record, `skip` numbers later than the one before."""
        n = self.sequence[topic, source] = self.sequence.get((topic, source), 0) + 1 + skip
        message = pb.Telemetry(sequence=n, slot=slot, version=1, wall_ns=wall_ns, user=user, **what)
        taken = self.reader.take(source, [topic.encode(), message.SerializeToString()])
        self.file.add(taken)
        return message

    def finish(self, **about):
        self.file.finish({"command": "./openwip demo", "report": {}} | about, self.reader)

    def close(self):
        self.reader.close()


class RecordWorld(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "run.h5"
        self.recording = Recording(self.path)
        self.addCleanup(self.recording.close)
        self.reader, self.file = self.recording.reader, self.recording.file
        self.give, self.finish = self.recording.give, self.recording.finish

    def read(self):
        record = run_record.RunRecord(self.path)
        self.addCleanup(record.close)
        return record
