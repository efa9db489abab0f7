# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys and the forwarder: who has the right key sees what the cell says, who has not gets
nothing."""

import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import zmq
from openwip_schema import control_pb2 as pb

from openwip_cli.cell import remote
from openwip_cli.errors import BadInput
from openwip_cli.messages import control


def free_port():
    """The first of so many free ports as the forwarder takes."""
    for port in range(20000 + os.getpid() % 5000, 60000, len(remote.SOCKETS)):
        taken = []
        try:
            for i in range(len(remote.SOCKETS)):
                s = socket.socket()
                taken.append(s)
                s.bind(("127.0.0.1", port + i))
            return port
        except OSError:
            continue
        finally:
            for s in taken:
                s.close()
    raise AssertionError("no free ports")


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.keys = pathlib.Path(self.folder.name, "keys")

    def tearDown(self):
        self.folder.cleanup()

    def test_secret_keys_are_readable_by_their_owner_only(self):
        remote.make_keys(self.keys)
        modes = {p.name: oct(p.stat().st_mode & 0o777) for p in self.keys.iterdir()}
        self.assertEqual(
            modes,
            {
                "server.key": "0o600",
                "client.key": "0o600",
                "server.public": "0o644",
                "client.public": "0o644",
            },
        )
        server, client = remote.ServerKeys(self.keys), remote.ClientKeys(self.keys)
        self.assertEqual(
            (server.public, server.client_public), (client.server_public, client.public)
        )
        self.assertNotEqual(server.secret, client.secret)

    def test_keys_are_not_overwritten(self):
        remote.make_keys(self.keys)
        before = (self.keys / "server.key").read_bytes()
        with self.assertRaisesRegex(BadInput, "exists"):
            remote.make_keys(self.keys)
        self.assertEqual((self.keys / "server.key").read_bytes(), before)

    def test_half_written_keys_are_taken_back_and_others_left(self):
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (70, limit[1]))  # room for server.public
        try:
            with self.assertRaisesRegex(BadInput, "keys cannot be written: File too large"):
                remote.make_keys(self.keys)
            self.assertFalse(self.keys.exists())
            self.keys.mkdir()
            with self.assertRaisesRegex(BadInput, "keys cannot be written: File too large"):
                remote.make_keys(self.keys)
            self.assertEqual(list(self.keys.iterdir()), [])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        remote.make_keys(self.keys)

    def test_bad_key_files_are_refused_with_their_name(self):
        remote.make_keys(self.keys)
        (self.keys / "server.key").chmod(0o640)
        with self.assertRaisesRegex(
            BadInput, "server.key: users other than its owner .*mode 0640."
        ):
            remote.ServerKeys(self.keys)
        (self.keys / "client.key").write_bytes(b"secret-key: short\n\xff")
        with self.assertRaisesRegex(BadInput, "client.key is no key file"):
            remote.ClientKeys(self.keys)
        with self.assertRaisesRegex(BadInput, "server.key: No such file"):
            remote.ServerKeys("/nonexistent")

    def test_who_listens_needs_keys_on_the_loopback_too(self):
        remote.make_keys(self.keys)
        for address in (
            "tcp://0.0.0.0:7000",
            "tcp://192.0.2.1:7000",
            "tcp://example.org:7000",
            "tcp://[::]:7000",
            "tcp://127.0.0.1:7000",
            "tcp://localhost:7000",
            "tcp://[::1]:7000",
        ):
            with self.assertRaisesRegex(
                BadInput, "it needs --keys DIR .*openwip keys DIR makes them"
            ):
                remote.check_listen(address, None)
            with self.assertRaisesRegex(
                BadInput, "it needs --keys DIR with server.public and client.key"
            ):
                remote.client(address, None)
            self.assertEqual(remote.check_listen(address, self.keys)[1], 7000)
        for address in (
            "udp://127.0.0.1:7000",
            "tcp://127.0.0.1",
            "tcp://127.0.0.1:0",
            "tcp://127.0.0.1:65535",
            "tcp://*:7000",
            "",
            "tcp://a b:7000",
        ):
            with self.assertRaisesRegex(BadInput, "--listen"):
                remote.check_listen(address, self.keys)
        with self.assertRaisesRegex(BadInput, "without --listen"):
            remote.check_listen(None, self.keys)


class Forwarded(unittest.TestCase):
    """A forwarder between a scripted cell and clients."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.folder_of_run, cls.keys, cls.other = (
            pathlib.Path(cls.folder.name, n) for n in ("run", "keys", "other")
        )
        cls.folder_of_run.mkdir()
        # the forwarder may be the account before it has connected
        os.chmod(cls.folder.name, 0o711)
        remote.make_keys(cls.keys)
        remote.make_keys(cls.other)
        cls.over = threading.Event()
        cls.context = zmq.Context.instance()
        cls.rep = cls.context.socket(zmq.REP)
        cls.rep.bind(f"ipc://{cls.folder_of_run}/base.control")
        cls.pub = cls.context.socket(zmq.XPUB)
        cls.pub.maxmsgsize = 4096  # the same limit as in macd
        cls.pub.bind(f"ipc://{cls.folder_of_run}/base.telemetry")
        for socket_ in cls.folder_of_run.iterdir():
            socket_.chmod(0o666)
        cls.subscribed, cls.asked, cls.published = [], 0, 0
        cls.thread = threading.Thread(target=cls.serve, daemon=True)
        cls.thread.start()
        cls.address = f"tcp://127.0.0.1:{free_port()}"
        cls.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "openwip_cli",
                "forward",
                str(cls.folder_of_run),
                "127.0.0.1",
                cls.address.rsplit(":", 1)[1],
                str(cls.keys),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert cls.process.stdout.readline() == b"ready\n", cls.process.stderr.read()

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGTERM)
        cls.output = cls.process.stderr.read().decode()
        assert cls.process.wait(5) == 0, cls.output
        cls.process.stdout.close()
        cls.process.stderr.close()
        assert "Traceback" not in cls.output and all(words in cls.output for words in cls.says), (
            cls.output
        )
        cls.over.set()
        cls.thread.join()
        cls.rep.close(0)
        cls.pub.close(0)
        cls.folder.cleanup()

    @classmethod
    def serve(cls):
        while not cls.over.is_set():
            if cls.rep.poll(5):
                cls.rep.recv()
                cls.asked += 1
                cls.rep.send(
                    pb.Reply(ok=True, mac=pb.MacStatus(role="base", slot=7)).SerializeToString()
                )
            while cls.pub.poll(0):
                cls.subscribed.append(cls.pub.recv())
            cls.published += 1
            cls.pub.send_multipart([b"status", b"%d" % cls.published])
            time.sleep(0.002)

    def ask(self, folder, timeout_s):
        endpoint, keys = remote.client(self.address, folder)
        return control.Control(endpoint("base.control"), keys).status(timeout_s)

    def first_message(self, keys, timeout_s):
        with self.context.socket(zmq.SUB) as s:
            s.linger = 0
            s.subscribe(b"status")
            if keys:
                keys.use(s)
            s.connect(remote.endpoints(self.address)("base.telemetry"))
            return s.recv_multipart() if s.poll(timeout_s * 1000) else None

    def client(self, kind):
        s = self.context.socket(kind)
        self.addCleanup(s.close, 0)
        s.linger = 0
        remote.ClientKeys(self.keys).use(s)
        return s

    def connect(self, socket_):
        socket_.connect(remote.endpoints(self.address)("base.telemetry"))
        return socket_

    def numbers(self, reader, enough, longest_s=60):
        """The next messages; fewer if the time is over."""
        deadline, found = time.monotonic() + longest_s, []
        while len(found) < enough and (left := deadline - time.monotonic()) > 0:
            if reader.poll(left * 1000):
                found.append(int(reader.recv_multipart()[1]))
        return found


class Forwarder(Forwarded):
    says = ["wrong key"]

    def test_the_right_key_is_answered_and_subscriptions_reach_the_publisher(self):
        self.assertEqual(self.ask(self.keys, 10).slot, 7)
        self.assertEqual(self.first_message(remote.ClientKeys(self.keys), 10)[0], b"status")
        self.assertIn(b"\x01status", self.subscribed)

    def test_a_wrong_key_or_none_gets_nothing(self):
        # shows that the socket works, so that the silence below has another cause
        self.ask(self.keys, 10)
        before = self.asked
        stranger = remote.ClientKeys(self.other)
        # knows the server, is not known
        stranger.server_public = remote.ClientKeys(self.keys).server_public
        wrong_server = remote.ClientKeys(self.keys)
        wrong_server.server_public = remote.ClientKeys(self.other).server_public
        for keys in (stranger, wrong_server, None):
            endpoint = remote.endpoints(self.address)("base.control")
            with self.assertRaises(control.NoAnswer):
                control.Control(endpoint, keys).status(0.5)
            self.assertIsNone(self.first_message(keys, 0.5))
        self.assertEqual(self.asked, before)

    def test_a_long_subscription_of_one_client_is_no_other_ones_matter(self):
        reader = self.client(zmq.SUB)
        reader.subscribe(b"status")
        self.connect(reader)
        self.assertTrue(reader.poll(10000))
        stranger = self.connect(self.client(zmq.XSUB))
        for _ in range(20):
            stranger.send(b"\1" + b"x" * 5000)
            stranger.send(b"\1" + b"y" * 500)
            time.sleep(0.05)
        numbers = self.numbers(reader, 200)  # including those that came meanwhile
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 200)))
        self.assertFalse([s for s in self.subscribed if b"xx" in s or b"yy" in s])

    def test_garbage_does_not_end_it(self):
        host, port = remote.parse_listen(self.address)
        for data in (b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 200, b""):
            with socket.create_connection((host, port + 1), 2) as s:
                s.sendall(data)
        self.assertEqual(self.ask(self.keys, 10).slot, 7)
        self.assertIsNone(self.process.poll())


class Flood(Forwarded):
    """The flood has a forwarder of its own: messages that are still on their way end other clients'
    connections."""

    says = ["subscriptions to topics that there are not"]

    def test_a_flood_of_unknown_topics_costs_little_memory_and_readers_come_back(self):
        def resident():
            return int(
                pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
            ) * os.sysconf("SC_PAGESIZE")

        reader = self.client(zmq.SUB)
        reader.subscribe(b"status")
        self.connect(reader)
        self.assertTrue(reader.poll(10000))
        before = resident()
        stranger = self.client(zmq.XSUB)
        stranger.sndhwm = 0
        self.connect(stranger)
        for i in range(100_000):
            stranger.send(b"\1no such topic %d" % i)
        self.assertTrue(self.numbers(reader, 1))
        self.numbers(reader, 2**30, 3)  # reads for 3 s, in which the subscriptions come in
        self.assertLess(resident() - before, 10 << 20)
        stranger.close(0)
        then = self.published
        while (found := self.numbers(reader, 1)) and found[0] <= then:
            pass
        self.assertTrue(found)


if __name__ == "__main__":
    unittest.main()
