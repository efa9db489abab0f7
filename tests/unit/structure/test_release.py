# SPDX-License-Identifier: GPL-3.0-or-later
"""The version stands in the file VERSION, and whatever else names it agrees. The files by which an
open project lets others in are there and can be read."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import unittest

import yaml

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
VERSION = (TOP / "VERSION").read_text().strip()
NUMBERS = VERSION.partition("-")[0]
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(rc|alpha|beta)\.[1-9]\d*)?")
# Files by which a project lets others in, with a text that each has to have.
DOOR = {
    "CONTRIBUTING.md": "",
    "CHANGELOG.md": "Keep a Changelog",
    "CITATION.cff": "cff-version",
    "SECURITY.md": "",
    "CODE_OF_CONDUCT.md": "",
    "MANIFEST.md": "gr_supported_version",
    ".github/pull_request_template.md": "",
    ".clang-tidy": "Checks",
    ".editorconfig": "root = true",
    "host/campaign/Containerfile": "FROM",
    "Containerfile": "FROM",
}


def setting(file, name):
    """The value of a variable in one of CMake's files."""
    text = (BUILD / file).read_text()
    found = re.search(rf'^(?:set\({name} "?|{name}:\w+=)([^"\n)]*)', text, re.M)
    return found[1] if found else None


class Version(unittest.TestCase):
    def test_it_is_a_semantic_version(self):
        self.assertTrue(SEMANTIC.fullmatch(VERSION), VERSION)

    def test_the_command_says_it(self):
        output = subprocess.run([TOP / "openwip", "--version"], capture_output=True, text=True)
        self.assertEqual(output.stdout.split()[:2], ["openwip", VERSION], output.stderr)

    def test_the_citation_and_the_changelog_have_it(self):
        self.assertEqual(
            str(yaml.safe_load((TOP / "CITATION.cff").read_text())["version"]), VERSION
        )
        headings = re.findall(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual([h for h in headings if h != "Unreleased"][0], VERSION)

    def test_pip_takes_it_from_the_file(self):
        spec = importlib.util.spec_from_file_location("wheel", TOP / "cmake/pip/openwip_wheel.py")
        wheel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(wheel)
        self.assertEqual(wheel.version(), VERSION.replace("-rc.", "rc"))
        self.assertIn(f"\nVersion: {wheel.version()}\n", wheel.metadata())

    def test_cmake_and_the_packages_have_it(self):
        self.assertEqual(setting("CMakeCache.txt", "CMAKE_PROJECT_VERSION"), NUMBERS)
        self.assertEqual(
            setting("CPackConfig.cmake", "CPACK_PACKAGE_VERSION"), VERSION.replace("-", "~")
        )
        self.assertEqual(
            setting("installed/openwipConfigVersion.cmake", "PACKAGE_VERSION"), NUMBERS
        )


class Packages(unittest.TestCase):
    """The modules that the Python code imports are those that every package asks for."""

    NAMES = {"pyyaml": "yaml", "pyzmq": "zmq"}  # Debian's package -> module

    @classmethod
    def setUpClass(cls):
        found = re.search(r"^dependencies = (\[.*?\])$", (TOP / "pyproject.toml").read_text(), re.M)
        cls.needed = re.findall(r'"([\w-]+)', found[1])

    def test_debians_has_them(self):
        text = (TOP / "cmake/openwip_packages.cmake").read_text()
        depends = re.search(r'set\(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "([^"]*)"', text)[1]
        wanted = {f"python3-{self.NAMES.get(name, name)}" for name in self.needed}
        self.assertGreater(len(wanted), 3)
        self.assertLessEqual(wanted, set(re.split(r"[,|] *", depends)))

    def test_condas_recipe_can_be_read_and_has_them(self):
        text = (TOP / "cmake/conda/meta.yaml").read_text()
        self.assertIn('load_file="../../VERSION"', text)
        text = re.sub(r"\{%.*?%\}", "", text)
        recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "word", text))
        self.assertEqual(recipe["package"]["name"], "openwip")
        self.assertLessEqual(set(self.needed), set(recipe["requirements"]["run"]))
        script = TOP / "cmake/conda/build.sh"
        self.assertTrue(os.access(script, os.X_OK))
        subprocess.run(["sh", "-n", script], check=True)

    def test_the_containers_recipe_names_a_preset_and_a_package_that_exist(self):
        text = (TOP / "Containerfile").read_text()
        [preset] = re.findall(r"cmake --preset (\S+)", text)
        presets = json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"]
        [folder] = [
            f"build-{p['name']}" for p in presets if p["name"] == preset and "binaryDir" not in p
        ]
        self.assertIn(f"/openwip/{folder}/openwip_*.deb", text)


class Door(unittest.TestCase):
    def test_every_file_is_there(self):
        for name, line in DOOR.items():
            with self.subTest(name):
                self.assertIn(line, (TOP / name).read_text())

    def test_forms_and_hosted_ci_are_yaml(self):
        forms = sorted((TOP / ".github").rglob("*.yml"))
        self.assertGreaterEqual(len(forms), 4)
        for path in [*forms, TOP / ".pre-commit-config.yaml"]:
            with self.subTest(path.name):
                self.assertIsInstance(yaml.safe_load(path.read_text()), dict)
        jobs = yaml.safe_load((TOP / ".github/workflows/ci.yml").read_text())["jobs"]
        steps = [s.get("run", "") for job in jobs.values() for s in job["steps"]]
        for program in (".ci/run", "tests/lint", "./openwip"):
            self.assertTrue(any(program in step for step in steps), program)
            self.assertTrue((TOP / program).exists())

    def test_pre_commit_runs_the_tools_of_the_lint(self):
        hooks = [
            hook["id"]
            for repo in yaml.safe_load((TOP / ".pre-commit-config.yaml").read_text())["repos"]
            for hook in repo["hooks"]
        ]
        for tool in ("clang-format", "ruff", "codespell", "shellcheck", "mypy"):
            self.assertTrue(any(tool in hook for hook in hooks), f"{tool}: {hooks}")


if __name__ == "__main__":
    unittest.main()
