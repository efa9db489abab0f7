# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that somebody else made are parsed by a child process that has nothing to lose
(docs/explanation/rights.md). A library that trusts its files (HDF5 follows links to other files,
waits for a FIFO, and writes beyond its memory after one changed byte) does so there.

  parent  opens the file with the rights of the user, takes regular files only, and hands over the
          descriptor. It sends questions over a socket, checks the size and the type of every
          answer, and waits no longer than PATIENCE_S for one
  child   imports what it needs, then becomes the account without a capability (as root), can open,
          write and start nothing, may take a bounded time and memory, and only then looks at the
          file

Answers are JSON or plain numbers, never anything that could run. The child's death is one line
about the file (BadInput)."""

import contextlib
import errno
import json
import math
import os
import select
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..errors import BadInput, signal_name
from . import places, rights

PATIENCE_S = 90.0
# The bytes that the child may take beyond those of its libraries.
MEMORY = 768 << 20
CPU_S = 60  # and one second more for each BYTES_OF_A_SECOND bytes of the file
BYTES_OF_A_SECOND = 1 << 20  # see CPU_S
LONGEST_HEAD, LONGEST_ERROR = 4096, 300  # bytes of an answer's head; characters of an error

Request = Mapping[str, Any]
Answer = tuple[dict[str, Any], bytes]  # (what describes the bytes, the bytes)


def printable(text: str, longest: int = LONGEST_ERROR) -> str:
    """A text from a file in one line of a terminal: without control characters, and not longer than
    `longest`."""
    short = text if len(text) <= longest else f"{text[:longest]}..."
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in short
    )


def opened(path: os.PathLike[str] | str) -> int:
    """A descriptor of a regular file, for reading. A FIFO, a device or a folder is refused without
    waiting for anybody. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "is no regular file", str(path))


class Reader:
    """The parent's side. `command`: of this package, the child's, which calls serve(); `valid`:
    what would be valid, for error messages."""

    def __init__(self, path: str, fd: int, command: str, valid: str) -> None:
        self.path, self.valid = path, valid
        self.size = os.fstat(fd).st_size
        self._socket, child_end = socket.socketpair()
        with child_end:
            self._process: Any = subprocess.Popen(
                places.default().module(command, fd),
                stdin=child_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(fd,),
            )

    def ask(self, most: int, **request: Any) -> Answer:
        """The answer to one question; `most`: how many bytes are valid."""
        deadline = time.monotonic() + PATIENCE_S
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            self._died()
        head_size = int.from_bytes(self._take(4, deadline), "little")
        if head_size > LONGEST_HEAD:
            self._damaged("the process that reads it gives an answer that is too long")
        try:
            head = json.loads(self._take(head_size, deadline))
            size, error = head["bytes"], head.get("error")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            self._damaged("its reader answers nonsense")
        if error is not None:
            raise BadInput(f"{self.path} {printable(str(error))}; {self.valid}")
        if type(size) is not int or not 0 <= size <= most:
            self._damaged(
                f"its reader answers with {printable(str(size), 30)} bytes where {most} are the"
                " most"
            )
        return head, self._take(size, deadline)

    def ask_tree(self, most: int, **request: Any) -> Any:
        """The answer as a tree of JSON."""
        _, body = self.ask(most, **request)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            self._damaged("its reader answers nonsense")

    def ask_numbers(self, dtype: str, shape: tuple[int, ...], **request: Any) -> bytes:
        """The bytes of an array of that type and shape, no more and no less."""
        size = math.prod(shape) * int(dtype[2:])
        head, body = self.ask(size, **request)
        if len(body) != size or head.get("dtype") != dtype:
            self._damaged(
                f"its reader answers with {len(body)} bytes of"
                f" {printable(str(head.get('dtype')), 30)} for {size} of {dtype}"
            )
        return body

    def _take(self, size: int, deadline: float) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                self._process.kill()
                self._damaged(f"its reader has not answered in {PATIENCE_S:g} s")
            try:
                part = self._socket.recv(min(size - len(taken), 1 << 20))
            except OSError:
                part = b""
            if not part:
                self._died()
            taken += part
        return bytes(taken)

    def _died(self) -> NoReturn:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        self._damaged(
            f"its reader was ended by {signal_name(-code)}"
            if code is not None and code < 0
            else "its reader has ended"
        )

    def _damaged(self, why: str) -> NoReturn:
        raise BadInput(f"{self.path} is damaged: {why}; {self.valid}") from None

    def close(self) -> None:
        """The child ends with its socket, or is ended."""
        self._socket.close()
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()


class Wrong(Exception):
    """The child's finding about the file: str() goes behind the name of the file."""


Parser = Callable[[int], Callable[[dict[str, Any]], Answer]]


def serve(fd: int, load: Callable[[], Parser]) -> int:
    """The child's side: loads its parser, gives up its rights, lets the parser look at the file,
    and answers until the parent has closed its end. Where it has no parser, or cannot give up its
    rights, nobody looks at the file."""
    failure, parser = "", None
    try:
        parser = load()
        rights.confine(MEMORY, CPU_S + os.fstat(fd).st_size // BYTES_OF_A_SECOND)
    except (ImportError, OSError) as e:
        failure = f"cannot be read: {e}"
    answers: Callable[[dict[str, Any]], Answer] | None = None
    with (
        open(0, "rb", buffering=0, closefd=False) as asked,
        open(0, "wb", buffering=0, closefd=False) as out,
    ):
        line = bytearray()
        while part := asked.read(1 << 16):
            line += part
            if not line.endswith(b"\n"):
                continue
            try:
                if failure or parser is None:
                    raise Wrong(failure)
                if answers is None:
                    answers = parser(fd)
                head, body = answers(json.loads(line))
            except Wrong as e:
                head, body = {"error": str(e)}, b""
            except (
                ArithmeticError,
                AssertionError,
                AttributeError,
                LookupError,
                MemoryError,
                OSError,
                RuntimeError,
                TypeError,
                ValueError,
            ) as e:
                head, body = {"error": f"is damaged: {e or type(e).__name__}"}, b""
            line.clear()
            if "error" in head:
                head["error"] = head["error"][:LONGEST_ERROR]
            text = json.dumps(head | {"bytes": len(body)}).encode()
            for piece in (len(text).to_bytes(4, "little") + text, body):
                view = memoryview(piece)
                while view:
                    view = view[out.write(view) :]
    sys.stdout.flush()
    return 0
