"""Random histories of a context, as hypothesis strategies: realistic ones, and ones in which nothing is as it should be.

A history is a list of events. Calls have the ids T1, T2, …; what is pinned, cleared or kept is named so too, and may not exist.
"""

from __future__ import annotations

from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import engine, events
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.ruleset import Ruleset
from tests.policy.scenario import SHIPPED, UNCHANGED

FILES = ("a.py", "src/b.py", "README.md", "c.test.ts", "STATUS.json")
LINES = """rg login | rg login src | grep -rn login . | find . -name '*.py' | ls src | cat a.py | cat a.py src/b.py
    | sed -n '1,20p' src/b.py
    | head -5 README.md | cat STATUS.json | npm t | npm test | npm run test -- --silent | cd web && npm test | pytest | pytest tests/a.py
    | pytest tests/b.py -k x | cat a.py; npm test | npx tsc --noEmit | mkdir x | git add . && git push | git status | git status
    | git diff | git diff src/b.py | git diff --cached | git log -3 | git checkout main | git status && npm test | python main.py
    | bash -lc 'pytest -q' | rg login && cat a.py | for f in *.py; do cat $f; done | echo done"""
LINES = [" ".join(line.split()) for line in LINES.split(" | ")]
PINS = ("*.py", "src/", "README.md", "c.test.ts")
EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
OTHER_TOOLS = ("TodoWrite", "TaskList", "AskUserQuestion", "ExitPlanMode", "WebFetch", "mcp__db__get")
PROFILES = ("aggressive", "spec", "conservative")
# Lines of a file, None for all of it.
LIMITS = (None, (1, 20), (10, 20), (1, 100), (50, 100))
# None is a text that comes but once.
TEXTS = (None, None, "1 passing")


def _numbered(text: str, limits) -> str:
    first, count = limits or (1, 30)
    return "\n".join(f"{first + n}\t{text} {n}" for n in range(count))


def _call(tool, tool_input, text=None, committed=None, limits=None):
    """A step that makes a call; it fails and takes its time as the step is told to."""

    def make(context, seconds, turn, fails):
        output = f"what call {context.calls + 1} said" if text is None else text
        if fails:
            outcome = outcomes.outcome_of_error("Exit code 1" + ("\n" + output if fails == "loudly" else "") if tool == "Bash" else output)
        else:
            outcome = outcomes.outcome_of_text(
                TOOLS.of(tool), tool_input, _numbered(output, limits) if tool == "Read" and output != UNCHANGED else output
            )
        return context.call(seconds, tool, tool_input, outcome, turn, committed)

    return make


def _asked(file, limits):
    return {"file_path": file, **({"offset": limits[0], "limit": limits[1]} if limits else {})}


CALLS = [
    *[_call("Read", _asked(file, limits), text, limits=limits) for file in FILES for limits in LIMITS for text in TEXTS],
    *[_call("Read", {"file_path": file}, UNCHANGED) for file in FILES],
    *[_call("Bash", {"command": line}, text) for line in LINES for text in TEXTS],
    *[_call(tool, {"notebook_path" if tool == "NotebookEdit" else "file_path": file}) for file in FILES for tool in EDIT_TOOLS],
    *[_call("Grep", {"pattern": pattern, "path": path}) for pattern in ("login", "TODO") for path in ("", "src") for _ in range(4)],
    *[
        _call("Bash", {"command": "git commit -m x"}, committed=files)
        for files in (None, None, [], ["/p/a.py"], ["/p/src/b.py", "/p/README.md"])
    ],
    *[_call(tool, {"n": n}) for tool in OTHER_TOOLS for n in range(3)],
]


def _now(make_event):
    return lambda context, seconds, turn, fails: make_event(context.later(seconds))


def _about(make_event):
    """A step about one of the newest calls."""
    return [lambda context, *_, back=back: make_event(f"T{max(1, context.calls - back)}", context.at) for back in range(14)]


PINNED = [*_about(events.Pinned), *_about(events.Pinned), *[_now(lambda at, pin=pin: events.Pinned(pin, at)) for pin in PINS]]
UNPINNED = [*_about(events.Unpinned), *[_now(lambda at, pin=pin: events.Unpinned(pin, at)) for pin in PINS]]
REST = [
    *[_now(events.Tick), _now(lambda at: events.Tick(at + 400)), _now(events.Prompted), _now(events.SessionEnded)],
    *[_now(lambda at: events.ClientEnded(at, "other")), _now(events.Resumed)],
    *[_now(lambda at, file=file: events.FilesChanged({"/p/" + file: "modified"}, at)) for file in FILES],
    *_about(lambda newest, at: events.ManualClear([newest, "T2"], at)),
    *_about(lambda newest, at: events.Compacted(at, (newest, "T3")))[:4],
]
CHOSEN = [_now(lambda at, profile=profile: events.ProfileChosen(profile, at)) for profile in PROFILES]


class _Maker:
    """Numbers the calls of a history and lets its time pass."""

    def __init__(self):
        self.calls = 0
        self.at = 1_000_000.0

    def later(self, seconds):
        self.at += seconds
        return self.at

    def call(self, seconds, tool, tool_input, outcome, turn, committed):
        self.calls += 1
        return events.Call(f"T{self.calls}", TOOLS.of(tool), tool_input, outcome, self.later(seconds), "/p", turn, committed)


CONDITIONS = [
    (seconds, turn, fails)
    for seconds in (1, 0, 20, 160)
    for turn in ("turn 1", "turn 2", None)
    for fails in ("", "", "", "loudly", "", "", "", "without a word")
]


def _events_of(steps) -> list:
    context = _Maker()
    return [make(context, *conditions) for make, conditions in steps]


def histories(profiles: bool = True, longest: int = 40):
    """Histories of calls and, one step in three, of everything else; with changes of the profile or without."""
    steps = st.sampled_from([*CALLS, *PINNED, *PINNED, *UNPINNED, *REST, *(CHOSEN * 3 if profiles else ())])
    return st.lists(st.tuples(steps, st.sampled_from(CONDITIONS)), min_size=1, max_size=longest).map(_events_of)


class Walk:
    """A context that a history is fed to, event by event; every decision is remembered."""

    def __init__(self, profile: str | None = None):
        self.rules = Ruleset.from_config(SHIPPED, TOOLS, profile)
        self.state = ContextState("session")
        self.decisions: list = []
        engine.reindex(self.state, self.rules)

    def observe(self, event) -> list:
        if isinstance(event, events.ProfileChosen):
            self.rules = Ruleset.from_config(SHIPPED, TOOLS, event.profile)
        decisions = engine.observe(self.state, event, self.rules)
        self.decisions += decisions
        return decisions

    def all(self, history) -> Walk:
        for event in history:
            self.observe(event)
        return self


# Hostile ones.

_WORDS = (
    st.text(max_size=30)
    | st.text(st.characters(codec=None, categories=["Cs", "Cc", "Lo", "Po", "Sm"]), max_size=12)
    | st.sampled_from(LINES)
)
_IDS = _WORDS | st.sampled_from(["T1", "T2"])
_NUMBERS = st.integers(-(10**40), 10**40) | st.floats() | st.booleans()
_VALUES = st.recursive(
    st.none() | _NUMBERS | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=10,
)
_FIELDS = st.sampled_from(
    "file_path notebook_path path offset limit pattern glob type -i command description query url todos prompt edits".split()
)
_TOOLS = (
    st.sampled_from("Read Edit Write MultiEdit NotebookEdit Grep Glob LS Bash TodoWrite AskUserQuestion WebFetch mcp__x__y".split())
    | _WORDS
)
_OUTCOMES = st.builds(
    lambda text, fails, tool: outcomes.outcome_of_error(text) if fails else outcomes.outcome_of_text(TOOLS.of(tool), {}, text),
    _WORDS | st.just(UNCHANGED) | st.integers(0, 10**6).map("Exit code {}\nno".format),
    st.booleans(),
    st.sampled_from(["Bash", "Other"]),
)
_AT = st.floats(0, 4e9) | st.integers(0, 2**62)
HOSTILE_CALLS = st.builds(
    events.Call, _IDS, _TOOLS.map(TOOLS.of), st.dictionaries(_FIELDS | _WORDS, _VALUES, max_size=5), _OUTCOMES, _AT, _WORDS,
    st.none() | _WORDS, st.none() | st.lists(_WORDS, max_size=3),
)  # fmt: skip
HOSTILE = st.one_of(
    HOSTILE_CALLS,
    HOSTILE_CALLS,
    HOSTILE_CALLS,
    st.builds(events.Pinned, _IDS, _AT),
    st.builds(events.Unpinned, _IDS, _AT),
    st.builds(events.FilesChanged, st.dictionaries(_WORDS, _WORDS, max_size=3), _AT),
    st.builds(events.ManualClear, st.lists(_IDS, max_size=3), _AT),
    st.builds(events.Compacted, _AT, st.lists(_IDS, max_size=3)),
    st.builds(events.ClientEnded, _AT, _WORDS),
    st.builds(events.Resumed, _AT),
    st.builds(events.SessionEnded, _AT),
    st.builds(events.ProfileChosen, _WORDS, _AT),
    st.builds(events.Tick, _AT),
    st.builds(events.Prompted, _AT),
)
