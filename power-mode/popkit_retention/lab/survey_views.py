"""The text of a survey: its policies as tables. Data in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.policy.ruleset import AUTO_MISSES

from ..operations import many_sessions
from . import own_policies, replay_policies
from .survey import BOUND_REQUESTS, CHANGED, SHORT
from .survey_card import DIGEST_CHARS

_TTL_IN_WORDS = {"300": "5 minutes", "3600": "1 hour"}
_NAME = 22
_REASONS = 5  # at most, for each policy that failed


def lines_of(result: dict) -> list[text.Line]:
    """Return the survey as a table for each lifetime of the cache: what is installed first, then the cheapest policy."""
    repositories = "1 repository" if result["repositories"] == 1 else f"{result['repositories']:,} repositories"
    counts = [units.counted(result["sessions"], "session"), repositories]
    lines = text.title("Past sessions under each policy")
    lines.append(f"{', '.join(counts)}, {units.counted(result['requests'], 'request')}; {_volume(result)}")
    if result["sessions"]:
        lines += text.wrap(_prices(result))
    for ttl_s, scores in result["ttls"].items():
        lines += ["", *text.wrap(f"Prompt cache of {_TTL_IN_WORDS[ttl_s]}; cost and carried tokens against clearing nothing")]
        lines.append(_row(" ", "policy", ("cost", "carried", "misses/100", "dearer", "cleared")))
        for name, score in sorted(scores.items(), key=order):
            shares = (f"{score['dearer']:.1%}", f"{score['cleared_share']:.1%}")
            figures = (f"{score['cost']:.3f}", f"{score['carried']:.3f}", f"{score['misses_per_100']:.2f}", *shares)
            lines.append(_row("►" if name in replay_policies.INSTALLED else " ", text.clean(own_policies.shown(name)), figures))
        lines += _look_ups(scores, sum(row["requests"] >= BOUND_REQUESTS for row in result["rows"]))
    if result["ttls"]:
        missed = "misses/100: results needed again after they were cleared, or lost in a compaction, per 100 requests."
        lines += ["", *text.wrap(missed, indent="  ")]
        lines += text.wrap("dearer: sessions that cost more than without clearing. cleared: results that left.", indent="  ")
        lines += text.wrap("nothing: the session as it was, with the host's compactions and what these cost.", indent="  ")
        counted = "requests: of each session; popkit bill counts those in several sessions once, and none without usage."
        lines += text.wrap(counted, indent="  ")
    lines += _failed(result)
    lines += many_sessions.left_out_lines(result["skipped"], result["skipped_files"], (SHORT, CHANGED))
    if not result["skipped"] and not result["sessions"]:
        lines += ["", "No transcripts there: give files or folders of *.jsonl."]
    return lines + (_card(result["card"]) if result["sessions"] else [])


def _look_ups(scores: dict, long: int) -> list[text.Line]:
    """Return the look-ups that the installation costs, and how many of the `long` sessions have at most as many as it aims for."""
    installed = [name for name in replay_policies.INSTALLED if name in scores]
    if not installed:
        return []
    words = "Look-ups because of PopKit in 100 requests: " + ", ".join(
        f"{name} {scores[name]['look_ups_per_100']:.2f}" for name in installed
    )
    if long:
        within = text.enumerated([f"{scores[name]['within_bound']:.0%}" for name in installed])
        words += f". Of the sessions of {BOUND_REQUESTS} requests or more ({long:,}), {within} had at most {AUTO_MISSES}."
    return text.wrap(words, indent="  ")


def order(policy: tuple[str, dict]) -> tuple[int, float, str]:
    """Return the key by which tables sort policies with their figures: what is installed first, then the cheapest."""
    name, score = policy
    installed = replay_policies.INSTALLED
    return installed.index(name) if name in installed else len(installed), score["cost"], name


def _row(mark: str, name: str, figures: tuple[str, ...]) -> text.Line:
    """Return a policy with its figures beside it; below it where a terminal is too narrow for that."""

    def cells(widths: tuple[int, ...]) -> str:
        return "".join(f"{figure:>{width}}" for figure, width in zip(figures, widths))

    def lines(columns: int) -> list[str]:
        if columns >= text.WIDTH:
            return [f"{mark} {text.pad(name, _NAME)}{cells((7, 9, 12, 8, 9))}"]
        return [text.cut(f"{mark} {name}", columns), cells((6, 8, 11, 7, 8))]

    return lines


def _failed(result: dict) -> list[text.Line]:
    """Return how many sessions the user's own policies failed in, and why."""
    lines: list[text.Line] = []
    for name, reasons in result["failed"].items():
        sessions = units.counted(sum(reasons.values()), "session")
        message = f"{text.clean(own_policies.shown(name))} failed in {sessions}. It counts there as if it had cleared nothing:"
        lines += ["", *text.wrap(message)]
        for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_REASONS]:
            lines += text.wrap(f"  {count:>6,}  {text.clean(reason)}", indent=" " * 10)
        if len(reasons) > _REASONS:
            lines.append(f"          and {units.counted(len(reasons) - _REASONS, 'other reason')}; --json has all")
    return lines


def _card(card_: dict) -> list[text.Line]:
    """Return a card of the conditions under which another run gives the same figures."""
    parts = [f"popkit {card_['popkit']}"]
    parts += [f"{name} {card_[name][:DIGEST_CHARS]}" for name in ("engine", "corpus", "results")]
    parts += [f"{text.clean(name)} {digest[:DIGEST_CHARS]}" for name, digest in card_["policies"].items()]
    note = "With the same engine, prices and corpus, the results are the same; --json has this in full."
    return ["", *text.wrap(f"Card: {' · '.join(parts)}", indent="  "), *text.wrap(note, indent="  ")]


def _prices(result: dict) -> str:
    """Return the prices of the calculation, in words."""
    of = f", as of {result['dated']}" if result["dated"] else ""
    if result["model"]:
        return f"At the prices of {text.clean(result['model'])}{of}."
    models = [text.clean(model) or "unknown" for model in sorted(result["models"], key=lambda model: -result["models"][model])]
    return f"At the prices of the models that answered them{of}: {text.listed(models, 3)}."


def _volume(result: dict) -> str:
    return f"{result['bytes'] / 1e6:,.1f} MB in {units.span(result['seconds'])}"
