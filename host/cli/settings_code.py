# SPDX-License-Identifier: GPL-3.0-or-later
"""settings_code.py TABLE FOLDER: makes the C++ of a table of settings (mac/schema/settings.yaml) in a
folder of generated headers. A file that would be the same again is left alone, so that nothing is
compiled anew for a word in a comment of the table.

settings_code.py TABLE --tree TOP: makes what is kept in the tree: the header with ranges and
defaults for the core, and the lists of channels and predictors in the blocks of GNU Radio
Companion."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main(file: str, *where: str) -> int:
    sys.path.insert(0, str(HERE))
    from openwip_cli.errors import BadInput
    from openwip_cli.settings import code, grc, limits, table, table_check

    table.FILE = pathlib.Path(file)
    try:
        table_check.check(table.FILE.read_text(encoding="utf-8"), file)
    except BadInput as e:
        print(f"settings_code.py: {e}", file=sys.stderr)
        return BadInput.code
    if where[0] == "--tree":
        top = pathlib.Path(where[1])
        files = {top / "blocks/types/setting_limits.h": limits.header()} | {
            block: grc.with_lists(block.read_text(encoding="utf-8"))
            for block in sorted((top / "blocks/grc").glob("*.block.yml"))
        }
    else:
        files = {pathlib.Path(where[0], name): text for name, text in code.files().items()}
    for path, text in files.items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
