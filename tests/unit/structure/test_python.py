# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of host/cli, and the flowgraphs' programs beside them: who may import whom, in
functions too; no circle; typed, and mypy finds nothing."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = TOP / "host" / "cli" / "openwip_cli"
APPS = TOP / "flowgraphs" / "apps"
SCHEMA = TOP / "mac" / "schema"
# rooms that they may import: they run where nothing of a cell's is known
OF_APPS = {"machine", "settings"}

# Room -> the rooms that it may import, from what knows nothing of the others to the commands.
# `errors`, `text`, `core_schema`, `air` (numbers of the air interface), `shapes` (of a report) and
# a room's own modules are everybody's.
ALLOWED = {
    "machine": set(),
    "messages": set(),
    "settings": set(),
    "figures": set(),
    "cell": {"machine", "messages", "settings", "figures"},
    "measure": {"machine", "messages", "figures", "cell"},
    "records": {"machine", "messages", "settings", "cell"},
    "capture": {"machine", "messages", "settings", "figures", "cell", "measure"},
    "channel": {"machine", "messages", "settings", "figures", "cell"},
    "iq": {"machine", "messages", "settings", "cell"},
    "runs": {
        "machine",
        "messages",
        "settings",
        "figures",
        "cell",
        "measure",
        "records",
        "capture",
        "channel",
        "iq",
    },
    "campaign": {"machine", "settings", "figures", "cell", "measure", "runs"},
    "lab": {"machine", "settings", "figures", "records"},
    "ratings": {"machine", "settings", "cell", "runs", "campaign"},
    "views": {"machine", "messages", "settings", "figures", "cell", "records"},
    "commands": {"machine", "messages", "settings", "figures", "cell", "measure", "iq"},
    "__main__": {"machine"},
    "check": {"__main__", "machine"},  # finds the checks of the commands by their names
    "command_lines": {"__main__", "machine", "settings"},
    "errors": set(),
    "air": set(),
    "text": set(),
    "core_schema": set(),
    "shapes": set(),
}


def apps():
    return {path.stem: path for path in sorted(APPS.glob("*.py"))}


def modules():
    """name below the package -> file"""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports():
    """module -> the modules of this package that it imports, anywhere in it"""
    known = modules()
    found = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                above = (
                    package.split(".")[: len(package.split(".")) - node.level + 1]
                    if package
                    else []
                )
                base = ".".join([*above, *([node.module] if node.module else [])])
            elif (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").split(".")[0] == PACKAGE.name
            ):
                base = node.module.partition(".")[2]
            else:
                continue
            for alias in node.names:
                whole = f"{base}.{alias.name}".strip(".")
                found[name].add(whole if whole in known else base)
    return found


class Rooms(unittest.TestCase):
    def test_imports_follow_the_allowed_directions(self):
        wrong = []
        for name, used in imports().items():
            room = name.split(".")[0]
            for other in used:
                its = other.split(".")[0]
                if its not in (
                    room,
                    "errors",
                    "air",
                    "text",
                    "core_schema",
                    "shapes",
                ) and its not in ALLOWED.get(room, ()):
                    wrong.append(f"{name} imports {other}")
        self.assertGreater(len(imports()), 60)
        self.assertEqual(wrong, [])

    def test_every_module_is_in_a_room(self):
        self.assertEqual({n.split(".")[0] for n in modules() if n} - set(ALLOWED), set())
        self.assertEqual(
            {r for r in ALLOWED if not any(n.split(".")[0] == r for n in modules())}, set()
        )

    def test_there_is_no_circle_of_modules(self):
        left = {name: used - {name, ""} for name, used in imports().items()}
        while free := [name for name, used in left.items() if not used & set(left)]:
            for name in free:
                del left[name]
        self.assertEqual(left, {})

    def test_every_command_has_its_module_and_function(self):
        tree = ast.parse((PACKAGE / "__main__.py").read_text())
        table = next(
            n.value
            for n in tree.body
            if isinstance(n, ast.Assign) and n.targets[0].id == "COMMANDS"
        )
        places = {k.value: v.value for k, v in zip(table.keys, table.values)}
        self.assertGreater(len(places), 20)
        for command, place in places.items():
            module, _, function = place.partition(":")
            defined = {
                n.name
                for n in ast.parse(modules()[module].read_text()).body
                if isinstance(n, ast.FunctionDef)
            }
            self.assertIn(function or "main", defined, command)

    def test_a_command_starts_without_the_packages_of_others(self):
        """The test stands for a machine on which ./openwip has installed what this command needs,
        and nothing else."""
        program = textwrap.dedent("""
            import sys
            for name in ("h5py", "matplotlib", "scipy", "jinja2", "jsonschema", "prometheus_client", "gnuradio", "pmt"):
                sys.modules[name] = None
            from openwip_cli import __main__ as launcher
            for command in launcher.COMMANDS:
                if command != "report":
                    launcher.find(command)
            """)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_kind_of_failure_has_one_type(self):
        # Only types that end a command count; an exception that is caught where it is thrown has a
        # name of its own.
        classes, wrong = {}, []
        for name, path in modules().items():
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and node.bases:
                    bases = {getattr(b, "id", getattr(b, "attr", "")) for b in node.bases}
                    if any(
                        b.endswith(("Error", "Exception")) or b in ("Stop", "BadInput", "NoAnswer")
                        for b in bases
                    ):
                        classes.setdefault(node.name, []).append(name)
                if (
                    isinstance(node, ast.Raise)
                    and isinstance(node.exc, ast.Call)
                    and getattr(node.exc.func, "id", "") in ("RuntimeError", "Exception")
                ):
                    wrong.append(f"{name}:{node.lineno}")
        self.assertIn("Refused", classes)
        self.assertEqual({n: where for n, where in classes.items() if len(where) > 1}, {})
        self.assertEqual(wrong, [])


class Apps(unittest.TestCase):
    def imports(self):
        """program or module -> what it imports of its own and of host/cli, anywhere in it"""
        found = {}
        for name, path in apps().items():
            used = set()
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    used |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
                elif isinstance(node, ast.Import):
                    used |= {a.name for a in node.names}
            found[name] = {m for m in used if m in apps() or m.startswith(f"{PACKAGE.name}.")}
        return found

    def test_they_import_of_the_commands_rooms_only_these(self):
        rooms = {
            m.split(".")[1]
            for used in self.imports().values()
            for m in used
            if m.startswith(f"{PACKAGE.name}.")
        }
        self.assertEqual(rooms - OF_APPS - {"air"}, set())

    def test_there_is_no_circle_among_them(self):
        left = {name: {m for m in used if m in apps()} for name, used in self.imports().items()}
        self.assertGreater(len(left), 4)
        while free := [name for name, used in left.items() if not used & set(left)]:
            for name in free:
                del left[name]
        self.assertEqual(left, {})


class Types(unittest.TestCase):
    """Messages have the types of mac/schema: `types` has what protobuf brings none for."""

    def found_by_mypy(self, *what):
        mypy, protoc = shutil.which("mypy"), shutil.which("protoc")
        self.assertIsNotNone(mypy, "mypy is not installed: run ./openwip setup test")
        with tempfile.TemporaryDirectory() as folder:
            schema = pathlib.Path(folder, "openwip_schema")
            schema.mkdir()
            made = (
                subprocess.run(
                    [
                        protoc or "protoc",
                        f"--pyi_out={schema}",
                        f"--proto_path={SCHEMA}",
                        *SCHEMA.glob("*.proto"),
                    ],
                    capture_output=True,
                )
                if protoc
                else None
            )
            # annotated by protoc from 3.20 on; before that messages have any type
            typed = made is not None and made.returncode == 0
            if typed:
                (schema / "__init__.pyi").touch()
            paths = [APPS, *([folder, pathlib.Path(__file__).with_name("types")] if typed else [])]
            done = subprocess.run(
                [
                    mypy,
                    "--config-file",
                    pathlib.Path(__file__).with_name("mypy.ini"),
                    "--python-executable",
                    sys.executable,
                    "--cache-dir",
                    "/dev/null",
                    *what,
                ],
                capture_output=True,
                text=True,
                cwd=PACKAGE.parent,
                env=os.environ | {"MYPYPATH": ":".join(map(str, paths))},
            )
        return typed, done

    def test_mypy_finds_nothing(self):
        _, done = self.found_by_mypy(
            "-p", PACKAGE.name, "-p", "openwip", *(f"-m{name}" for name in apps())
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout[-6000:])

    def test_mypy_finds_a_field_that_a_message_does_not_have(self):
        typed, done = self.found_by_mypy(
            "-c",
            "from openwip_schema.control_pb2 import MacStatus\n\n\ndef of(status: MacStatus) ->"
            " int:\n    return status.base.frames_sent + status.base.frame_sent\n",
        )
        if not typed:
            self.skipTest("protoc makes no types for Python (before 3.20)")
        self.assertIn('"BaseLink" has no attribute "frame_sent"', done.stdout)
        self.assertEqual(done.stdout.count("error"), 2, done.stdout)


if __name__ == "__main__":
    unittest.main()
