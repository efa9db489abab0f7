# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of the tests of ./openwip station: a command line with radio and keys, and a process that
answers questions."""

import atexit
import contextlib
import tempfile
import threading

import zmq

from openwip_cli.cell import remote
from openwip_cli.figures import checks, one_station
from openwip_cli.runs import station_options

FOLDER = tempfile.TemporaryDirectory()
atexit.register(FOLDER.cleanup)
KEYS = f"{FOLDER.name}/keys"
remote.make_keys(KEYS)
HERE = ("--radio", "type=b200", "--peer", "127.0.0.1", "--keys", KEYS)


def parse(*arguments):
    return station_options.parse(list(arguments))


def evaluated(*known, **more):
    return checks.evaluate(one_station.facts_of(*known, **more))


@contextlib.contextmanager
def answering(endpoint, reply):
    """A process whose control says these bytes, whatever the question."""
    with zmq.Context.instance().socket(zmq.REP) as socket:
        socket.linger = 0
        socket.bind(endpoint)
        done = threading.Event()

        def serve():
            while not done.is_set():
                if socket.poll(20):
                    socket.recv()
                    socket.send(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
