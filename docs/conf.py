# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of the documentation, made by Sphinx with MyST and Furo: docs/site builds it. The pages
are plain Markdown, which is readable without it; the tables of contents are made here from the
links of the index pages."""

import posixpath
import re

project = "OpenWIP"
copyright = "the authors of OpenWIP, GPL-3.0-or-later"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["figures"]
myst_enable_extensions = ["tasklist"]
myst_heading_anchors = 4
nitpicky = True
highlight_language = "none"
# Tables hold code of languages that Pygments has no lexer for; nothing is fetched from elsewhere.
html_theme = "furo"
html_title = "OpenWIP"
html_static_path = []
html_copy_source = False
html_show_sphinx = False

LINK = re.compile(r"\]\(([^)#\s]+)\.md(?:#[^)\s]*)?\)")


def add_contents(app, name, source):
    """Append a hidden table of contents to an index page: the pages that it links to, in the order
    of their first links. An index of a folder has those of its folder, the first page all the
    other indexes."""
    if posixpath.basename(name) != "index":
        return
    folder = posixpath.dirname(name)
    pages = []
    for target in LINK.findall(source[0]):
        page = posixpath.normpath(posixpath.join(folder, target))
        own = posixpath.basename(page) == "index" if not folder else True
        if own and posixpath.dirname(page).startswith(folder) and page != name:
            if page not in pages:
                pages.append(page)
    lines = "\n".join("/" + page for page in pages)
    source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def setup(app):
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True}
