# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the traffic flows: each kind with its settings, from the schema of plans that the
traffic program and ns-3 check them by (host/flow/flows.schema.json)."""

import json
import pathlib
from typing import Any

HEAD = """# Traffic flows

A plan is JSON with a list `flows`; each flow has a `kind` and its settings.
The same plan makes the same traffic in the network namespaces of a cell (`wip_flow`), in the Linux kernel of [virtual time](../explanation/virtual-time.md) and in [ns-3](../explanation/ns3.md).
[Send your own traffic](../how-to/own-traffic.md#flows-of-the-traffic-program) has examples.
"""


def resolved(schema: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in rule:
        return rule
    return schema["$defs"][rule["$ref"].rpartition("/")[2]] | {
        k: v for k, v in rule.items() if k != "$ref"
    }


def valid(schema: dict[str, Any], rule: dict[str, Any]) -> str:
    """The values of a setting."""
    if "enum" in rule:
        return ", ".join(f"`{v}`" for v in rule["enum"])
    if rule["type"] == "array":
        item = resolved(schema, rule["items"])
        members = ", ".join(f"`{name}`" for name in item.get("properties", {}))
        return f"a list of objects with {members}" if members else "a list of texts"
    name = {"integer": "a whole number", "number": "a number", "boolean": "`true`, `false`"}
    text = name.get(rule["type"], "a text")
    for word, limit in (("from", "minimum"), ("to", "maximum")):
        text += f" {word} {rule[limit]}" if limit in rule else ""
    return text


def kinds(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{kind: its rule}"""
    rules = [resolved(schema, rule) for rule in schema["$defs"]["flow"]["oneOf"]]
    return {rule["properties"]["kind"]["const"]: rule for rule in rules}


def markdown(top: pathlib.Path) -> str:
    schema = json.loads((top / "host/flow/flows.schema.json").read_text())
    page = [HEAD]
    for kind, rule in kinds(schema).items():
        description = rule["description"]
        page += [f"## {kind}", "", description[0].upper() + description[1:] + ".", ""]
        page += ["| setting | valid | default | meaning |", "|---|---|---|---|"]
        for name, given in rule["properties"].items():
            if name == "kind":
                continue
            of = resolved(schema, given)
            default = "needed" if name in rule["required"] else "none"
            if "default" in of:
                default = f"`{json.dumps(of['default'])}`"
            cells = (f"`{name}`", valid(schema, of), default, of.get("description", ""))
            page.append("| " + " | ".join(cells) + " |")
        page.append("")
    return "\n".join(page)
