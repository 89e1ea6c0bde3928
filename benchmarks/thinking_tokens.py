"""How many tokens a block of thinking is, told from its signature and from its text.

    python benchmarks/thinking_tokens.py --transcripts FOLDER

For each model, over the messages that thought: output_tokens = constant + thinking / a + everything else / b, by least squares, all in
characters. Thinking is taken from the signature (3/4 of what it has beyond SEAL_CHARS: base64 of the sealed text), and then from the text
that the transcript shows. The share of the variance that each explains (r2) says which of the two to trust. Below it, where signatures
hold the shown text itself, the length of a signature by that of its text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from popkit_retention.core.hosts.transcripts import entries

SEAL_CHARS = 235
FEWEST = 50
# Older hosts wrote a placeholder where the output was not counted yet: so many characters are never one token.
MOST_CHARS_PER_TOKEN = 6


class Message:
    """Characters of what a message holds, and the output tokens that its usage tells."""

    def __init__(self) -> None:
        self.sealed = 0.0
        self.shown = self.other = self.tokens = 0
        self.pairs: list = []  # (characters of a text, of its signature)

    def add(self, entry: dict) -> None:
        usage = entry["message"].get("usage") or {}
        self.tokens = max(self.tokens, usage.get("output_tokens") or 0)
        for block in entries.blocks_of(entry):
            if block["type"] == "thinking":
                self.sealed += max(0, len(block["signature"]) - SEAL_CHARS) * 3 / 4
                self.shown += len(block["thinking"])
                self.pairs.append((len(block["thinking"].encode("utf-8", "replace")), len(block["signature"])))
            elif block["type"] == "tool_use":
                self.other += len(json.dumps(block["input"], ensure_ascii=False)) + 60
            else:
                self.other += len(block.get("text") or "")


def messages_of(path: Path) -> dict:
    """(model, id) -> Message of those that thought."""
    messages: dict = defaultdict(Message)
    for entry in entries.read(str(path), path.stat().st_size):
        if entry.get("type") == "assistant" and isinstance(entry.get("message"), dict):
            messages[entry["message"].get("model"), entry["message"].get("id")].add(entry)
    return {key: one for key, one in messages.items() if one.pairs and one.tokens > one.other / MOST_CHARS_PER_TOKEN}


def least_squares(rows: list[tuple], values: list[float]) -> list[float]:
    """The weights of the columns that miss the values by least, by elimination."""
    size = len(rows[0])
    table = [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]
    for line, i in zip(table, range(size)):
        line.append(sum(row[i] * value for row, value in zip(rows, values)))
    for i in range(size):
        for other in range(size):
            if other != i:
                factor = table[other][i] / table[i][i]
                table[other] = [one - factor * two for one, two in zip(table[other], table[i])]
    return [table[i][size] / table[i][i] for i in range(size)]


def fitted(rows: list[tuple], values: list[float]) -> tuple:
    """(weights, share of the variance that they explain)."""
    weights = least_squares(rows, values)
    squares = sum((value - sum(one * two for one, two in zip(row, weights))) ** 2 for row, value in zip(rows, values))
    mean = statistics.mean(values)
    return weights, 1 - squares / sum((value - mean) ** 2 for value in values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    by_model: dict = defaultdict(list)
    for path in own_sessions.below(parser.parse_args().transcripts):
        for (model, _), message in messages_of(path).items():
            by_model[model].append(message)
    for model, messages in sorted(by_model.items()):
        if len(messages) < FEWEST:
            continue
        tokens = [one.tokens for one in messages]
        (_, sealed, _), by_seal = fitted([(1, one.sealed, one.other) for one in messages], tokens)
        print(f"{model}: {len(messages)} messages. Signature: {1 / sealed:.1f} characters a token, r2 {by_seal:.3f}", end="")
        (_, shown, _), by_text = fitted([(1, one.shown, one.other) for one in messages], tokens)
        print(f". Text: {1 / shown:.1f}, r2 {by_text:.3f}")
        pairs = [pair for one in messages for pair in one.pairs]
        (fixed, slope), exact = fitted([(1, text) for text, _ in pairs], [signature for _, signature in pairs])
        if exact > 0.99:
            print(f"    a signature is {fixed:.0f} characters and {slope:.2f} for each byte of its text, r2 {exact:.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
