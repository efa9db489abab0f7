# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine for ./openwip, in which apt, dpkg, CMake, ninja and Python are stood in for by scripts
that note what they were asked."""

import pathlib
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
OPENWIP = TOP / "openwip"
PARTS = "demo emulate tcp-l capture record channel radio switch-table monitor curves bench"

TOOLS = {
    "dpkg-query": 'sed "s/$/ install ok installed/" "$WORLD/installed"',
    # Names that are only mentioned (MENTIONED) have no record. A name that is not known is taken as
    # a pattern, as apt does: then it prints other packages, and it knows only what is installed
    # when there are no lists.
    "apt-cache": (
        'shift; for name; do\n[ -e "$WORLD/lists" ] && ! grep -qx -- "$name" "$WORLD/unknown" ||'
        ' {\ncase $name in *+*) printf "Package: libapt-pkg6.0\\nStatus: install ok'
        ' installed\\n\\n" ;; esac; continue; }\ncase " $MENTIONED " in *" $name "*) ;; *) printf'
        ' "Package: %s\\nFilename: pool/%s.deb\\n\\n" "$name" "$name" ;; esac; done'
    ),
    # "$#" arguments: -o APT::Status-Fd=3 install -y -q --no-install-recommends NAME...
    "apt-get": (
        'shift 2; echo "apt-get $*" >>"$WORLD/asked"; [ "$1" = install ] || { [ -z "$NO_NETWORK" ]'
        ' || exit 100; touch "$WORLD/lists"; : >"$WORLD/unknown"; exit 0; }\n[ ! -e "$WORLD/old" ]'
        ' || { rm "$WORLD/old"; exit 100; }\necho "dlstatus:1:40.5:Retrieving file 2 of 5" >&3;'
        ' sleep "$PACE"\necho "pmstatus:libfirst:12.5:Unpacking libfirst (amd64)" >&3; sleep'
        ' "$PACE"\nshift 4; printf "%s\\n" "$@" >>"$WORLD/installed"'
    ),
    "sudo": '"$@"',
    "cmake": (
        'echo "cmake" >>"$WORLD/asked"; touch "$OPENWIP_BUILD/build.ninja"; :'
        f' >"$OPENWIP_BUILD/openwip-left-out"\nprintf "%s\\n" {PARTS}'
        ' >"$OPENWIP_BUILD/openwip-parts"; [ -z "$LEFT_OUT" ] || {\nsed -i "/^$LEFT_OUT\\$/d"'
        ' "$OPENWIP_BUILD/openwip-parts"\necho "openwip $LEFT_OUT (needs libmissing-dev)"'
        ' >"$OPENWIP_BUILD/openwip-left-out"; }'
    ),
    "ninja": (
        'case "$*" in *" -n "*) exit 0 ;; esac; shift 2; echo "ninja $*" >>"$WORLD/asked"\nstatus()'
        ' { printf "%s\\n" "$NINJA_STATUS$2" | sed "s/%f/$1/; s/%t/40/"; }\nstatus 1 "Building a";'
        ' sleep "$PACE"; status 10 "Building b"; sleep "$PACE"; exit "$NINJA_ENDS"'
    ),
    "python": (
        '[ "$2" != -c ] || exit 0; shift 2; [ "$2" != check ] || exit 0; echo "python $*" | sed'
        f' "s|{TOP}/||" >>"$WORLD/asked"'
    ),
}


class EntryPointCase(unittest.TestCase):
    """Test cases with such a machine in `world`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = pathlib.Path(folder.name)
        (self.world / "tools").mkdir()
        (self.world / "installed").write_text("")
        (self.world / "asked").write_text("")
        (self.world / "lists").touch()
        (self.world / "unknown").touch()
        for name, text in TOOLS.items():
            path = self.world / "tools" / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)

    def environment(self, **more):
        return {
            "PATH": f"{self.world}/tools:/usr/sbin:/usr/bin:/sbin:/bin",
            "WORLD": str(self.world),
            "PACE": "0",
            "NINJA_ENDS": "0",
            "LEFT_OUT": "",
            "MENTIONED": "",
            "NO_NETWORK": "",
            "OPENWIP_BUILD": str(self.world / "build"),
            "OPENWIP_PYTHON": str(self.world / "tools/python"),
            "LC_ALL": "C.UTF-8",
        } | more

    def run_it(self, *arguments, **more):
        (self.world / "asked").write_text("")
        return subprocess.run(
            [OPENWIP, *arguments],
            capture_output=True,
            text=True,
            env=self.environment(**more),
            cwd=self.world,
            timeout=300,
        )

    @property
    def asked(self):
        return (self.world / "asked").read_text().splitlines()

    def packages_of(self, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {
            name
            for line in self.asked
            if line.startswith("apt-get install")
            for name in line.split()[2:]
            if not name.startswith("-")
        }
