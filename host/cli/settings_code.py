# SPDX-License-Identifier: GPL-3.0-or-later
"""settings_code.py TABLE FOLDER: makes the C++ of a table of settings (mac/schema/settings.yaml) in a
folder of generated headers. A file that would be the same again is left alone, so that nothing is
compiled anew for a word in a comment of the table.

settings_code.py TABLE --limits FILE: makes the header with ranges and defaults for the core."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main(file: str, *where: str) -> int:
    sys.path.insert(0, str(HERE))
    from openwip_cli.errors import BadInput
    from openwip_cli.settings import code, limits, table, table_check

    table.FILE = pathlib.Path(file)
    try:
        table_check.check(table.FILE.read_text(encoding="utf-8"), file)
    except BadInput as e:
        print(f"settings_code.py: {e}", file=sys.stderr)
        return BadInput.code
    files = (
        {where[1]: limits.header()}
        if where[0] == "--limits"
        else {str(pathlib.Path(where[0], name)): text for name, text in code.files().items()}
    )
    for name, text in files.items():
        path = pathlib.Path(name)
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
