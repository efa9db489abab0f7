# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of the documentation, made by Sphinx with MyST and Furo: docs/site builds it from a copy
of this folder. The pages are plain Markdown, which is readable without it, and
notebooks. Made here are the tables
of contents, from the links of the index pages, and the generated part of the reference, by the
modules in generators/."""

import os
import pathlib
import posixpath
import re
import sys

from sphinx.util import logging

sys.path.insert(0, str(pathlib.Path(__file__).parent / "generators"))
import block_page
import command_page
import cpp_page
import python_page
import schema_page
import traffic_page

TOP = pathlib.Path(os.environ["OPENWIP_TOP"])
sys.path.insert(0, str(TOP / "host/cli"))  # for `import openwip`

project = "OpenWIP"
copyright = "the authors of OpenWIP, GPL-3.0-or-later"
release = version = (TOP / "VERSION").read_text().strip()
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
]  # MyST, and notebooks with the outputs that they hold
nb_execution_mode = "off"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "index"
exclude_patterns = ["figures", "generators", "results/data"]
myst_enable_extensions = ["tasklist"]
myst_heading_anchors = 4
nitpicky = True
nitpick_ignore_regex = [("py:class", r"pandas\..*|Message|collections\.abc\..*|pathlib\..*")]
autodoc_mock_imports = python_page.NOT_NEEDED
autodoc_typehints = "signature"
highlight_language = "none"
html_theme = "furo"
html_title = "OpenWIP"
html_static_path = []
html_extra_path = []
html_copy_source = False
html_show_sphinx = False
man_pages = [("reference/commands", "openwip", "testbed for IP over a wireless downlink", [], 1)]

log = logging.getLogger(__name__)

# The pages that are made from the source, and what the index of the reference says of each.
GENERATED = {
    "commands": (command_page.markdown, "[Commands]", "what each command says with `--help`"),
    "messages": (schema_page.markdown, "[Messages]", "each field of telemetry and control"),
    "traffic": (traffic_page.markdown, "[Traffic flows]", "each kind of flow and its settings"),
    "blocks": (block_page.markdown, "[Blocks]", "parameters and ports of the GNU Radio blocks"),
    "cpp": (None, "[C++ API]", "headers of the core for `find_package(openwip)`"),
    "python-api": (python_page.markdown, "[Python API]", "the package `openwip`"),
}
REFERENCE = "reference"

LINK = re.compile(r"\]\(([^)#\s]+)\.(?:md|ipynb)(?:#[^)\s]*)?\)")


def write_reference(app):
    """Write the pages that are made from the source."""
    folder = pathlib.Path(app.srcdir, REFERENCE)
    for name, (markdown, _, _) in GENERATED.items():
        text = markdown(TOP) if markdown else cpp_page.markdown(TOP, cpp_headers(app))
        (folder / f"{name}.md").write_text(text)


def cpp_headers(app):
    """The pages of Doxygen beside the site, by header. Each of its warnings is one of the site."""
    if app.builder.name != "html":
        return {}
    if not cpp_page.doxygen_version():
        print("docs/site: built without the pages of the C++ API, since Doxygen is not installed")
        return {}
    folder = pathlib.Path(app.srcdir).parent / "site-cpp"
    for line in cpp_page.make(TOP, folder, release):
        log.warning("Doxygen: %s", line)
    app.config.html_extra_path = [str(folder / "extra")]
    return cpp_page.pages_of_headers(folder)


def add_contents(app, name, source):
    """Append a hidden table of contents to an index page: the pages that it links to, in the order
    of their first links. An index of a folder has those of its folder, the first page all the
    other indexes."""
    if posixpath.basename(name) != "index":
        return
    folder = posixpath.dirname(name)
    pages = []
    if folder == REFERENCE:
        rows = [
            f"| {title}({page}.md) | {about} |" for page, (_, title, about) in GENERATED.items()
        ]
        head = "## Generated from the source\n\n| page | content |\n|---|---|\n"
        source[0] += "\n" + head + "\n".join(rows) + "\n"
    for target in LINK.findall(source[0]):
        page = posixpath.normpath(posixpath.join(folder, target))
        own = posixpath.basename(page) == "index" if not folder else True
        if own and posixpath.dirname(page).startswith(folder) and page != name:
            if page not in pages:
                pages.append(page)
    lines = "\n".join("/" + page for page in pages)
    source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def setup(app):
    app.connect("builder-inited", write_reference)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", python_page.process)
    return {"parallel_read_safe": True}
