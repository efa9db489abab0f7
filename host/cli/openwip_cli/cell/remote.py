# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell seen from another machine: keys, and the forwarder between the cell's ipc sockets and TCP.

The processes of a cell listen on ipc only. `--listen tcp://ADDR:PORT` starts one more process,
which forwards each of the cell's sockets on a port of its own, PORT + the place of the socket in
SOCKETS: control as ROUTER/DEALER, telemetry as XSUB/XPUB, so that a topic nobody wants is still not
made. It does so with keys only (CURVE of ZeroMQ), on the loopback as well, since every user of this
machine reaches a port: a client whose public key is not that of DIR/client.public is not answered,
and one that does not know the server's does not get a word either.

    DIR/server.key     public-key: and secret-key:, mode 0600; stays here
    DIR/server.public  for the clients
    DIR/client.key     mode 0600; for the clients
    DIR/client.public  stays here

A remote machine gets server.public and client.key."""

import contextlib
import ipaddress
import os
import pathlib
import re
import signal
import sys
from collections.abc import Callable
from typing import TypeAlias

import zmq
import zmq.utils.z85

from ..errors import BAD_INPUT, SIGNALS, BadInput, not_valid
from ..machine import outputs, own_files, rights, system
from ..machine.places import Places
from ..settings.command_line import Parser
from ..text import of_file
from .cell import Cell
from .process import Process
from .supervisor import SupervisorClient

# The sockets in the order of their ports. At the port of one that the cell does not have, nothing
# answers.
SOCKETS = (
    "air.control",
    "base.control",
    "terminal.control",
    "base.telemetry",
    "terminal.telemetry",
    "observer.telemetry",
    "keeper.telemetry",
    "attenuator.telemetry",
)
KEY = re.compile(r"^[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}$")  # Z85
ZAP_DOMAIN = b"openwip"
QUEUE = 1000  # messages that wait for a slow reader; it loses further ones
# The longest request that a process of a cell takes (host/medium/control_server.cpp): a longer one
# would cost the forwarder its connection, and with it the answers of all others.
LARGEST_REQUEST = 1 << 20
LARGEST_SUBSCRIPTION = 1024  # room for the handshake with keys, too
# ZeroMQ keeps every subscription of a client for as long as its socket lives, 227 bytes each. After
# this many subscriptions that match no topic the port is opened anew, and its clients reconnect.
MOST_UNKNOWN = 512
REOPEN_MS = 20
Listen: TypeAlias = "tuple[str, int, ServerKeys]"  # result of check_listen()


# --- addresses ---


def parse_listen(text: str) -> tuple[str, int]:
    """(host, port) of tcp://ADDR:PORT."""
    valid = f"tcp://ADDR:PORT, PORT 1..{65535 - len(SOCKETS) + 1}"
    found = re.fullmatch(r"tcp://(\[[0-9a-fA-F:]+\]|[^\s:/\[\]*]+):(\d{1,5})", text or "")
    if not found or not 1 <= int(found[2]) <= 65535 - len(SOCKETS) + 1:
        raise BadInput(f"{text!r} is no address; valid: {valid}")
    return found[1], int(found[2])


def is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def where_keys_are_needed(host: str) -> str:
    """The beginning of the sentence that asks for them."""
    return (
        "on this machine, where every user reaches a port,"
        if is_loopback(host)
        else "beyond this machine"
    )


def endpoints(address: str) -> Callable[[str], str]:
    """name of a socket -> its endpoint, by `socket`."""
    host, port = parse_listen(address)
    return lambda socket: f"tcp://{host}:{port + SOCKETS.index(socket)}"


def check_listen(listen: str | None, keys: str | None) -> "Listen | None":
    """Checks --listen and --keys before anything is made. Returns (host, port, ServerKeys)."""
    if listen is None:
        if keys is not None:
            raise BadInput(
                "--keys is given without --listen; valid: with --listen, whose ports"
                " the keys protect"
            )
        return None
    try:
        host, port = parse_listen(listen)
    except BadInput as e:
        raise BadInput(f"--listen {e}") from None
    if keys is None:
        raise BadInput(
            f"--listen {listen}: {where_keys_are_needed(host)} it needs --keys DIR (./openwip keys"
            " DIR makes them)"
        )
    return host, port, ServerKeys(keys)


# --- keys ---


def read_key_file(path: pathlib.Path | str, secret: bool) -> tuple[bytes, bytes]:
    """(public, secret or b"") of a file with the lines `public-key:` and `secret-key:`."""
    try:
        if secret and os.stat(path).st_mode & 0o077:
            raise BadInput(
                f"{path}: users other than its owner may access this file with a secret key (mode"
                f" {os.stat(path).st_mode & 0o777:04o}); valid: mode 0600"
            )
        fields = dict(
            line.split(None, 1)
            for line in of_file(path).splitlines()
            if line.startswith(("public-key:", "secret-key:")) and len(line.split(None, 1)) == 2
        )
    except OSError as e:
        raise BadInput(f"{path}: {e.strerror}; valid: a key file of ./openwip keys DIR") from None
    except ValueError:
        raise BadInput(f"{path} is no key file; valid: a key file of ./openwip keys DIR") from None
    found = [
        fields.get(name, "").strip()
        for name in ("public-key:", "secret-key:")[: 2 if secret else 1]
    ]
    if not all(KEY.match(k) for k in found):
        raise BadInput(
            f"{path} is no key file; valid: lines `public-key: KEY`"
            + (" and `secret-key: KEY`" if secret else "")
            + ", 40 characters each"
        )
    return found[0].encode(), found[1].encode() if secret else b""


class ServerKeys:
    def __init__(self, folder: pathlib.Path | str) -> None:
        self.folder = folder = pathlib.Path(folder).resolve()
        self.public, self.secret = read_key_file(folder / "server.key", True)
        self.client_public, _ = read_key_file(folder / "client.public", False)

    def use(self, socket: "zmq.Socket") -> None:
        socket.curve_server = True
        socket.curve_secretkey = self.secret
        socket.zap_domain = ZAP_DOMAIN


class ClientKeys:
    def __init__(self, folder: pathlib.Path | str) -> None:
        folder = pathlib.Path(folder)
        self.public, self.secret = read_key_file(folder / "client.key", True)
        self.server_public, _ = read_key_file(folder / "server.public", False)

    def use(self, socket: "zmq.Socket") -> None:
        socket.curve_serverkey = self.server_public
        socket.curve_publickey = self.public
        socket.curve_secretkey = self.secret


def client(
    address: str, folder: pathlib.Path | str | None
) -> tuple[Callable[[str], str], ClientKeys | None]:
    """(endpoints by socket, keys or None) of a remote cell."""
    return endpoints(address), keys_of("--remote", address, folder)


def keys_of(what: str, endpoint: str, folder: pathlib.Path | str | None) -> ClientKeys | None:
    """The keys with which a client connects to `endpoint`; None: it needs none. `what`: the
    argument that gave the endpoint, for messages. Raises BadInput."""
    if folder is None and endpoint.startswith("tcp://"):
        needed = where_keys_are_needed(endpoint.removeprefix("tcp://").rpartition(":")[0])
        raise BadInput(
            f"{what} {endpoint}: {needed} it needs --keys DIR with server.public and client.key"
        )
    if folder is not None and not endpoint.startswith("tcp://"):
        raise not_valid("--keys", folder, "with tcp://ADDR:PORT", more=f" with {what} {endpoint}")
    return ClientKeys(folder) if folder is not None else None


def make_keys(folder: pathlib.Path | str) -> list[str]:
    """New keys. Refuses to overwrite: a machine that holds the old ones would be locked out
    unseen."""
    folder = pathlib.Path(folder)
    files, made = {}, []
    for who in ("server", "client"):
        public, secret = (k.decode() for k in zmq.curve_keypair())
        files[f"{who}.key"] = (f"public-key: {public}\nsecret-key: {secret}\n", 0o600)
        files[f"{who}.public"] = (f"public-key: {public}\n", 0o644)
    try:
        with outputs.place_of(folder, make=True, mode=0o700) as place:
            there = [name for name in files if outputs.Place(place.folder, name).about]
            if there:
                raise BadInput(
                    f"{folder / there[0]} exists already, and keys are not overwritten; valid:"
                    " another folder, or this one after the file is removed"
                )
            try:
                for name, (text, mode) in files.items():
                    with open(
                        name,
                        "x",
                        opener=lambda path, flags: os.open(path, flags, mode, dir_fd=place.folder),
                    ) as f:
                        made.append(name)
                        f.write(text)
            except BaseException:
                for name in made:
                    os.unlink(name, dir_fd=place.folder)
                raise
    except OSError as e:
        raise BadInput(f"{folder}: keys cannot be written: {e.strerror or e}") from None
    return sorted(files)


def keys_main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "keys",
        "Makes encryption keys (CURVE) for --listen of demo and emulate and for the stations of"
        " two computers: server.key and client.key (mode 0600), server.public and client.public.",
    )
    p.add_argument(
        "folder", metavar="DIR", help="folder for the keys; it is made if it does not exist"
    )
    given = p.parse_args(arguments)
    made = make_keys(given.folder)
    print(
        f"{given.folder}: {', '.join(made)}\nhere:             ./openwip demo --listen"
        f" tcp://ADDR:PORT --keys {given.folder}\nanother machine:  copy server.public and"
        " client.key, then ./openwip get --remote tcp://ADDR:PORT --keys DIR"
    )
    return 0


# --- the forwarder, a process of the cell ---


class ZapHandler:
    """The handler of ZAP (ZeroMQ RFC 27), which admits clients with one public key."""

    def __init__(self, context: "zmq.Context", client_public: bytes) -> None:
        self.allowed = zmq.utils.z85.decode(client_public)
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind("inproc://zeromq.zap.01")
        self.refused = 0

    def answer(self) -> None:
        frames = self.socket.recv_multipart()
        version, request_id = (frames + [b"", b""])[:2]
        good = (
            len(frames) >= 7
            and version == b"1.0"
            and frames[2] == ZAP_DOMAIN
            and frames[5] == b"CURVE"
            and frames[6] == self.allowed
        )
        if not good:
            self.refused += 1
            if self.refused & (self.refused - 1) == 0:  # logged the 1st, 2nd, 4th, 8th, ... time
                print(
                    f"forward: refused a client with a wrong key ({self.refused} so far)",
                    file=sys.stderr,
                    flush=True,
                )
        status = (b"200", b"OK", b"client") if good else (b"400", b"wrong key", b"")
        self.socket.send_multipart([version, request_id, *status, b""])


class Forward:
    """One socket of the cell and its port. `topics`: all that there are, bytes."""

    def __init__(
        self,
        context: "zmq.Context",
        name: str,
        inside: str,
        outside: str,
        keys: ServerKeys,
        topics: list[bytes],
    ) -> None:
        self.topics = topics
        control = name.endswith(".control")
        self.context, self.name, self.outside, self.keys, self.control = (
            context,
            name,
            outside,
            keys,
            control,
        )
        self.back = self._socket(zmq.DEALER if control else zmq.XSUB, 16 << 20)
        self.back.connect(inside)
        self.unknown = 0
        self.subscribed: set[bytes] = set()
        self.front: zmq.Socket | None = None
        self.open()

    def _socket(self, kind: int, largest: int) -> "zmq.Socket":
        s = self.context.socket(kind)
        s.linger = 0
        s.sndhwm = s.rcvhwm = QUEUE
        s.maxmsgsize = largest
        return s

    def open(self) -> None:
        """The port. Raises ZMQError."""
        front = self._socket(
            zmq.ROUTER if self.control else zmq.XPUB,
            LARGEST_REQUEST if self.control else LARGEST_SUBSCRIPTION,
        )
        try:
            self.keys.use(front)
            front.ipv6 = "[" in self.outside
            front.bind(self.outside)
        except zmq.ZMQError:
            front.close()
            raise
        self.front = front

    def move(self, ready: "dict[zmq.Socket, int]") -> None:
        """Never waits: what the other side cannot take is lost (telemetry) or not answered
        (control)."""
        for source, target in ((self.front, self.back), (self.back, self.front)):
            if source is None or target is None or source not in ready:
                continue
            for _ in range(500):
                try:
                    frames = source.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                if source is self.front and not self.control and not self.is_subscription(frames):
                    continue
                with contextlib.suppress(zmq.ZMQError):
                    target.send_multipart(frames, zmq.NOBLOCK)

    def is_subscription(self, frames: list[bytes]) -> bool:
        """Whether it is a subscription to a topic, or to all topics with the same beginning. Any
        other one is not forwarded: the cell's publisher would close the connection that all clients
        share."""
        word = frames[0]
        if (
            len(frames) == 1
            and word[:1] in (b"\0", b"\1")
            and any(t.startswith(word[1:]) for t in self.topics)
        ):
            (self.subscribed.add if word[0] else self.subscribed.discard)(word[1:])
            return True
        self.unknown += 1
        return False

    def close_if_flooded(self) -> bool:
        """Closes the port when too many unknown subscriptions have come; returns True if it has to
        be opened again."""
        if self.unknown < MOST_UNKNOWN:
            return False
        print(
            f"forward: {self.name}: {self.unknown} subscriptions to topics that there are not; "
            "all its readers have to connect again",
            file=sys.stderr,
            flush=True,
        )
        if self.front is not None:
            self.front.close()
        self.front, self.unknown = None, 0
        for topic in self.subscribed:  # their clients have been disconnected and cannot unsubscribe
            self.back.send(b"\0" + topic)
        self.subscribed.clear()
        return True


def forward(ways: list[tuple[str, str, str]], keys: ServerKeys, ready_file: str | None) -> int:
    """Forwards until a signal comes. Prints `ready` once every port is open. `ways`: (name,
    endpoint in the cell, endpoint to listen at) of each socket."""
    from ..messages.telemetry import TOPICS

    topics = [t.encode() for t in TOPICS]
    context = zmq.Context()
    stop = []
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write)
    for number in SIGNALS:
        signal.signal(number, lambda *_: stop.append(1))
    zap_handler = ZapHandler(context, keys.client_public)
    poller = zmq.Poller()
    poller.register(wake_read, zmq.POLLIN)
    poller.register(zap_handler.socket, zmq.POLLIN)
    forwards = []
    for name, inside, outside in ways:
        try:
            forwards.append(Forward(context, name, inside, outside, keys, topics))
        except zmq.ZMQError as e:
            print(f"forward: {outside} ({name}): {e.strerror}", file=sys.stderr, flush=True)
            return BAD_INPUT
    for f in forwards:
        poller.register(f.back, zmq.POLLIN)
        poller.register(f.front, zmq.POLLIN)
    if ready_file:
        own_files.create(ready_file, f"{ways[0][2]}\n")
    rights.become_account()
    if not ready_file:  # started without a supervisor
        system.die_with_parent(os.getppid())
    print("ready", flush=True)
    closed: list[Forward] = []
    while not stop:
        ready = dict(poller.poll(REOPEN_MS if closed else None))
        if zap_handler.socket in ready:
            zap_handler.answer()
        for f in forwards:
            f.move(ready)
            front = f.front
            if f.close_if_flooded():
                poller.unregister(front)
                closed.append(f)
        for f in closed[:]:
            with contextlib.suppress(zmq.ZMQError):  # the old socket may still hold the port
                f.open()
                poller.register(f.front, zmq.POLLIN)
                closed.remove(f)
    print("forward: asked to stop", file=sys.stderr, flush=True)
    return 0


def process(cell: Cell, listen: Listen, places: Places) -> Process:
    """The forwarder as a process of the cell, for its supervisor. `listen`: from check_listen()."""
    host, port, keys = listen
    argv = places.module("forward", cell.run, host, port, keys.folder)
    environment = {
        "OPENWIP_TOP": str(places.top),
        "OPENWIP_BUILD": str(places.build),
        "OPENWIP_RUN": str(cell.run),
    }
    low = ("net_bind_service",) if port < 1024 else ()
    return Process(
        "forward",
        argv,
        environment,
        essential=False,
        capabilities=(*rights.TO_BECOME_THE_ACCOUNT, *low),
    )


def start(
    cell: Cell,
    supervisor: SupervisorClient,
    listen: "Listen | None",
    places: Places,
    progress: Callable[[str], None],
) -> None:
    """Starts the forwarder, if there is something to listen at. `listen`: from check_listen(), or
    None."""
    if listen is None:
        return
    supervisor.start(process(cell, listen, places))
    host, port, _ = listen
    ready = cell.run / "forward.ready"
    supervisor.wait_until(lambda: ready.exists() or "forward" not in supervisor.pids, 15)
    if not ready.exists():
        raise BadInput(
            f"--listen {host}:{port}:"
            f" {supervisor.lost[-1] if supervisor.lost else 'the forwarder does not start'}; valid:"
            " a port"
            " that is free"
        )
    progress(f"listening on tcp://{host}:{port}..{port + len(SOCKETS) - 1}, with keys")


def main(arguments: list[str], _places: Places) -> int:
    """RUN HOST PORT KEYS: all of a cell; ENDPOINT ADDRESS KEYS: one control socket."""
    if "://" in arguments[0]:
        inside, outside, keys = arguments
        return forward([("air.control", inside, outside)], ServerKeys(keys), None)
    run, host, port, keys = arguments
    return forward(
        [
            (name, f"ipc://{run}/{name}", f"tcp://{host}:{int(port) + i}")
            for i, name in enumerate(SOCKETS)
        ],
        ServerKeys(keys),
        f"{run}/forward.ready",
    )
