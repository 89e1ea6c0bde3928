"""The session that `popkit try` shows where there is none: a working afternoon that was made up, written as Claude Code writes transcripts.

    python -m tests.cli.made_up_afternoon

writes it anew. A shop is worked on: files are read, some of them again, tests fail and pass, builds show their progress, there is a
meeting that is longer than the prompt cache lives, and a /compact. All names and texts come from the tables below, by a fixed seed.
"""

from __future__ import annotations

import bz2
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from popkit_retention.core.policy.host_compaction import files_put_back

SAMPLE = Path(__file__).resolve().parents[2] / "power-mode/popkit_retention/lab/sample-session.jsonl.bz2"
BEGINS = datetime(2026, 11, 20, 13, 10, tzinfo=timezone.utc)
PROJECT = "/home/dev/shop"
MODEL = "claude-opus-5-5"
STANDING_TOKENS = 21_000  # system and tools
CHARS_PER_TOKEN = 2.05
MEETING_S = 75 * 60
THINGS = (
    "voucher", "basket", "order", "invoice", "refund", "shipment", "stock", "customer", "price", "tax", "address", "delivery", "gift",
    "coupon", "return", "supplier", "catalog", "search", "review", "payment",
)  # fmt: skip
VERBS = (
    "load", "store", "merge", "expire", "apply", "cancel", "split", "round", "index", "notify", "verify", "group", "limit", "export",
    "lock", "renew",
)  # fmt: skip
FIELDS = ("amount", "currency", "validFrom", "validTo", "region", "state", "reason", "weight", "quantity", "reference", "note", "channel")


def source(thing: str) -> list[str]:
    """The lines of a module of the shop."""
    dice = random.Random(thing)
    name = thing.capitalize()
    fields = dice.sample(FIELDS, 7)
    lines = [
        "import { db } from '../db.js';",
        f"import {{ log }} from '../log.js';  // {thing}",
        f"import {{ {name}Error }} from './errors.js';",
    ]
    lines += [
        "",
        f"export interface {name} {{",
        "  id: string;",
        *[f"  {field}: {dice.choice(('string', 'number', 'Date'))};" for field in fields],
        "}",
    ]
    for verb in dice.sample(VERBS, 13):
        one, other = dice.sample(fields, 2)
        lines += [
            "",
            f"/** {verb.capitalize()}s a {thing}; the {one} has to be known, and the {other} is left as it is. */",
            f"export async function {verb}{name}(id: string, {one}: unknown, now = new Date()): Promise<{name}> {{",
            f"  const found = await db.{thing}s.findOne({{ id, {one} }});",
            f"  if (!found) throw new {name}Error(`no {thing} ${{id}} to {verb}`);",
            f"  if (found.{other} === undefined) log.warn('{thing} without {other}', {{ id, at: now.toISOString() }});",
            f"  const changed = {{ ...found, {one}, {other}: found.{other} ?? defaults.{other} }};",
            f"  await db.{thing}s.replaceOne({{ id }}, changed, {{ writer: '{verb}{name}' }});",
            "  return changed;",
            "}",
        ]
    return [*lines, "", f"const defaults = {{ {', '.join(f'{field}: null' for field in fields)} }};"]


class Afternoon:
    """A transcript that grows call by call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = BEGINS
        self.last: str | None = None
        self.calls = self.messages = 0
        self.context = float(STANDING_TOKENS)
        self.cached = 0.0
        self.files = {f"src/{thing}s/{thing}.ts": source(thing) for thing in THINGS}
        self.touched: dict[str, int] = {}  # path -> tokens of the file, the last read or edited at the end
        self.dice = random.Random(20)

    # --- rows ---------------------------------------------------------------------------------------------------------------------

    def _row(self, kind: str, message: dict | None, **more: object) -> None:
        uuid = f"00000000-0000-4000-8000-{len(self.lines):012}"
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        row = {"parentUuid": self.last, "isSidechain": False, "cwd": PROJECT, "sessionId": "made-up-afternoon", "type": kind, "uuid": uuid}
        row |= {"timestamp": stamp, **({"message": message} if message else {}), **more}
        self.lines.append(json.dumps(row, ensure_ascii=False))
        self.last = uuid

    def waits(self, seconds: float) -> None:
        if seconds > 3_600:
            self.cached = 0
        self.now += timedelta(seconds=seconds)

    def says(self, text: str) -> None:
        self.waits(40)
        self._row("user", {"role": "user", "content": text})
        self.context += len(text) / CHARS_PER_TOKEN

    def _answers(self, content: Sequence[dict]) -> None:
        self.waits(6)
        self.messages += 1
        tokens, read = round(self.context), round(self.cached)
        usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": tokens - read - 3}
        usage["output_tokens"] = round(sum(len(json.dumps(block)) for block in content) / CHARS_PER_TOKEN)
        caching = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": usage["cache_creation_input_tokens"]}
        message = {"id": f"msg_{self.messages:03}", "role": "assistant", "model": MODEL, "usage": {**usage, "cache_creation": caching}}
        for block in content:
            self._row("assistant", {**message, "content": [block]})
        self.cached = tokens
        self.context += usage["output_tokens"]

    def ends(self, text: str) -> None:
        self._answers([{"type": "text", "text": text}])

    def calls_tool(self, tool: str, tool_input: dict, text: str, failed: bool = False, says: str = "") -> None:
        self.calls += 1
        id = f"toolu_{self.calls:03}"
        use = {"type": "tool_use", "id": id, "name": tool, "input": tool_input}
        self._answers([*([{"type": "text", "text": says}] if says else []), use])
        self.waits(3)
        result = {"type": "tool_result", "tool_use_id": id, "content": text, **({"is_error": True} if failed else {})}
        self._row("user", {"role": "user", "content": [result]})
        self.context += len(text) / CHARS_PER_TOKEN

    def compacts(self, summary: str) -> None:
        """What the host does on /compact: a summary, and behind it the files that were touched last, of which no row tells."""
        self.waits(60)
        metadata = {"trigger": "manual", "preTokens": round(self.context)}
        before, self.last = self.last, None
        self._row(
            "system", None, subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=before, compactMetadata=metadata
        )
        self._row("user", {"role": "user", "content": summary}, isCompactSummary=True)
        back = files_put_back(self.touched.values())
        self.context, self.cached = STANDING_TOKENS + len(summary) / CHARS_PER_TOKEN + back, STANDING_TOKENS

    def _touches(self, path: str) -> None:
        self.touched.pop(path, None)
        self.touched[path] = round(len("\n".join(self.files[path])) / CHARS_PER_TOKEN)

    # --- what is done ---------------------------------------------------------------------------------------------------------------

    def reads(self, thing: str, first: int = 1, count: int = 0) -> None:
        path = f"src/{thing}s/{thing}.ts"
        self._touches(path)
        shown = list(enumerate(self.files[path], 1))[first - 1 : first - 1 + count if count else None]
        asked = {"offset": first, "limit": count} if count else {}
        self.calls_tool("Read", {"file_path": f"{PROJECT}/{path}", **asked}, "\n".join(f"{at:>6}→{line}" for at, line in shown))

    def edits(self, thing: str) -> None:
        path = f"src/{thing}s/{thing}.ts"
        self._touches(path)
        lines = self.files[path]
        at = self.dice.choice([at for at, line in enumerate(lines) if line.startswith("  if (!found)")])
        old = lines[at]
        new = old.replace("if (!found)", "if (!found || isExpired(found, now))")
        lines[at] = new
        change = {"file_path": f"{PROJECT}/{path}", "old_string": old, "new_string": new}
        self.calls_tool("Edit", change, f"The file {PROJECT}/{path} has been updated successfully.")

    def searches(self, word: str, says: str) -> None:
        hits = [f"{path}:{at}:{line}" for path, lines in self.files.items() for at, line in enumerate(lines, 1) if word in line]
        self.calls_tool("Bash", {"command": f"grep -rn {word} src | head -40"}, "\n".join(hits[:40]), says=says)

    def tests(self, thing: str, fails: bool = False) -> None:
        lines = ["> shop@4.2.0 test", f"> vitest run src/{thing}s", ""]
        for verb in VERBS:
            if fails and verb == "expire":
                lines += [f" × src/{thing}s/{thing}.test.ts > {verb} > refuses an expired {thing}",
                          "   AssertionError: expected 200 to be 410",
                          f"     at src/{thing}s/{thing}.test.ts:{40 + len(thing)}:23"]  # fmt: skip
            else:
                lines.append(f" ✓ src/{thing}s/{thing}.test.ts > {verb} > works for a {thing} of each region {self.dice.randint(2, 90)}ms")
        lines += ["", f" Tests  {'1 failed | ' if fails else ''}{len(VERBS) - fails} passed ({len(VERBS)})"]
        text = ("Exit code 1\n" if fails else "") + "\n".join(lines)
        self.calls_tool("Bash", {"command": f"npm test -- src/{thing}s"}, text, failed=fails)

    def compares(self, changes: Sequence[str]) -> None:
        lines: list[str] = []
        for thing in changes:
            lines += [f"diff --git a/src/{thing}s/{thing}.ts b/src/{thing}s/{thing}.ts", "@@ guards @@"]
            lines += [sign + line for line in self.files[f"src/{thing}s/{thing}.ts"] if "isExpired" in line for sign in "-+"]
        self.calls_tool("Bash", {"command": "git diff"}, "\n".join(lines))

    def builds(self) -> None:
        steps = "".join(f"\r[{'=' * (at // 4):<25}] {at:>3} % transforming module {at * 3}" for at in range(0, 101, 4))
        sizes = "\n".join(
            f"dist/assets/{thing}-{len(thing) * 7919 % 9973:04x}.js   {len(self.files[f'src/{thing}s/{thing}.ts'])} lines"
            for thing in THINGS
        )
        self.calls_tool("Bash", {"command": "npm run build"}, f"> shop@4.2.0 build\n> vite build\n{steps}\n{sizes}\nbuilt in 4.1 s")

    def commits(self, what: str) -> None:
        done = f"[main {self.calls:07x}] {what}\n 2 files changed, 14 insertions(+), 3 deletions(-)"
        self.calls_tool("Bash", {"command": f"git commit -qam '{what}'"}, done)

    def task(self, prompt: str, looks_at: Sequence[str], changes: Sequence[str], word: str, done: str) -> None:
        """Look for a word, read files, change some, test until it passes, look at the change, commit."""
        self.says(prompt)
        named = ", ".join(f"src/{thing}s/{thing}.ts" for thing in looks_at)
        self.searches(word, PLAN.format(word=word, named=named, first=changes[0]))
        for thing in looks_at:
            self.reads(thing)
        for thing in changes:
            self.edits(thing)
        first = changes[0]
        self.tests(first, fails=True)
        self.reads(first, 20, 30)
        self.edits(first)
        self.tests(first)
        self.compares(changes)
        self.commits(done)
        self.ends(REPORT.format(done=done, changed=" and ".join(changes), first=changes[0], rest=", ".join(looks_at[len(changes) :])))


PLAN = (
    "I begin with what reads {word}, because whatever writes has to ask the same question that these places answer, and then look at "
    "{named}. Each of these modules has a guard at the head of every writer, where a record that is not found is refused. That is the "
    "right place: what has expired should look to a caller as if it were not there, so that no page has to learn a new error. I leave "
    "the readers alone, as people still want to see an old {first} in their account, and change one writer first to see its test fail "
    "in the way I expect."
)
REPORT = (
    "{done}. The writers of {changed} now ask isExpired(found, now) in their guard, with the time that the caller hands in, so that a "
    "test can choose it. The test of {first} failed first, with 200 where 410 was expected, because the second writer had been "
    "forgotten; it passes now, and so do the others of that folder. I looked at {rest} as well: they only pass the record on and need "
    "no change. Two things that I left as they are: validTo is compared in UTC, which for a shop in another region means up to some "
    "hours of grace, and a record without a validTo never expires. Say so if either is wrong."
)
PROMPTS = (
    "Vouchers must not work after their validTo. Please fix that, with a test.",
    "The same for coupons and gifts. A gift has no validTo if it was bought by an employee, leave those alone.",
    "An order that was placed before must keep its voucher, whatever happens to it later.",
    "Back from the meeting. Refunds should give the voucher back, unless it has expired meanwhile.",
    "And invoices should show it, in a line of its own above the tax.",
    "Now the export for the accountants: leave expired vouchers out.",
)


def summary(day: Afternoon) -> str:
    """What the host's model would write of the conversation."""
    parts = ["This session is being continued from a previous conversation that ran out of context.", "", "1. Primary request:"]
    parts += [f"   - {prompt}" for prompt in PROMPTS[:5]]
    parts += ["", "2. Files and code:"]
    for path, lines in day.files.items():
        guarded = [line.strip() for line in lines if "isExpired" in line]
        if guarded:
            exported = [line.split("(")[0].removeprefix("export async function ") for line in lines if line.startswith("export async")]
            parts += [f"   - {path} (changed): {', '.join(exported)}", *[f"       {line}" for line in guarded]]
    parts += ["", "3. Errors and fixes: the tests of each module failed once, because only one of its writers was guarded; both are now."]
    return "\n".join([*parts, "", "4. Next: the export for the accountants."])


def lines() -> list[str]:
    """The lines of the transcript."""
    day = Afternoon()
    day.task(PROMPTS[0], ["voucher", "basket", "price"], ["voucher", "basket"], "validTo", "Refuse expired vouchers")
    day.task(PROMPTS[1], ["coupon", "gift", "catalog", "voucher"], ["coupon", "gift"], "validFrom", "Refuse expired coupons and gifts")
    day.task(PROMPTS[2], ["order", "payment", "delivery", "address"], ["order", "payment"], "merge", "Placed orders keep their vouchers")
    day.builds()
    day.ends("The build passes, too.")
    day.waits(MEETING_S)
    day.task(PROMPTS[3], ["refund", "return", "stock", "customer"], ["refund", "return"], "cancel", "Refunds give vouchers back")
    day.task(PROMPTS[4], ["invoice", "tax", "shipment"], ["invoice", "tax"], "round", "Invoices show vouchers")
    day.builds()
    day.ends("Built, and the invoices of the last month look right.")
    day.compacts(summary(day))
    day.task(PROMPTS[5], ["supplier", "review", "search", "invoice"], ["supplier"], "export", "The export leaves expired vouchers out")
    return day.lines


def main() -> int:
    SAMPLE.write_bytes(bz2.compress(("\n".join(lines()) + "\n").encode()))
    print(f"{len(lines())} lines, {SAMPLE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
