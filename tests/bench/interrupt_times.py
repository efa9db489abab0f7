# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of the attenuator's interrupts on ST's Nucleo-F446RE, in us, COMPUTED from its program and
published cycles, not measured on metal (JSON, the budget beside each figure):

  /usr/bin/python3 tests/bench/interrupt_times.py nucleo_f446re.elf

For each handler it computes the longest path that its instructions allow, whatever the data: basic
blocks with the cycles below, loops with the bounds below, called functions in the place of their
calls. Code that has no bound here is refused. The tick is also computed with every byte of the
serial line that can interrupt it."""

import argparse
import functools
import json
import math
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result

CORE_HZ, SPI_HZ = 168_000_000, 5_250_000  # firmware/board/nucleo_f446re.h, pins.h
BYTE_S, TICK_S = 10 / 921_600, 1e-3  # 8N1
# Cortex-M4 TRM (Arm DDI 0439D), table 3-1, each at its most: P, the refill of the pipeline, is 3 of
# 1 to 3; a division 12 of 2 to 12.
REFILL, DIVISION, ENTRY, EXIT = 3, 12, 12, 12
# B of that table depends on what is being written: the slowest write here
BARRIER = 16
# STM32F446 (RM0390, 3.4): a line of 128 bits comes from flash with 5 wait states at 168 MHz. The
# bound assumes that caches and prefetch never help. The wait states count for each line of each
# basic block, for a line that was being fetched when a branch is taken, and for each constant.
LINE, WAIT = 16, 5
# assumed for each access: four cycles of the slowest bus (42 MHz); RM0390 has no number
PERIPHERAL = 16
WITH_PERIPHERALS = ("tick_handler", "serial_handler", "trigger_handler", "put")
SPI_WORD = math.ceil(9 * CORE_HZ / SPI_HZ)  # eight bits, and one until the first begins
CHIPS = 8  # attenuator chips of the board
# function -> how often each of its loops runs at most: the chips; memset: bytes of a tick_output;
# tick_handler: an exclusive access that is tried again.
TIMES_OF = {
    "levels": CHIPS,
    "to_maximum": CHIPS,
    "put_step": CHIPS,
    "play": CHIPS,
    "tick": CHIPS,
    "put": CHIPS,
    "memset": 20,
    "tick_handler": 8,
}
MOST_OF_A_POLL = 150  # cycles of a block that waits for SPI
# cycles: ldrex to strex, once more after an interrupt in between
TRIED_AGAIN = 12
JUMPS = re.compile(r"^(b|bx|cbn?z|(b(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)))(\.[nw])?$")
CONDITIONS = "eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
LOADS, STORES = (
    ("ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrex", "ldrexb"),
    (
        "str",
        "strb",
        "strh",
        "strex",
        "strexb",
    ),
)
MANY = ("push", "pop", "ldmia", "stmdb", "stmia", "ldmdb", "ldrd", "strd")
ONE = (
    "mov",
    "movs",
    "movw",
    "movt",
    "mvn",
    "mvns",
    "add",
    "adds",
    "sub",
    "subs",
    "rsb",
    "rsbs",
    "cmp",
    "cmn",
    "tst",
    "teq",
    "and",
    "ands",
    "orr",
    "orrs",
    "eor",
    "eors",
    "bic",
    "bics",
    "lsl",
    "lsls",
    "lsr",
    "lsrs",
    "asr",
    "asrs",
    "uxtb",
    "uxth",
    "sxtb",
    "sxth",
    "ubfx",
    "sbfx",
    "bfi",
    "bfc",
    "mul",
    "muls",
    "addw",
    "subw",
    "nop",
    "clz",
    "negs",
    "rev",
)
TWO = ("mla", "mls", "umull", "smull")


class Instruction:
    def __init__(self, address, size, text):
        self.address, self.size = address, size
        word, _, self.operands = text.partition("\t")
        self.name = word.split(".")[0]
        self.plain = (
            re.sub(f"({CONDITIONS})$", "", self.name)
            if self.name not in (*ONE, *TWO, *LOADS, *STORES, *MANY, "bl", "blx")
            else self.name
        )
        target = re.search(r"\b([0-9a-f]{5,8}) <([^>+]+)(\+0x[0-9a-f]+)?>", self.operands)
        self.target = int(target[1], 16) if target and self.name not in LOADS else None
        self.to_name = target[2] if target else None

    def is_jump(self):
        return bool(JUMPS.match(self.name)) or self.name in ("bl", "blx") or "pc" in self.written()

    def written(self):
        if self.plain in ("pop", "ldmia") and "pc" in self.operands:
            return ("pc",)
        return ("pc",) if re.match(r"pc\b", self.operands) and self.plain != "cmp" else ()

    def is_return(self):
        return self.written() == ("pc",) or (self.name == "bx" and self.operands.strip() == "lr")

    def goes_by_register(self):
        """Whether it is a jump to an address in a register, other than the return to the caller."""
        return (self.name == "bx" and not self.is_return()) or (
            self.plain in LOADS and bool(self.written()) and "[sp" not in self.operands
        )

    def words(self):
        return f"{self.name} {self.operands} at {self.address:x}"

    def cycles(self, peripherals, wait):
        o, n = self.operands, self.plain
        beyond = PERIPHERAL if peripherals and not re.search(r"\[sp|\[pc", o) else 0
        if JUMPS.match(self.name) or self.name in ("bl", "blx"):
            return 1 + REFILL + wait
        if n in LOADS:
            return (
                2 + (2 * wait if "[pc" in o else beyond) + (REFILL + wait if self.written() else 0)
            )
        if n in STORES:
            return 2 + beyond
        if n in MANY:
            inside = o[o.index("{") :] if "{" in o else "{a, b}"
            assert "-" not in inside, o
            return 1 + inside.count(",") + 1 + (REFILL + wait if self.written() else 0)
        if n in ("udiv", "sdiv"):
            return DIVISION
        if n in TWO:
            return 2
        if n in ("dmb", "dsb"):
            return 1 + BARRIER
        if n in ONE or re.match(r"it[te]{0,3}$", self.name):
            return 1
        raise SystemExit(f"interrupt_times.py: {self.words()} has no cycles here")


def functions_of(elf):
    """address -> (name, instructions)"""
    found, at = {}, None
    for line in subprocess.run(
        ["arm-none-eabi-objdump", "-d", elf], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        if head := re.match(r"([0-9a-f]+) <(.+)>:$", line):
            at = int(head[1], 16)
            found[at] = (head[2], [])
        elif (
            at is not None
            and (row := re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.+)$", line))
            and not row[3].startswith(".")
        ):
            text = re.sub(r"\s*[@;].*$", "", row[3]) if "[pc" in row[3] else row[3].split(" @")[0]
            found[at][1].append(
                Instruction(
                    int(row[1], 16),
                    len(row[2].replace(" ", "")) // 2,
                    text.replace(" ", "\t", 1) if "\t" not in text else text,
                )
            )
    return found


class Program:
    def __init__(self, elf, wait):
        self.wait = wait
        self.functions = functions_of(elf)
        self.at = {name: address for address, (name, _) in self.functions.items()}
        self.polls = []

    def named(self, part):
        return next(a for name, a in self.at.items() if called(name, part))

    @functools.cache  # noqa: B019
    def longest(self, address):
        """Cycles from the first instruction to the return, in whatever order its data says."""
        name, code = self.functions[address]
        inside = {i.address for i in code}
        peripherals = any(called(name, w) for w in WITH_PERIPHERALS)
        begins = (
            {code[0].address}
            | {i.target for i in code if i.target in inside and i.name not in ("bl", "blx")}
            | {
                after.address
                for i, after in zip(code, code[1:])
                if i.is_jump() and i.name not in ("bl", "blx")
            }
        )
        blocks, order = {}, sorted(begins)
        for begin, end in zip(order, [*order[1:], code[-1].address + code[-1].size]):
            own = [i for i in code if begin <= i.address < end]
            last = own[-1]
            cycles = sum(
                i.cycles(peripherals, self.wait)
                + (self.called_by(name, i) if i.name in ("bl", "blx") else 0)
                for i in own
            )
            lines = (last.address + last.size - 1) // LINE - own[0].address // LINE + 1
            # After a call, its cache line is fetched again.
            cycles += self.wait * (lines + sum(i.name in ("bl", "blx") for i in own))
            goes = []
            if last.target in inside and last.name not in ("bl", "blx"):
                goes.append(last.target)
            elif last.target is not None and last.name == "b":
                cycles += self.called_by(name, last)  # ends with that function
            elif last.goes_by_register():
                raise SystemExit(
                    f"interrupt_times.py: {name} goes where a register says ({last.words()}), which"
                    " has no bound here"
                )
            falls = not last.is_return() and not (last.name == "b" and JUMPS.match(last.name))
            if falls and end in begins:
                goes.append(end)
            exclusive = any(i.plain.startswith("strex") for i in own)
            blocks[begin] = (cycles, goes, exclusive)
        return self.path(name, blocks, set(blocks), code[0].address, None)

    def called_by(self, name, instruction):
        if instruction.target not in self.functions:
            raise SystemExit(
                f"interrupt_times.py: what {name} calls with {instruction.words()} is no function"
                " of the program, so it has no bound here"
            )
        return self.longest(instruction.target)

    def path(self, name, blocks, among, first, closed):
        """Cycles of the longest path from `first` in `among`, without edges to `closed`, the
        beginning of the loop that these blocks are."""
        goes = {b: [n for n in blocks[b][1] if n in among and n != closed] for b in among}
        costs, home = {}, {}
        for group in groups_of(goes):
            heads = {n for b in among - group for n in goes[b] if n in group} | ({first} & group)
            for b in group:
                home[b] = frozenset(group)
            if len(group) == 1 and next(iter(group)) not in goes[next(iter(group))]:
                costs[frozenset(group)] = blocks[next(iter(group))][0]
                continue
            if not heads:
                continue  # no path enters this loop
            if len(heads) > 1:
                raise SystemExit(f"interrupt_times.py: {name} has a loop with two beginnings")
            costs[frozenset(group)] = self.loop(name, blocks, group, heads.pop())
        best = {}

        def cost_of(group):
            if group not in best:
                after = {home[n] for b in group for n in goes[b]} - {group}
                best[group] = costs[group] + max(map(cost_of, after), default=0)
            return best[group]

        return cost_of(home[first])

    def loop(self, name, blocks, group, head):
        once = self.path(name, blocks, group, head, head)
        ends = {b for b in group if head in blocks[b][1]}
        leaves = {b for b in group if any(n not in group for n in blocks[b][1])}
        if any(blocks[b][2] for b in group) and len(group) == 1:
            # ldrex, strex: again only after an interrupt, which is counted there
            return once
        if (
            called(name, "put")
            and head != min(blocks)
            and len(group) <= 2
            and not any(b for b in group if blocks[b][0] > MOST_OF_A_POLL)
        ):
            self.polls.append(once)
            return SPI_WORD + 2 * once  # one poll that is just too early, and the next one
        times = next((n for function, n in TIMES_OF.items() if called(name, function)), None)
        if times is None:
            raise SystemExit(
                f"interrupt_times.py: {name} has a loop at {head:x} and no bound here; valid: one"
                " in TIMES_OF"
            )
        return once * (times + (0 if leaves <= ends else 1))


def groups_of(goes):
    """Blocks that reach each other."""

    def reached(b):
        seen, left = set(), [b]
        while left:
            for n in goes[left.pop()]:
                if n not in seen:
                    seen.add(n)
                    left.append(n)
        return seen

    reach = {b: reached(b) for b in goes}
    done = set()
    for b in sorted(goes):
        if b not in done:
            group = {b} | {n for n in reach[b] if b in reach[n]}
            done |= group
            yield group


def called(name, part):
    return name == part or bool(re.search(rf"\d{part}E", name))


def us(cycles):
    return round(cycles / CORE_HZ * 1e6, 2)


def bounds(elf):
    program, ideal = Program(elf, WAIT), Program(elf, 0)
    begins = ENTRY + 2 * WAIT  # vector, first line
    own, of_ideal = (
        {n: p.longest(p.named(f"{n}_handler")) for n in ("serial", "tick", "trigger")}
        for p in (program, ideal)
    )
    if len(program.polls) != 1:
        raise SystemExit(
            f"interrupt_times.py: {len(program.polls)} loops that wait for SPI; there should be one"
        )
    own = {n: cycles + begins + EXIT for n, cycles in own.items()}
    again = TRIED_AGAIN + 2 * WAIT
    # The tick with all bytes that come meanwhile, which go first.
    whole = own["tick"]
    while True:
        longer = own["tick"] + math.ceil(whole / CORE_HZ / BYTE_S) * (own["serial"] + again)
        if longer == whole:
            break
        whole = longer
    return {
        "board": "nucleo_f446re, 168 MHz",
        "how": "computed, not measured on metal",
        "flash_wait_states": WAIT,
        "put_us": {"found": us(program.longest(program.named("put"))), "budget": 1e6 * TICK_S},
        "serial_us": {"found": us(own["serial"]), "budget": round(BYTE_S * 1e6, 2)},
        "tick_us": {
            "found": us(own["tick"]),
            "of_it_spi": us(8 * SPI_WORD),
            "without_waits_for_flash": us(of_ideal["tick"] + ENTRY + EXIT),
            "budget": 1e6 * TICK_S,
        },
        "tick_with_bytes_us": {"found": us(whole), "budget": 1e6 * TICK_S},
        "tick_delay_us": {"found": us(own["serial"] + begins), "budget": 1e6 * TICK_S},
        "trigger_delay_us": {"found": us(whole + own["serial"] + begins), "budget": 1e6 * TICK_S},
        "trigger_us": {"found": us(own["trigger"])},
    }


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("elf")
    p.add_argument("--json", metavar="FILE", help="write it to FILE, as it is kept in the tree")
    given = p.parse_args()
    found = bounds(given.elf)
    if given.json:
        command = "python3 tests/bench/interrupt_times.py build/firmware/arm/nucleo_f446re.elf"
        kept_result.write(given.json, f"{command} --json FILE", found)
    else:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    sys.exit(main())
