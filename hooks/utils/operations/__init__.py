"""The operations that a person asks for, in any skin.

The operations of /popkit:context, which are those of `popkit context`, too, are in this table.
"""

from __future__ import annotations

from .. import argument_types
from ..argument_types import FILE, WHEN, choice, whole
from ..operation_tables import CHANGES, DESTROYS, Flag, Operation, Table
from ..policy.ruleset import DEFAULT, PROFILES, TIERS

_LONGEST_ID = 200  # of an agent
_ALL = Flag("--all", "leave nothing out of long lists")
RESTORE = Operation(
    "restore [ID|HANDLE|PATH…]",
    "show what was cleared, or put it back",
    Flag("--since TIME", "everything that was cleared since then: 2h, 3d, or 2026-02-21", WHEN),
    Flag("--in-place", "put it back in its place in the conversation"),
    Flag("--raw", "byte for byte, including control characters: for a file or a program", shell_only=True),
    effect=DESTROYS,
    agent=("handle", argument_types.text(1, _LONGEST_ID)),
    offered=True,
    does=f"{__name__}.reclaiming:restore",
)
CONTEXT = Table(
    "popkit context",
    "what a session's context holds, by lifetime, and what to do about it",
    Operation(
        "retention",
        "what the context holds, by tier, and what to do now",
        Flag("--aggressive", "halve the lifetimes for this session"),
        Flag("--conservative", "double the lifetimes for this session"),
        Flag("--profile NAME", f"use this profile for this session ({DEFAULT}: the configured one)", choice(*PROFILES, DEFAULT)),
        Flag("--details", "also list every result, file and subagent"),
        _ALL,
        effect=CHANGES,
        implied=True,
        does="retention",
    ),
    Operation(
        "timeline",
        "a bar for each call: how long its result lived",
        Flag("--last N", "only the newest N calls", whole(), default=40),
        _ALL,
        does="timeline",
    ),
    Operation(
        "why [ID]",
        "why a result stays, and what will end its life; without ID, what left the context and why, and what a compaction lost",
        Flag("--all", "also list each result of earlier compactions and clears, and all rows of what compactions lost"),
        does="why",
    ),
    Operation("pin ID|PATH…", "keep a result, or everything of a path: it never expires", effect=CHANGES, offered=True, does="pin"),
    Operation("unpin ID|PATH…", "release what you pinned", effect=CHANGES, offered=True, does="unpin"),
    Operation(
        "stats",
        "what PopKit has saved: recently and since it was installed, in tokens and money",
        Flag("--details", "also by tier and by cause, and each context"),
        Flag("--card FILE", "write the savings to a card that you can share: FILE.svg or FILE.md", FILE, shell_only=True),
        more="Its own cost is subtracted.",
        does="stats",
    ),
    Operation(
        "clear [ID|PATH]",
        "remove what is no longer needed from the context, when that pays off",
        Flag("--tier T", "clear this tier, even its live results", choice(*TIERS)),
        Flag("--id ID", "clear these results, even live ones: T12,T15"),
        Flag("--now", "also clear expired results that are held back, and live ones that wait for a cold cache"),
        Flag("--dry-run", "only show what would be cleared, and whether that pays off"),
        _ALL,
        effect=DESTROYS,
        offered=True,
        more="A session that does not run is cleared when it is resumed. Results that are pinned, referred to, hardly longer than their"
        " placeholder, or the last word on a run stay, even with --now.",
        does=f"{__name__}.reclaiming:clear",
    ),
    Operation("undo", "take back the last clear", effect=DESTROYS, offered=True, does=f"{__name__}.reclaiming:undo"),
    RESTORE,
    Operation(
        "auto [on|off|show]",
        "let PopKit clear what is needed least by itself, once the prompt cache is cold and that pays",
        effect=CHANGES,
        offered=True,
        more="What leaves comes back with undo, and no model is called. It holds for every session.",
        does="auto",
    ),
    Operation(
        "memory [on|off|WORD…]",
        "what sessions of this project teach future ones: on, off, or a word of popkit memory",
        raw=True,
        does="memory",
    ),
    common=(
        Flag("--session ID", "ask about this session (its id, or the beginning of it)", shell_only=True),
        Flag("--transcript FILE", "read this transcript file", FILE, shell_only=True),
        Flag("--json", "the answer as JSON"),
    ),
    examples={"ID": "T12", "ID|PATH": "T12"},
    notes={
        "": "Without --session or --transcript, the session is the newest of this folder's project.",
        "ID": "ID is T12 or 12, as the panel and the timeline show it, or a tool_use id, or a unique part of one."
        " PATH may contain * and **.",
        "HANDLE": "HANDLE is in the placeholder of a cleared result.",
    },
    renamed={"cold": "auto"},
    module=f"{__name__}.context_words",
)
# Commands of `popkit` that a session answers, too, each with what it shows.
OF_SHELL = {
    "bill": "what each prompt contains before your first word, and what could be removed",
    "bill limits": "how full the windows of your plan are, and what used them",
    "bill misses": "what the prompt cache lost, why, and what that cost",
    "budget": "limits per session and per month, and how much of them is used",
    "try": "what PopKit would have done in your sessions",
    "doctor": "whether everything is in place and works",
}
