"""The text of the savings that PopKit would have made in past sessions, with which `popkit try` begins: in a sentence, then by its parts.
Data in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.views import amounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .past_sessions import PastSums

_AUTO_ON = "/popkit auto on"
_STATS = "`popkit stats`"
_LEAST_USD = 0.005
_ASIDE = 11


def sessions_in_words(past: PastSums) -> str:
    """Return how many sessions were counted."""
    if past.subagents and not past.sessions:
        return units.counted(past.subagents, "subagent")
    return units.counted(past.sessions if past.requests else past.changed, "session")


def lines(past: PastSums, where: str) -> list[text.Line]:
    """Return the sentence and its parts. `where`: the sessions, in the words with which the sentence begins."""
    if past.changed and not past.requests:
        return text.wrap(f"{where} PopKit was at work already: {_STATS} has what that saved.")
    if not past.requests:
        return text.wrap(f"{where} there is no request that could be counted.")
    found = [*text.wrap(_sentence(past, where)), "", *_parts(past)]
    return [*found, "", *text.wrap(_method(past))]


def _sentence(past: PastSums, where: str) -> str:
    did = []
    if past.kept_out_tokens > 0:
        did.append(f"kept {units.long_tokens(past.kept_out_tokens)} of repetition and noise out of the context")
    if past.compactions:
        summaries = f"{units.long_tokens(past.summary_tokens)} of summary"
        did.append(f"gone on with {units.long_tokens(past.kept_tokens)} word for word instead of {summaries}")
    if not did:
        done = "PopKit would have changed nothing by itself: no result repeated what the context showed, and nothing was compacted"
        return f"{where}, {done}{_auto_saving(past, '; ')}."
    return f"{where}, PopKit by itself would have {text.enumerated(did)}{_net_saving(past)}{_auto_saving(past, '; ')}."


def _net_saving(past: PastSums) -> str:
    """Return the saving in dollars; "" where no price is known."""
    if not past.usd:
        return ""
    return f": {_saving(past.kept_out_usd + past.compactions_usd, past.usd)}, its own cost taken off"


def _auto_saving(past: PastSums, before: str) -> str:
    """Return the saving where PopKit may also compact between turns; "" where it would not have done so."""
    if past.auto_usd < _LEAST_USD:
        return ""
    whole = past.kept_out_usd + past.compactions_usd + past.auto_usd
    return f"{before}with {_AUTO_ON}, {_saving(whole, past.usd)}"


def _saving(saved: float, usd: float) -> str:
    """Return a saving as people read it: ~$4.20 less (3.1 %), or how much more it is."""
    if abs(saved) < _LEAST_USD:
        return "about as much"
    return f"~{amounts.usd(abs(saved))} {'less' if saved > 0 else 'more'} ({abs(saved) / usd:.1%})"


def _parts(past: PastSums) -> list[text.Line]:
    parts = [("Cost", _cost(past))]
    kept = f"{units.long_tokens(past.kept_out_tokens)} in {units.counted(past.kept_out_results, 'result')}"
    parts.append(("Kept out", kept + _saving_of_part(past, past.kept_out_usd) if past.kept_out_tokens > 0 else "nothing"))
    if past.compactions:
        times = units.counted(past.compactions, "compaction")
        words = f"at {times} {units.long_tokens(past.kept_tokens)} stay word for word, at once and without a model"
        more = ", because more stays than of a summary" if past.compactions_usd < -_LEAST_USD else ""
        parts.append(("Compacted", words + _saving_of_part(past, past.compactions_usd) + more))
    if past.auto_usd >= _LEAST_USD:
        parts.append(("With auto", f"compacts between turns, too, when that pays{_saving_of_part(past, past.auto_usd)}"))
    return [line for name, words in parts for line in text.pair(name, words, _ASIDE)]


def _saving_of_part(past: PastSums, saved: float) -> str:
    if not past.usd:
        return ""
    if abs(saved) < _LEAST_USD:
        return ", which costs as much"
    return f", which {'saves' if saved > 0 else 'costs'} ~{amounts.usd(abs(saved))}"


def _cost(past: PastSums) -> str:
    requests = units.counted(past.requests, "request")
    if not past.usd:
        return f"of {requests} not known: no usage, or a model without a price"
    unrecorded = f", {past.unrecorded:,} of them without recorded usage" if past.unrecorded else ""
    unpriced = f", {past.unpriced:,} of a model without a price" if past.unpriced else ""
    return f"~{amounts.usd(past.usd)} for {requests}{unrecorded}{unpriced}"


def _method(past: PastSums) -> str:
    """Return how the figures were counted."""
    words = "Replayed request by request at the prices of the models that answered, as `popkit lab` does; ~ marks estimates."
    if past.changed:
        words += f" Not among them: {units.counted(past.changed, 'session')} that PopKit has changed; {_STATS} has what that saved."
    if past.left:
        words += f" The newest are counted: {units.counted(past.left, 'transcript')} did not fit into {past.seconds:.0f} s."
    return words
