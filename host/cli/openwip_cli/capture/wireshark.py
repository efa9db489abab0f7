# SPDX-License-Identifier: GPL-3.0-or-later
"""Dissector, capture interfaces and profile in Wireshark's folders: links to this tree, so that
they are always of its version. Wireshark itself says where its folders are (tshark -G folders)."""

import os
import pathlib
import shutil
import subprocess

from ..errors import BadInput

SOURCE = "host/capture/wireshark"
# Loaded by the dissector from its own folder; Wireshark may load them as well, which does nothing.
DISSECTOR = ("openwip.lua", "openwip_ip_header.lua", "openwip_reassembly.lua")


def folders() -> dict[str, str]:
    """Name -> path, as tshark has them."""
    if shutil.which("tshark") is None:
        raise BadInput("tshark is not installed: run ./openwip setup (package tshark)")
    done = subprocess.run(["tshark", "-G", "folders"], capture_output=True, text=True)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, _, path = line.partition(":")
        found.setdefault(name.strip(), path.strip())
    return found


def pick(found: dict[str, str], *names: str) -> pathlib.Path:
    for name in names:
        if found.get(name):
            return pathlib.Path(found[name])
    raise BadInput(
        f"tshark -G folders names no folder '{names[0]}'; valid: a tshark that has one, 3.0 or"
        " later"
    )


def places(
    top: pathlib.Path,
) -> tuple[list[tuple[pathlib.Path, pathlib.Path]], tuple[pathlib.Path, pathlib.Path]]:
    """(link, what it points to) of everything that is installed."""
    top = pathlib.Path(top).resolve()
    found = folders()
    plugins = pick(found, "Personal Lua Plugins", "Personal Plugins") / "openwip"
    profile = pick(found, "Personal configuration") / "profiles" / "OpenWIP"
    pairs = [(plugins / name, top / SOURCE / name) for name in DISSECTOR]
    # The user's where Wireshark has one (from 4.2 on), else the one of the machine.
    own = os.environ.get("WIRESHARK_EXTCAP_DIR")
    extcap = (
        pathlib.Path(own)
        if own
        else pick(found, "Personal Extcap path", "Extcap path", "Global Extcap path")
    )
    pairs.append((extcap / "openwip-extcap", top / "host/capture/openwip-extcap"))
    return pairs, (profile, top / SOURCE / "profile")


def install(top: pathlib.Path) -> int:
    links, (profile, profile_source) = places(top)
    for link, _ in links:
        if link.exists() and not link.is_symlink():
            raise BadInput(f"{link} exists and was not made by OpenWIP; remove it first")
    left = []
    for link, target in links:
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        except OSError as e:
            if link.name != "openwip-extcap":
                raise BadInput(
                    f"{link}: the link to {target} cannot be made: {e.strerror}"
                ) from None
            left.append(
                f"{link}: {e.strerror}; this Wireshark has no extcap folder of the user's: "
                "run it again with sudo, or set WIRESHARK_EXTCAP_DIR"
            )
            continue
        print(f"{link} -> {target}")
    if not profile.exists():  # Wireshark writes into its profiles: a copy, never over the user's
        shutil.copytree(profile_source, profile)
        print(f"{profile}: columns and colours (wireshark -C OpenWIP)")
    for line in left:
        print(f"not installed: {line}")
    return 2 if left else 0


def uninstall(top: pathlib.Path) -> int:
    links, (profile, profile_source) = places(top)
    for link, target in links:
        if (
            link.is_symlink()
            and link.name == target.name
            and os.readlink(link).endswith(str(target.relative_to(pathlib.Path(top).resolve())))
        ):
            link.unlink()
            print(f"removed {link}")
    plugins = links[0][0].parent
    if plugins.is_dir() and not any(plugins.iterdir()):
        plugins.rmdir()
    if profile.is_dir():
        changed = [
            f.name
            for f in profile.iterdir()
            if not (profile_source / f.name).exists()
            or f.read_bytes() != (profile_source / f.name).read_bytes()
        ]
        if changed:
            print(f"{profile} is left: {', '.join(changed)} changed since")
        else:
            shutil.rmtree(profile)
            print(f"removed {profile}")
    return 0
