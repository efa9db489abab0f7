# SPDX-License-Identifier: GPL-3.0-or-later
"""The choices in the monitor's lists of controls, from the table of settings."""

from openwip_cli.settings import controls, kinds, table


def control_choices():
    """("base link.modulation") -> choices."""
    found = {}
    for command in table.CELLS:
        of = table.views(command, running=True)
        for row in controls.table(command).values():
            offers = table.column(row.key, "offers", of) or (
                row.kind.words if isinstance(row.kind, kinds.Choice) else ()
            )
            if table.column(row.key, "monitor", of) and not row.why_not and offers:
                known = found.setdefault(f"{row.process} {row.process_key}", [])
                known += [word for word in offers if word not in known]
    return found
