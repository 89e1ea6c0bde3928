"""Handle a prompt of the person's, which may be /popkit:context, and the end of a turn."""

from __future__ import annotations

from .. import retention_tracker
from ..hosts import COMMAND
from ..io import files
from ..io.codec import text_in_field
from ..io.system import now as time_of_day
from ..state import store, watched_files
from ..state.site import Site, site_of
from . import thresholds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..policy.ruleset import Ruleset


def handle(payload: dict[str, object], environ: Mapping[str, str]) -> dict[str, object] | None:
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
    checked = thresholds.check_thresholds(site, transcript_path, now)
    if checked["tokens"] < (site.session.largest_tokens or 0) and "clear_tool_uses" in environ.get("CLAUDE_CODE_EXTRA_BODY", ""):
        from ..state import reconciling

        reconciling.rebuild_if_small(site, site.paths(), transcript_path)  # the provider may have left results out
    message = thresholds.news(site, checked)
    return {"systemMessage": message} if message else None


def _held(payload: dict[str, object], environ: Mapping[str, str]) -> dict[str, object] | None:
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


def _answer(words: str, site: Site, transcript_path: str, now: float) -> dict[str, object]:
    from ..operations.context_words import answer

    files.patience.left_s = float("inf")  # a person has asked for it, and waits as for a command
    _notice_changes(site, transcript_path, now)
    return _blocked(answer(words, site, transcript_path, now))


def _blocked(shown: str) -> dict[str, object]:
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
    if site.session.compacted:
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
