# SPDX-License-Identifier: GPL-3.0-or-later
"""The database of a campaign's results: an SQLite file to which rows are added, one for each result,
and in which triggers refuse every change of a row (docs/how-to/campaigns.md).

A row has the text that the run wrote and its SHA-256, so that a bit that changed on the disk is
seen. There is one writer, the command that has the folder's lock; readers may be many. The journal
is SQLite's rollback journal, which network file systems can hold, too."""

import contextlib
import hashlib
import pathlib
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import BadInput

FORMAT = 1  # PRAGMA user_version
BUSY_S = 10.0  # seconds to wait for the lock of a process that reads
SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    valid INTEGER NOT NULL,
    cause TEXT,
    sha256 TEXT NOT NULL,
    taken TEXT NOT NULL,
    run TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS results_of_a_run ON results (key, valid, id);
CREATE TRIGGER IF NOT EXISTS results_stay BEFORE DELETE ON results
BEGIN SELECT RAISE(ABORT, 'results are added and never deleted'); END;
CREATE TRIGGER IF NOT EXISTS results_are_final BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'results are added and never changed'); END;
"""


class Row(NamedTuple):
    """A result that is to be added. `cause`: cause of the failure of a run that failed."""

    key: str
    valid: bool
    cause: str | None
    text: str


def why_of(e: sqlite3.Error) -> str:
    return f"SQLite says: {e}"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Archive:
    """The database file, which the first row creates. Methods raise sqlite3.Error if it cannot be
    read or written at the moment."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._open: sqlite3.Connection | None = None

    def _connection(self, writes: bool = False) -> sqlite3.Connection | None:
        """None: there is no file."""
        if self._open is None:
            if not writes and not self._is_there():
                return None
            # who only reads makes no file
            mode = "rwc" if writes else "rw"
            made = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=BUSY_S,
                isolation_level=None,
            )
            try:
                (version,) = made.execute("PRAGMA user_version").fetchone()
                if version not in (0, FORMAT):
                    raise BadInput(
                        f"--out: {self.path} holds results in format version {version}, and this"
                        f" release of OpenWIP reads version {FORMAT}; use the release that wrote"
                        " them, or another --out"
                    )
                if version == 0 and writes:
                    made.execute("PRAGMA synchronous = FULL")
                    made.executescript(
                        f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
                    )
                elif version == 0:
                    made.close()
                    return None
                made.execute("PRAGMA synchronous = FULL")
            except BaseException:
                made.close()
                raise
            self._open = made
        return self._open

    def _is_there(self) -> bool:
        """True, too, where that cannot be known: SQLite then says why."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @contextlib.contextmanager
    def _closed_after_error(self) -> Iterator[None]:
        """Closes the database after an error, since a connection may keep what it has read; the
        next call opens it anew."""
        try:
            yield
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                self.close()
            raise

    def read(self, key: str) -> str | bytes | None:
        """The text of a run's result; None: there is none; bytes: the content of a damaged one."""
        with self._closed_after_error():
            connection = self._connection()
            if connection is None:
                return None
            damaged: bytes | None = None
            for text, digest in connection.execute(
                "SELECT CAST(run AS BLOB), sha256 FROM results WHERE key = ?"
                " ORDER BY valid DESC, id DESC",
                (key,),
            ):
                if hashlib.sha256(text).hexdigest() == digest:
                    return bytes(text).decode()
                damaged = damaged or bytes(text)
            return damaged

    def keys(self) -> list[str]:
        """The keys of all runs that have a row, in the order of their first ones."""
        with self._closed_after_error():
            connection = self._connection()
            return (
                []
                if connection is None
                else [
                    key
                    for key, _ in connection.execute(
                        "SELECT key, MIN(id) AS first FROM results GROUP BY key ORDER BY first"
                    )
                ]
            )

    def add(self, rows: list[Row]) -> list[str]:
        """Adds rows. Returns the keys of those that are on the disk and read back the same."""
        if not rows:
            return []
        with self._closed_after_error():
            connection = self._connection(writes=True)
            assert connection is not None
            now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            connection.execute("BEGIN IMMEDIATE")
            try:
                last = connection.execute("SELECT COALESCE(MAX(id), 0) FROM results").fetchone()[0]
                connection.executemany(
                    "INSERT INTO results (key, valid, cause, sha256, taken, run)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    [(r.key, r.valid, r.cause, sha256(r.text), now, r.text) for r in rows],
                )
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            # This connection still has its own writes in memory; another one reads the file.
            self.close()
            texts = {r.key: r.text for r in rows}
            new_connection = self._connection()
            assert new_connection is not None
            return [
                key
                for key, text in new_connection.execute(
                    "SELECT key, CAST(run AS BLOB) FROM results WHERE id > ?", (last,)
                )
                if bytes(text) == texts.get(key, "").encode()
            ]
