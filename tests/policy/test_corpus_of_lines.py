"""A corpus of command lines, with what is read of each: `goldens/lines.txt`.

A line stands behind `$ `, with ↵ for its line breaks. Below it: what it does, when that ran (1: if the line succeeded, 2: perhaps), its
name; how long its output lives, and what its commands print, with the most lines; the line with its secrets masked, where it has any. A
line that is added needs no more than its `$ `: `--update-goldens` writes the rest, for a person to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.commandline import bash, printed
from popkit_retention.core.policy.masking import mask, without_numbers
from popkit_retention.core.policy.ruleset import Ruleset

RULES = Ruleset.from_config({}, TOOLS)
CORPUS = Path(__file__).with_name("goldens") / "lines.txt"
PROMPT, BREAK = "$ ", "↵"


def corpus() -> list[str]:
    rows = CORPUS.read_text(encoding="utf-8").split("\n")
    return [row[len(PROMPT) :].replace(BREAK, "\n") for row in rows if row.startswith(PROMPT)]


def told(line: str) -> Iterator[str]:
    yield PROMPT + line
    actions = bash.actions(line, "/w")
    for action in actions:
        key, scope = action.part
        ran = f" {action.ran}" if action.ran else ""
        also = [f"{name}={value}" for name in ("commits", "changes", "move") if (value := getattr(action, name))]
        name = [] if action.name == line or action.name in key else [f"“{action.name}”"]
        yield "  " + " | ".join([f"{action.family or action.kind}{ran}", key, *map(str, scope), *also, *name])
    leading, tier = bash.longest_lived(actions, RULES)
    as_what = f" as “{leading.name}”" if len({action.name for action in actions}) > 1 else ""
    yield f"  lives {tier}{as_what}, prints {'; '.join(map(_printed, printed.steps(line))) or 'nothing'}"
    masked = mask(line, tell_apart=True)
    if masked != line:
        yield "  masked " + masked


def _printed(step: printed.Step) -> str:
    most = [] if step.most is None else [str(step.most)]
    said = [] if step.text is None else [repr(step.text)]
    return " ".join([step.kind, *most, *said, *(["numbered"] if step.numbered else [])])


def test_a_line_is_read_as_the_corpus_says(golden) -> None:
    rows = [row.replace("\n", BREAK) for line in corpus() for row in told(line)]
    golden(CORPUS, "".join(f"{row}\n" for row in rows))


def test_a_masked_line_without_its_numbers_is_the_line_masked() -> None:
    for line in corpus():
        assert without_numbers(mask(line, tell_apart=True)) == mask(line)


def test_a_line_in_the_corpus_stands_there_once() -> None:
    assert len(corpus()) == len(set(corpus()))
