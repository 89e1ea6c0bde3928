"""The text on how long the prompt cache should live. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text, units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import Lifetime

_LIVES = {"5m": "five minutes", "1h": "an hour"}
_PAYS = {"5m": "Five minutes pay", "1h": "An hour pays"}
# of whom -> (in words, the setting of Claude Code, the variable that has it, too)
_CHOSEN = {
    "main": ("your sessions", "promptCacheTtl", "CLAUDE_CODE_PROMPT_CACHE_TTL"),
    "subagents": ("subagents", "subagentPromptCacheTtl", "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL"),
}
_OLDER = {"5m": "FORCE_PROMPT_CACHING_5M=1", "1h": "ENABLE_PROMPT_CACHING_1H=1"}


def lifetime_lines(lifetime: dict[str, Lifetime | None]) -> list[text.Line]:
    """Return the lines on how long the prompt cache should live, with the setting to use; [] where no request tells. Nothing is set
    here."""
    told, changes = _told(lifetime), _lifetime_changes(lifetime)
    if not told:
        return []
    lines = text.title("How long the prompt cache lives")
    for whose, one in told.items():
        lines += text.wrap(_lifetime_words(whose, one))
    if not changes:
        return lines
    lines += ["", *text.wrap("To set it, in ~/.claude/settings.json, or for this project in .claude/settings.local.json:")]
    lines += [text.whole("  " + _lifetime_setting(whose, pays)) for whose, pays in changes.items()]
    lines += text.wrap("Or in a shell, before Claude Code starts:")
    lines += [text.whole(f"  export {_CHOSEN[whose][2]}={pays}") for whose, pays in changes.items()]
    older = " or ".join(dict.fromkeys(_OLDER[pays] for pays in changes.values()))
    note = f"PopKit does not set it. Versions of Claude Code that do not know these may know {older}, for sessions and subagents together."
    return [*lines, *text.wrap(note)]


def lifetime_phrases(lifetime: dict[str, Lifetime | None]) -> dict[str, list[str]]:
    """Return the same in sentences (`lifetime`), with the settings to use (`lifetime_settings`)."""
    return {
        "lifetime": [_lifetime_words(whose, one) for whose, one in _told(lifetime).items()],
        "lifetime_settings": [_lifetime_setting(whose, pays) for whose, pays in _lifetime_changes(lifetime).items()],
    }


def _told(lifetime: dict[str, Lifetime | None]) -> dict[str, Lifetime]:
    return {whose: one for whose, one in lifetime.items() if one is not None}


def _lifetime_changes(lifetime: dict[str, Lifetime | None]) -> dict[str, str]:
    """Return whose -> the lifetime that pays and that they do not have."""
    return {whose: one["pays"] for whose, one in _told(lifetime).items() if one["pays"] not in ("", one["has"])}


def _lifetime_setting(prompts: str, pays: str) -> str:
    return f'"{_CHOSEN[prompts][1]}": "{pays}"'


def _lifetime_words(prompts: str, choice: Lifetime) -> str:
    """Return which lifetime pays, and by how much."""
    who, pauses = _CHOSEN[prompts][0], units.counted(choice["pauses"], "pause")
    if not choice["pays"]:
        return f"For {who} it does not matter whether it lives five minutes or an hour: the two differ by less than 1%."
    other = "5m" if choice["pays"] == "1h" else "1h"
    share = units.percent(choice["share"])
    usd = f", ${choice['usd_per_month']:,.2f} a month" if choice["usd_per_month"] is not None else ""
    has = " You have that." if choice["has"] == choice["pays"] else f" Now it lives {_LIVES[choice['has']]}." if choice["has"] else ""
    return (
        f"{_PAYS[choice['pays']]} for {who}: {share} less than with {_LIVES[other]}{usd} ({units.counted(choice['requests'], 'request')},"
        f" {pauses} between five minutes and an hour).{has}"
    )
