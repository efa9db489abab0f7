# SPDX-License-Identifier: GPL-3.0-or-later
"""A medium for a test, UHD's own programs, and how to ask the medium."""

import os
import pathlib
import subprocess
import sys
import tempfile

import zmq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "cli"))

from openwip_cli.machine import media

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
AIR = BUILD / "host/medium/air"


def example(name):
    """Path of one of UHD's example programs, None if the package has none."""
    listed = subprocess.run(["dpkg", "-L", "uhd-host"], capture_output=True, text=True)
    places = [line for line in listed.stdout.split() if line.endswith("/examples/" + name)]
    for folder in (
        "/usr/libexec/uhd/examples",
        "/usr/lib/uhd/examples",
        "/usr/local/lib/uhd/examples",
    ):
        places.append(f"{folder}/{name}")
    return next((place for place in places if os.access(place, os.X_OK)), None)


class Medium:
    """The air program with a configuration, in a folder of its own."""

    def __init__(self, air, nodes, paths="[]", name=None):
        self.folder = tempfile.TemporaryDirectory(prefix="openwip-test-")
        self.name = name or "test-" + pathlib.Path(self.folder.name).name[-8:]
        self.endpoint = f"ipc://{self.folder.name}/control"
        self.file = pathlib.Path(self.folder.name) / "air.yaml"
        self.file.write_text(
            f"air: {{name: {self.name}, control: '{self.endpoint}', {air}}}\n"
            f"nodes: {nodes}\npaths: {paths}\n"
        )
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen([AIR, "--config", self.file], stderr=self.log)
        self.context = zmq.Context()

    def args(self, node):
        return f"type=vusrp,connect_timeout=5,air={self.name},node={node}"

    def exchange(self, message):
        socket = self.context.socket(zmq.REQ)
        socket.setsockopt(zmq.RCVTIMEO, 5000)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(self.endpoint)
        socket.send(message)
        answer = socket.recv()
        socket.close()
        return answer

    def ask(self, what="status", value=None):
        from openwip_schema import control_pb2

        request = control_pb2.Request()
        if value is None:
            getattr(request, what).SetInParent()
        else:
            setattr(request, what, value)
        reply = control_pb2.Reply()
        reply.ParseFromString(self.exchange(request.SerializeToString()))
        return reply

    def text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()

    def meeting_place(self):
        """The socket at which it hands over its memory."""
        return media.socket_of(self.name)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(5)
        self.log.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.context.destroy(0)
        self.folder.cleanup()
