# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference that docs/site makes from the source is complete: every field has a meaning and, if
it is a number, a unit; every parameter of a block and of a function is described."""

import inspect
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "docs/generators"), str(TOP / "host/cli")]
import block_page
import command_page
import cpp_page
import doxygen_comments
import kept_tables
import proto_schema
import python_page
import result_tables
import schema_page
import traffic_page

import openwip

SCHEMAS = schema_page.read_all(TOP)
# Comments, which are what Doxygen's form changes.
CODE = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


class Messages(unittest.TestCase):
    def test_every_schema_is_on_the_page(self):
        self.assertEqual(
            {s.file for s in SCHEMAS}, {p.name for p in (TOP / "mac/schema").glob("*.proto")}
        )

    def test_every_field_has_a_meaning_and_every_number_a_unit(self):
        numbers = 0
        for schema in SCHEMAS:
            for message in schema.declared:
                if not isinstance(message, proto_schema.Message):
                    continue
                self.assertTrue(message.meaning, f"{schema.file}: {message.name}")
                for field in message.fields:
                    name = f"{schema.file}: {message.name}.{field.name}"
                    self.assertTrue(field.meaning, name)
                    is_number = field.type in proto_schema.NUMBERS
                    self.assertEqual(bool(field.unit), is_number, name)
                    numbers += is_number
        self.assertGreater(numbers, 200)

    def test_a_unit_is_the_one_that_the_name_ends_with(self):
        ends = {
            "_db": "dB",
            "_dbfs": "dBFS",
            "_hz": "Hz",
            "_ms": "ms",
            "_us": "us",
            "_ns": "ns",
            "_s": "s",
            "_bps": "bit/s",
            "_bytes": "bytes",
            "_percent": "%",
        }
        for schema in SCHEMAS:
            for message in schema.declared:
                for field in getattr(message, "fields", []):
                    for end, unit in ends.items():
                        if field.name.endswith(end) and field.unit:
                            self.assertEqual(field.unit, unit, f"{message.name}.{field.name}")

    def test_every_value_of_an_enum_has_a_meaning(self):
        for schema in SCHEMAS:
            for enum in schema.declared:
                for value in getattr(enum, "values", []):
                    if not value.name.endswith("_UNSPECIFIED"):
                        self.assertTrue(value.meaning, f"{schema.file}: {enum.name}.{value.name}")

    def test_protoc_reads_the_same_fields(self):
        from google.protobuf import descriptor_pb2

        for schema in SCHEMAS:
            with tempfile.NamedTemporaryFile() as out:
                subprocess.run(
                    [
                        *("protoc", "--experimental_allow_proto3_optional"),
                        f"--proto_path={TOP}/mac/schema",
                        f"--descriptor_set_out={out.name}",
                        schema.file,
                    ],
                    check=True,
                )
                read = descriptor_pb2.FileDescriptorSet.FromString(out.read())
            there = {}

            def take(message, within="", there=there):
                there[within + message.name] = [(f.name, f.number) for f in message.field]
                for inner in message.nested_type:
                    take(inner, f"{within}{message.name}.")

            for message in read.file[0].message_type:
                take(message)
            ours = {
                m.name: [(f.name, f.number) for f in m.fields]
                for m in schema.declared
                if isinstance(m, proto_schema.Message)
            }
            self.assertEqual(
                {n: sorted(f) for n, f in ours.items()}, {n: sorted(f) for n, f in there.items()}
            )

    def test_a_line_that_is_none_of_a_schema_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "wrong.proto")
            path.write_text("// licence\nmessage A {\n  int32 b == 1;\n}\n")
            with self.assertRaisesRegex(proto_schema.SchemaError, "wrong.proto:3"):
                proto_schema.read(path)


class Blocks(unittest.TestCase):
    def test_every_parameter_of_every_block_is_described(self):
        blocks = block_page.read_all(TOP)
        self.assertEqual(len(blocks), len(list((TOP / "blocks/grc").glob("*.block.yml"))))
        for block in blocks:
            self.assertTrue("".join(block.help.text), block.name)
            ids = {p["id"] for p in block.tree.get("parameters") or []}
            self.assertEqual(set(block.help.parameters), ids, block.name)

    def test_the_page_has_every_block_and_port(self):
        page = block_page.markdown(TOP)
        for block in block_page.read_all(TOP):
            self.assertIn(f"`wip.{block.name}`", page)
            for one in [*(block.tree.get("inputs") or []), *(block.tree.get("outputs") or [])]:
                self.assertIn(block_page.port(one), page)


class Python(unittest.TestCase):
    def test_every_public_name_and_parameter_is_described(self):
        for name in openwip.__all__:
            of = getattr(openwip, name)
            self.assertTrue(inspect.getdoc(of), name)
            members = [of] if inspect.isfunction(of) else []
            if inspect.isclass(of):
                members = [
                    m
                    for n, m in vars(of).items()
                    if inspect.isfunction(m) and not n.startswith("_")
                ]
            for member in members:
                text = inspect.getdoc(member) or ""
                known = set(inspect.signature(member).parameters) - {"self"}
                lines = python_page.restructured(text.splitlines(), True)
                described = set(re.findall(r"^:param (\w+):", "\n".join(lines), re.M))
                self.assertLessEqual(described, known, member.__qualname__)
                if len(known) > 1:
                    self.assertEqual(described, known, member.__qualname__)


class Cpp(unittest.TestCase):
    def test_every_installed_header_says_what_it_is_for(self):
        headers = cpp_page.headers(TOP)
        self.assertGreater(len(headers), 150)
        for include, path in headers:
            self.assertGreater(len(cpp_page.first_sentence(path.read_text())), 10, include)

    def test_every_folder_has_a_title(self):
        self.assertEqual(set(cpp_page.folders(TOP)), set(cpp_page.ROOMS))

    def test_only_comments_are_changed(self):
        for include, path in cpp_page.headers(TOP):
            before, after = (
                re.sub(r"\s+", "", CODE.sub("", text))
                for text in (path.read_text(), doxygen_comments.converted(path.read_text()))
            )
            self.assertEqual(after, before, include)

    def test_comments_before_and_behind_a_declaration_are_its(self):
        text = (
            "// licence\n// The head.\n#pragma once\nstruct a {\n    // Before.\n    int b;\n"
            "    int c;  // Behind,\n            // and more.\n    int d() {\n"
            "        // Within.\n        return 0;\n    }\n};\n"
        )
        out = doxygen_comments.converted(text)
        for line in ("/*! \\file\nThe head.", "    /*! Before.", "///< Behind,", "///< and more."):
            self.assertIn(line, out)
        self.assertIn("        // Within.", out)


class Commands(unittest.TestCase):
    def test_the_page_has_every_command(self):
        table = (TOP / "host/cli/command_lines.txt").read_text()
        page = command_page.markdown(TOP)
        commands = re.findall(r"^command\t([^\t\n]+)", table, re.M)
        self.assertGreater(len(commands), 50)
        for command in commands:
            self.assertIn(f"## openwip {command}\n", page)


class Traffic(unittest.TestCase):
    def test_the_page_has_every_kind_of_flow_and_a_meaning_for_every_setting(self):
        schema = json.loads((TOP / "host/flow/flows.schema.json").read_text())
        page, kinds = traffic_page.markdown(TOP), traffic_page.kinds(schema)
        self.assertLessEqual({"bulk", "telnet", "http", "voip"}, set(kinds))
        for kind, rule in kinds.items():
            section = page.partition(f"## {kind}\n")[2].partition("\n## ")[0]
            self.assertEqual(
                re.findall(r"^\| `(\w+)`", section, re.M),
                [name for name in rule["properties"] if name != "kind"],
            )
            self.assertEqual(re.findall(r"^.*\| +\|$", section, re.M), [], "without a meaning")
        self.assertIn('| `pareto_scale` | `mean`, `least` | `"mean"` |', page)


class Results(unittest.TestCase):
    def test_every_generated_table_is_what_the_kept_json_gives(self):
        stale = [str(p) for p in result_tables.stale(TOP)]
        self.assertEqual(stale, [], "made by python3 docs/generators/result_tables.py")

    def test_a_kept_cell_is_shown_with_its_digits_unit_and_interval(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "kept.json")
            for cell, text in (
                ("null", ""),
                ('"VALID"', "VALID"),
                ("4.50", "4.50"),
                ("9999", "9999"),
                ("1234567", "1,234,567"),
                ('{"mean": 4.30, "half": 0.20}', "4.30 ± 0.20"),
                ('{"low": 3.0, "high": 3.4, "unit": "%"}', "3.0 to 3.4 %"),
                ('{"values": [1, -2.0], "unit": "dB", "signed": true}', "+1, -2.0 dB"),
                ('{"values": [{"mean": 1, "half": 0}, 2], "bold": true}', "**1 ± 0, 2**"),
            ):
                file.write_text(f'{{"cell": {cell}}}')
                self.assertEqual(kept_tables.cell_text(kept_tables.read(file)["cell"]), text)

    def test_a_kept_table_says_how_it_was_measured_and_has_whole_rows(self):
        kept = kept_tables.tables(TOP)
        self.assertGreater(len(kept), 60)
        for name, (file, table) in kept.items():
            self.assertTrue(table["about"]["command"], f"{file}: {name}")
            self.assertRegex(table["about"]["date"], r"20\d\d-\d\d-\d\d", f"{file}: {name}")
            self.assertGreater(len(kept_tables.rows(table)), 1, f"{file}: {name}")
        with self.assertRaisesRegex(SystemExit, "1 cells; valid: 2"):
            kept_tables.rows({"columns": ["a", "b"], "rows": [["c"]]})

    def test_every_kept_table_stands_on_a_page(self):
        shown = {
            name
            for page in result_tables.pages(TOP)
            for name in result_tables.PLACE.findall(page.read_text())
        }
        self.assertEqual(set(kept_tables.tables(TOP)) - shown, set())

    def test_a_name_is_of_one_table(self):
        name = next(iter(kept_tables.tables(TOP)))
        made = result_tables.Made("curves", result_tables.targets)
        with mock.patch.dict(result_tables.TABLES, {name: made}):
            with self.assertRaisesRegex(SystemExit, f"{name}: this program makes it, too"):
                result_tables.stale(TOP)


if __name__ == "__main__":
    unittest.main()
