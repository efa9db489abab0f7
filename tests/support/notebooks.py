# SPDX-License-Identifier: GPL-3.0-or-later
"""The notebooks of the documentation (docs/notebooks). Each is kept with its outputs.

    /usr/bin/python3 tests/support/notebooks.py [NAME...]

executes all, or these, and keeps the outputs in the files. It needs the packages of
`./openwip setup --notebooks` and the kernel of `./openwip setup --virtual-time`."""

import json
import os
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "docs/notebooks"
# seconds that a cell of a notebook may take on a busy computer; the test limits its processor time
LIMIT_S = 1500
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
RELATIVE = 0.05  # relative difference that a number may have on another computer
LAST_DIGITS = 2  # or this difference, in units of its last digit


def paths():
    return sorted(FOLDER.glob("*.ipynb"))


def read(path):
    return json.loads(path.read_text())


def text_of(source):
    """A source or an output of a notebook is a text, or a list of lines."""
    return source if isinstance(source, str) else "".join(source)


def _sources(path, kind):
    return [text_of(c["source"]) for c in read(path)["cells"] if c["cell_type"] == kind]


def markdown(path):
    return "\n\n".join(_sources(path, "markdown"))


def code(path):
    return _sources(path, "code")


def printed(cell):
    """The output of a cell as plain text."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            found.append(text_of(output["text"]))
        elif "image/png" not in output.get("data", {}):
            found.append(text_of(output.get("data", {}).get("text/plain", "")))
    return "\n".join(found)


def pictures(cell):
    return sum("image/png" in output.get("data", {}) for output in cell["outputs"])


def _differ(one, other):
    """Two texts of numbers."""
    a, b = float(one), float(other)
    decimals = len(other.partition("e")[0].partition(".")[2])
    return abs(a - b) > max(RELATIVE * abs(b), LAST_DIGITS * 10.0**-decimals)


def difference(got, kept):
    """The differences of two printed texts beyond those that another processor makes of the same
    run; empty: none. The words have to be equal, and the numbers close."""
    if " ".join(NUMBER.sub("#", got).split()) != " ".join(NUMBER.sub("#", kept).split()):
        return f"says\n{got}\nand not\n{kept}"
    for one, other in zip(NUMBER.findall(got), NUMBER.findall(kept)):
        if _differ(one, other):
            return f"says {one} and not {other}, in\n{got}"
    return ""


def joined(outputs):
    """The outputs of a cell; what was printed is one output, in however many pieces it came."""
    made = []
    for output in outputs:
        before = made[-1] if made else {}
        if output["output_type"] == "stream" and before.get("name") == output["name"]:
            before["text"] = text_of(before["text"]) + text_of(output["text"])
        else:
            made.append(output)
    return made


def execute(path):
    """The notebook as nbformat has it, executed in a folder of its own. Raises
    nbclient.exceptions.CellExecutionError: a cell failed."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook,
            timeout=LIMIT_S,
            startup_timeout=LIMIT_S,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


def environment():
    """Sets the environment in which a notebook finds the package `openwip`, and the package the
    programs of this tree."""
    os.environ["PYTHONPATH"] = str(TOP / "host/cli")
    os.environ["OPENWIP_TOP"] = str(TOP)
    os.environ.pop("MPLBACKEND", None)  # the kernel draws into the notebook


def main(names):
    import nbformat

    environment()
    for path in paths():
        if not names or path.stem in names:
            print(f"{path.relative_to(TOP)} ...", flush=True)
            text = nbformat.writes(execute(path))
            path.write_text(text.rstrip("\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
