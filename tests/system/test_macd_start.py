# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts that cannot be: each ends with exit code 2 and one line that says what to change."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from macd_world import *
from openwip_cli.cell import remote


def start(*arguments, netns=None, environment=None, wrapper=()):
    command = ["ip", "netns", "exec", netns] if netns else []
    return subprocess.run(
        command + list(wrapper) + [str(MACD), *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, **(environment or {})},
    )


def refused(result, *words):
    assert result.returncode == 2, (result.returncode, result.stderr)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("macd: "), lines[0]
    for w in words:
        assert w in lines[0], lines[0]
    assert result.stdout == ""


class Place:
    """A run directory and a namespace."""

    def __enter__(self):
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="owm", dir="/tmp"))
        self.run.chmod(0o711)
        self.netns = f"owms{os.getpid() % 1000000}"
        subprocess.run(["ip", "netns", "add", self.netns], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.netns])
        shutil.rmtree(self.run)

    def start(self, *settings, **options):
        arguments = [a for s in ("role=base", *settings) for a in ("--set", s)]
        return start(
            *arguments,
            netns=self.netns,
            environment={"OPENWIP_RUN": str(self.run), **options.pop("environment", {})},
            **options,
        )


def test_bad_configuration_files():
    with Place() as p:

        def with_file(content, *words):
            path = p.run / "c.yaml"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            refused(start("--config", str(path)), str(path), *words)

        with_file("role: base\nlink:\n  bins: 99\n", ":3:", "link.bins is 99", "1..25")
        with_file("role: base\nlink:\n  binz: 9\n", ":3:", "link.binz", "did you mean link.bins?")
        with_file("role: base\nrole: base\n", ":2:", "role: given twice")
        with_file("role: [base\n", "not YAML")
        with_file("role: base\nlink: {modulation: 9}\n", "link.modulation is 9", "adaptive")
        with_file("role: base\nlink: {profile: wipemu}\n", "link.profile is wipemu", "radio")
        with_file("role: base\ntun: {address: here}\n", "tun.address is here", "10.42.0.1/30")
        with_file(
            "role: base\nuser: nobody-like-this\n",
            "user is nobody-like-this",
            "an account of this computer",
        )
        with_file(b"\xff" + os.urandom(300) + b"\0")  # never a comment or an empty document
        refused(start("--config", str(p.run / "none.yaml")), "none.yaml: No such file")
        refused(start("--config", str(p.run)), str(p.run))


def test_bad_arguments():
    refused(start(), "role is missing", "base, terminal")
    refused(start("--set", "role=base", "--set", "link.bins"), "valid: KEY=VALUE")
    refused(start("--nonsense"), "--nonsense")
    refused(start("--config"), "--config")


def test_the_effective_configuration_is_printed():
    result = start(
        "--set",
        "role=terminal",
        "--set",
        "link.bins=7",
        "--print-config",
        environment={"OPENWIP_RUN": "/tmp/x"},
    )
    assert result.returncode == 0, result.stderr
    assert "role: terminal" in result.stdout and "  bins: 7\n" in result.stdout
    assert "  slot_link: shm:///tmp/x/terminal.slot\n" in result.stdout
    import yaml

    assert yaml.safe_load(result.stdout)["tun"]["address"] == "10.42.0.2/30"


def test_a_name_in_use():
    with Place() as p:
        subprocess.run(["ip", "-n", p.netns, "tuntap", "add", "wip0", "mode", "tun"], check=True)
        refused(p.start(), "tun.name is wip0", "exists already")


def test_no_permission_to_make_an_interface():
    with Place() as p:
        refused(
            p.start(wrapper=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]),
            "tun",
            "permission",
        )
        refused(
            p.start(wrapper=["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"]),
            "tun.name is wip0",
            "CAP_NET_ADMIN",
        )


def test_no_tun_device():
    with Place() as p:
        # A mount namespace of its own, in which /dev is empty.
        result = subprocess.run(
            [
                "unshare",
                "-m",
                "sh",
                "-c",
                'mount -t tmpfs none /dev/net && exec "$0" --set role=base',
                str(MACD),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "OPENWIP_RUN": str(p.run)},
        )
        refused(result, "/dev/net/tun: not there")


def test_an_endpoint_in_use():
    with Place() as p:
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(p.run / "base.control"))
        s.listen()
        refused(p.start(), "endpoints.control", "another process listens there")
        s.close()
        listener = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                p.netns,
                "/usr/bin/python3",
                "-c",
                (
                    "import os, socket, time; os.system('ip link set lo up'); s = socket.socket(); "
                    "s.bind(('127.0.0.1', 5301)); s.listen(); print(1, flush=True); time.sleep(60)"
                ),
            ],
            stdout=subprocess.PIPE,
        )
        try:
            listener.stdout.readline()
            remote.make_keys(p.run / "keys")
            refused(
                p.start(
                    "endpoints.uplink=tcp://127.0.0.1:5301", f"endpoints.uplink_keys={p.run}/keys"
                ),
                "endpoints.uplink",
                "Address already in use",
            )
        finally:
            listener.kill()
            listener.wait()
            listener.stdout.close()


def test_a_socket_left_by_a_kill_is_no_obstacle():
    with Place() as p:
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(p.run / "base.control"))
        s.close()
        process = subprocess.Popen(
            ["ip", "netns", "exec", p.netns, str(MACD), "--set", "role=base"],
            env={**os.environ, "OPENWIP_RUN": str(p.run)},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            line = process.stderr.readline()
            assert "is up" in line, line
        finally:
            process.terminate()
            assert process.wait(5) == 0
            process.stderr.close()


def test_a_file_in_the_way_and_a_missing_folder():
    with Place() as p:
        (p.run / "base.slot").write_text("precious")
        refused(p.start(), "endpoints.slot_link", "no socket")
        assert (p.run / "base.slot").read_text() == "precious"
        refused(
            p.start(environment={"OPENWIP_RUN": "/nowhere"}),
            "endpoints.slot_link",
            "no folder /nowhere/",
        )


def test_a_run_folder_that_the_user_cannot_enter():
    with Place() as p:
        p.run.chmod(0o700)
        result = p.start("role=terminal", "tun.address=10.42.0.2/30")
        refused(result, "user nobody cannot enter")


def test_it_ends_with_its_parent():
    with Place() as p:
        out = subprocess.run(
            [
                "ip",
                "netns",
                "exec",
                p.netns,
                "sh",
                "-c",
                '"$0" --set role=base 2>"$OPENWIP_RUN/log" & echo $!; sleep 0.5',
                str(MACD),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "OPENWIP_RUN": str(p.run)},
        )
        pid = int(out.stdout)
        try:
            wait_for("it ends", lambda: not os.path.exists(f"/proc/{pid}"), 3)
        finally:
            subprocess.run(["kill", "-9", str(pid)], stderr=subprocess.DEVNULL)
        assert "ends: SIGTERM: asked to stop" in (p.run / "log").read_text()


def test_the_interface_is_gone_after_a_refused_start():
    with Place() as p:
        (p.run / "base.slot").write_text("in the way")
        p.start()
        out = subprocess.run(["ip", "-n", p.netns, "link", "show", "wip0"], capture_output=True)
        assert out.returncode != 0


if __name__ == "__main__":
    run_tests([f for n, f in list(globals().items()) if n.startswith("test_")])
