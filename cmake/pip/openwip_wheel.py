# SPDX-License-Identifier: GPL-3.0-or-later
"""The build backend of pyproject.toml (PEP 517): a wheel with the whole product, made by CMake. It
needs CMake and Python alone, so pip fetches nothing from a network to build it.

The files of `cmake --install` go into the wheel as its data, which pip puts under the prefix of the
environment; modules of Python go into its folder of modules. `--config-settings build-dir=FOLDER`
takes a folder that is built already; without it build-pip is configured and built."""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

TOP = pathlib.Path(__file__).resolve().parents[2]
COMPONENTS = ("runtime", "monitor")
# The folder of modules in an installation by CMake, wherever this system's Python looks.
MODULES = re.compile(r"lib/python3(\.\d+)?/(dist|site)-packages/")
PREFIX = "/prefix"


def version() -> str:
    """The content of the file VERSION in Python's form: 1.0.0-rc.1 is 1.0.0rc1."""
    return re.sub(r"-rc\.(\d+)$", r"rc\1", (TOP / "VERSION").read_text().strip())


def tag() -> str:
    """Programs for this machine, and modules for this version of Python."""
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{platform}"


def metadata() -> str:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version()}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in project["dependencies"]),
    ]
    for extra, names in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {name}; extra == "{extra}"' for name in names]
    text = (TOP / project["readme"]).read_text()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", text])


def information() -> dict[str, bytes]:
    """The files of the folder NAME.dist-info, but for the list of all files."""
    wheel = f"Wheel-Version: 1.0\nGenerator: openwip\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    folder = f"openwip-{version()}.dist-info"
    return {f"{folder}/METADATA": metadata().encode(), f"{folder}/WHEEL": wheel.encode()}


def run(*command: Any, **more: Any) -> None:
    subprocess.run([str(word) for word in command], check=True, cwd=TOP, **more)


def value_of(build: pathlib.Path, name: str) -> str:
    """A value of the folder's CMakeCache.txt; empty: it has none."""
    text = (build / "CMakeCache.txt").read_text()
    found = re.search(rf"^{name}:\w+=(.*)$", text, re.M)
    return found[1] if found else ""


def built(settings: dict[str, Any]) -> pathlib.Path:
    """A folder that is built. SystemExit: it is not, or for another version of Python."""
    if unknown := settings.keys() - {"build-dir"}:
        raise SystemExit(f"--config-settings: unknown key {unknown.pop()}; valid: build-dir=FOLDER")
    if given := settings.get("build-dir"):
        build = pathlib.Path(TOP, given)
        if not (build / "cmake_install.cmake").is_file():
            raise SystemExit(f"build-dir is {given}; valid: a folder that CMake has built")
    else:
        build = TOP / "build-pip"
        kind = "-DCMAKE_BUILD_TYPE=RelWithDebInfo"
        run("cmake", "-S", TOP, "-B", build, kind, "-DBUILD_TESTING=OFF")
        run("cmake", "--build", build, "--parallel")
    python = value_of(build, "PYTHON_EXECUTABLE") or sys.executable
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    of_build = subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()
    if of_build != (here := "{}.{}".format(*sys.version_info[:2])):
        raise SystemExit(
            f"pip is that of Python {here}, and GNU Radio is that of {python}, Python {of_build};"
            f" valid: an environment made by {python} -m venv --system-site-packages FOLDER"
        )
    return build


def installed(build: pathlib.Path, into: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """(path in the wheel, file) of each file that CMake installs."""
    for component in COMPONENTS:
        run(
            *("cmake", "--install", build, "--prefix", PREFIX, "--component", component),
            env=os.environ | {"DESTDIR": str(into)},
            stdout=subprocess.DEVNULL,
        )
    root = into / PREFIX.strip("/")
    for file in sorted(root.rglob("*")):
        if file.is_dir() and not file.is_symlink():
            continue
        name = file.relative_to(root).as_posix()
        if modules := MODULES.match(name):
            yield name[modules.end() :], file
        else:
            yield f"openwip-{version()}.data/data/{name}", file


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    build = built(config_settings or {})
    name = f"openwip-{version()}-{tag()}.whl"
    record: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(
            pathlib.Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as wheel,
    ):

        def add(path: str, content: bytes, mode: int = 0o644) -> None:
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{path},sha256={digest.decode()},{len(content)}")

        for path, file in installed(build, pathlib.Path(folder)):
            # A wheel has no links: it gets the file itself.
            add(path, file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)
        for path, content in information().items():
            add(path, content)
        listing = f"openwip-{version()}.dist-info/RECORD"
        wheel.writestr(listing, "\n".join([*record, f"{listing},,", ""]))
    return name


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    for path, content in information().items():
        file = pathlib.Path(metadata_directory, path)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    return f"openwip-{version()}.dist-info"


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """The files that git knows."""
    folder = f"openwip-{version()}"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True, text=True
    )
    with (
        tempfile.NamedTemporaryFile("w", suffix="PKG-INFO") as about,
        tarfile.open(pathlib.Path(sdist_directory, f"{folder}.tar.gz"), "w:gz") as archive,
    ):
        about.write(metadata())
        about.flush()
        archive.add(about.name, f"{folder}/PKG-INFO")
        for name in filter(None, listed.stdout.split("\0")):
            archive.add(TOP / name, f"{folder}/{name}", recursive=False)
    return f"{folder}.tar.gz"
