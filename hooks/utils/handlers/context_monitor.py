"""Answer /popkit:context (UserPromptSubmit), and announce each threshold once as the context fills up (Stop)."""

from __future__ import annotations

from .. import retention_tracker
from ..hosts import COMMAND, IN_CLIENT, protocol
from ..hosts.transcripts import usage
from ..io import files
from ..io.codec import text_in_field
from ..io.system import now as time_of_day
from ..state import store, watched_files
from ..state.opening import REBUILD_BYTES
from ..state.site import Site, site_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypedDict

    from ..policy.ruleset import Ruleset
    from ..views.shapes import Report

    class Retention(TypedDict):
        expired_count: int
        reclaimable_tokens: int
        suggestion: str  # what to do, "" for nothing

    class ThresholdCheck(TypedDict, total=False):
        tokens: int
        window: int
        window_source: str
        usage_ratio: float
        level: str | None  # None below the first
        retention: Retention  # where a level is passed for the first time


def handle(payload: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the answer to our command, or a message when a threshold is passed, or nothing."""
    site = site_of(payload, environ)
    if site is None:
        return _held(payload, environ)
    now = time_of_day(environ)
    transcript_path = text_in_field(payload, "transcript_path")
    if payload.get("hook_event_name") == "UserPromptSubmit":
        prompt = text_in_field(payload, "prompt")
        words = command_words(prompt)
        if words is not None:
            return _answer(words, site, transcript_path, now)
        _on_prompt(site, transcript_path, now, typed=not prompt.startswith("<task-notification>"))
    checked = check_thresholds(site, transcript_path, now)
    if checked["tokens"] < (site.session.get("largest_tokens") or 0) and "clear_tool_uses" in environ.get("CLAUDE_CODE_EXTRA_BODY", ""):
        from ..state import reconciling

        reconciling.rebuild_if_small(site, site.paths(), transcript_path)  # the provider may have left results out
    message = _news(site, checked)
    return {"systemMessage": message} if message else None


def _held(payload: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the answer to our command in a session of which nothing may be kept."""
    session_id = text_in_field(payload, "session_id")
    if not session_id or payload.get("hook_event_name") != "UserPromptSubmit" or command_words(text_in_field(payload, "prompt")) is None:
        return None
    site = Site(environ, session_id, text_in_field(payload, "cwd"))
    return _blocked("PopKit: " + site.rules_in_words()) if site.stands_still else None


def command_words(prompt: str) -> str | None:
    """Return the words after /popkit:context; None when the prompt is something else."""
    head, _, words = prompt.strip().partition(" ")
    return words.strip() if head == COMMAND else None


def _answer(words: str, site: Site, transcript_path: str, now: float) -> dict[str, Any]:
    from ..operations.context_words import answer

    files.patience.left_s = float("inf")  # a person has asked for it, and waits as for a command
    _notice_changes(site, transcript_path, now)
    return _blocked(answer(words, site, transcript_path, now))


def _blocked(shown: str) -> dict[str, Any]:
    """Return the answer of a prompt that goes no further."""
    return {
        "decision": "block",
        "reason": shown,
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True},
    }


def _notice_changes(site: Site, transcript_path: str, now: float) -> None:
    """Expire what was read of files that have changed, before the answer calls it live; tool calls look only at some of the files."""
    paths = site.paths()
    if watched_files.file_stamp(paths.state):
        try:
            retention_tracker.change(
                site, paths, transcript_path, lambda stored, rules: bool(retention_tracker.notice_changes(paths, stored, rules, now))
            )
        except OSError:
            return  # the next call or prompt notices them


def _on_prompt(site: Site, transcript_path: str, now: float, typed: bool) -> None:
    """Begin a new turn (unless the host speaks for a background task), and notice files that have changed since the last one."""
    paths = site.paths()
    if site.session.get("compacted"):
        from ..state import reconciling

        if reconciling.rebuild_if_small(site, paths, transcript_path):
            site.remember(compacted=None)  # the transcript tells which results the host carried over; no event did

    def observe(stored: store.StoredState, rules: Ruleset) -> None:
        retention_tracker.begin_turn(paths, stored, rules, now, typed)

    try:
        retention_tracker.change(site, paths, transcript_path, observe)
    except files.LockTimeout:
        from ..state import pending

        pending.note(paths, prompted=now if typed else 0.0)
    if watched_files.file_stamp(paths.unarchived):
        from ..reclaim import compaction_advice

        compaction_advice.catch_up(site, transcript_path)


def check_thresholds(site: Site, transcript_path: str, now: float, model: str | None = None) -> ThresholdCheck:
    """Return how full the context is and which threshold that passes."""
    newest = usage.newest_usage(transcript_path)
    known = model or site.session.get("model") or (newest.model if newest else "")
    told = protocol.of(site.session_id).compaction_told(site.environ, site.session_project, known)
    if told != site.session.get("compaction"):
        site.remember(compaction=told)
    tokens = newest.tokens if newest else 0
    largest = max(tokens, site.session.get("largest_tokens") or 0)
    rules = site.rules()
    facts = {**site.session, "model": model} if model else site.session
    window, source = usage.window_of(rules, facts, newest or usage.Usage())
    ratio = tokens / window
    passed = [level for level in LEVELS if ratio >= rules.thresholds[level]]
    result: ThresholdCheck = {
        "tokens": tokens,
        "window": window,
        "window_source": source,
        "usage_ratio": ratio,
        "level": passed[-1] if passed else None,
    }
    if largest != site.session.get("largest_tokens"):
        site.remember(largest_tokens=largest)
    if passed and site.session.get("told") != passed[-1]:
        result["retention"] = _retention(site, transcript_path, now)
    return result


def _retention(site: Site, transcript_path: str, now: float) -> Retention:
    """Return the panel's verdict if the transcript is small enough for a hook, else the expired results that the hooks have seen."""
    import os

    try:
        if os.path.getsize(transcript_path) <= REBUILD_BYTES:
            from ..reclaim import outlook
            from ..views import report

            current = report.build(outlook.look(site, transcript_path, now))
            return {
                "expired_count": current["expired"]["items"],
                "reclaimable_tokens": current["reclaimable"]["now"]["tokens"],
                "suggestion": _advice(current, site.rules().thresholds["critical"]),
            }
    except (OSError, ValueError):
        pass  # no transcript (yet), or one that cannot be read
    from ..state import stored_contexts

    known = stored_contexts.stored_state(site.paths())
    expired = stored_contexts.expired_of(site.paths(), known) if known else {"items": 0, "tokens": 0}
    many = "1 expired result holds" if expired["items"] == 1 else f"{expired['items']:,} expired results hold"
    words = f"{many} ~{expired['tokens']:,} tokens. To see what a clear would take: {_called(site)}"
    return {"expired_count": expired["items"], "reclaimable_tokens": 0, "suggestion": words if expired["items"] else ""}


def _advice(current: Report, critical: float) -> str:
    """Return the advice of a report; "" where there is nothing to do, or only to wait while there is room."""
    from ..views import verdicts

    kind, context = current["verdict"]["kind"], current["context"]
    has_room = context is not None and context["ratio"] < critical
    return "" if kind == "nothing" or (kind == "wait" and has_room) else verdicts.notice(current)


def _called(site: Site) -> str:
    """Return how the person calls us: by the shorter name where code of ours inside the client answers to it."""
    from ..state import sockets

    return IN_CLIENT if sockets.of_session(site.lasting_home, site.session_id) else COMMAND


def _short(tokens: int) -> str:
    """Return 176k or 1M: Claude Code puts its own name before a message, so little fits behind it."""
    return f"{tokens / 1_000_000:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"


def _news(site: Site, checked: ThresholdCheck) -> str | None:
    """Return the messages of a level above the one passed last, a line or more each; None for none. Keep the level, and forget it as the
    context shrinks."""
    before, level = site.session.get("told"), checked["level"]
    if level == before:
        return None
    site.remember(told=level)
    if level is None or (before in LEVELS and LEVELS.index(level) < LEVELS.index(before)):
        return None
    messages = [action(site, checked) for action in ACTIONS[level]]
    return "\n".join(filter(None, messages)) or None


def _announcement(site: Site, checked: ThresholdCheck) -> str | None:
    """Return how full the context is, and what to do about it; None where there is nothing to do."""
    suggestion = checked["retention"]["suggestion"]
    if not suggestion:
        return None
    from ..units import percent
    from ..views.phrases import of_window

    of_which = of_window(_short(checked["tokens"]), _short(checked["window"]), checked["window_source"])
    full = f"PopKit: the context is {percent(checked['usage_ratio'])} full ({of_which})."
    return f"{full}\n{suggestion}" + ("" if "/" in suggestion else f" ({_called(site)} clear)")


# What is done as each level is passed for the first time, by what `check_thresholds` found; an action returns its message, None for none.
ACTIONS: dict[str, tuple[Callable[[Site, ThresholdCheck], str | None], ...]] = {
    "notice": (_announcement,),
    "warning": (_announcement,),
    "critical": (_announcement,),
    "emergency": (_announcement,),
}
LEVELS = tuple(ACTIONS)
