"""Sums of what requests used, by model, by time, within a limit's window and by kind of content, and what they and lost caches cost at the
models' prices. Pure. Tokens before the first word have no kind. Tokens that the cache lost count as read, as in the shares of the requests:
the extra cost of writing them again has no kind, either. Sums by kind are whole tokens that add up, divided in proportion to the shares of
the requests."""

from __future__ import annotations

from itertools import accumulate

from hooks.utils.policy import lost_cache
from hooks.utils.policy.composition import OTHER, RESULT
from hooks.utils.policy.lost_cache import PAUSE

from .lifetimes import replayed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from hooks.utils.policy.composition import Shares
    from hooks.utils.policy.lost_cache import Sent
    from hooks.utils.policy.models import Models
    from hooks.utils.policy.usage import Usage

    from .records import Digest, Priced, Used

    Row = dict[str, Any]

    class Tokens(TypedDict):
        """Tokens by how requests used them."""

        plain: int
        read: int
        written: int
        output: int

    class Part(TypedDict):
        """The usage of one session, by its main thread or by all its `subagents` together; `usd`: the price of its tokens, and the `share`
        of all dollars that this is; both None where no price is known."""

        session: str
        cwd: str
        subagents: bool
        used: Tokens
        tokens: int
        usd: float | None
        share: float | None

    class Consumption(TypedDict):
        used: Tokens
        tokens: int
        usd: float
        unpriced: int  # tokens of models without a known price
        parts: list[Part]
        # name of SOURCES -> tokens; their sum is `tokens`
        sources: dict[str, int]
        # What the conversations were made of, as rows of `kind_rows`, whose tokens add up to those of the conversation.
        kinds: list[Row]

# --- by kind ---

# Conversations that an earlier version has read and whose transcripts are gone: what they were made of is unknown.
UNATTRIBUTED = "untold"
_SERVER = "mcp__"


def columns_of(used: Used) -> list[int]:
    """Return the tokens of conversations in sums of requests: [plain, read, written for five minutes, for an hour]."""
    plain, read, short, hour = used["stands"]
    lost_short, lost_hour = (sum(lost) for lost in zip(used["pauses"], used["lost"]))
    return [
        used["plain"] - plain, used["read"] - read + lost_short + lost_hour, used["write_5m"] - short - lost_short,
        used["write_1h"] - hour - lost_hour,
    ]  # fmt: skip


def add_shares(sums: dict[str, list[float]], shares: Shares | None, hour: bool) -> None:
    """Add the shares of a request, which writes for an hour or for five minutes, to sums by kind, of such columns."""
    for kind, (plain, read, written, _) in (shares or {}).items():
        row = sums.setdefault(kind, [0.0, 0.0, 0.0, 0.0])
        row[0] += plain
        row[1] += read
        row[2 + hour] += written


def add_unlost_shares(sums: dict[str, list[float]], shares: Shares | None) -> None:
    """Add the shares of a request, without lost tokens, to sums by kind, of one column."""
    for kind, (_, _, _, share) in (shares or {}).items():
        sums.setdefault(kind, [0.0])[0] += share


def shared_by_kind(sums: Mapping[str, Sequence[float]], totals: Sequence[int]) -> dict[str, list[int]]:
    """Return totals, one of each column, divided by kind: whole tokens that add up to them. A total without shares is OTHER."""
    by_kind = {kind: [0] * len(totals) for kind in [*sums, OTHER]}
    for column, total in enumerate(totals):
        weights = [max(0.0, row[column]) for row in sums.values()]
        for kind, tokens in zip(sums, shared_out(total, weights)):
            by_kind[kind][column] = tokens
        if not any(weights):
            by_kind[OTHER][column] = total
    return {kind: row for kind, row in by_kind.items() if any(row)}


def shared_out(total: int, weights: Sequence[float]) -> list[int]:
    """Return a total divided in proportion to weights, in whole parts that add up to it."""
    sums = list(accumulate(weights))
    ends = [round(total * sum / sums[-1]) if sums[-1] else 0 for sum in sums]
    return [end - begin for begin, end in zip([0, *ends], ends)]


def kind_rows(
    tokens: Mapping[str, int], usd: Mapping[str, float] | None = None, calls: Mapping[str, list[float]] | None = None
) -> list[Row]:
    """Return what conversations were made of as rows {kind, name, tokens, parts}, the most expensive first, with `usd` and `used` where
    `usd` and `calls` are given. `kind`: one of policy/composition.py, UNTOLD, `result` of the tool of this `name`, or `server` for the
    tools of an MCP server, which are its `parts` · `tokens`: over all requests · `used`: [times, when last] of calls, None for anything but
    results."""
    rows: list[Row] = []
    servers: dict[str, list[Row]] = {}
    for kind, count in tokens.items():
        is_result, name = kind.startswith(RESULT), kind.removeprefix(RESULT)
        row: Row = {"kind": kind, "name": "", "tokens": count, "parts": []}
        if is_result:
            row.update(kind="result", name=name)
        if usd is not None:
            row["usd"] = usd.get(kind, 0.0)
        if calls is not None:
            row["used"] = calls.get(name, [0, 0.0]) if is_result and name else None
        server = name.split("__")[1] if name.startswith(_SERVER) and name.count("__") > 1 else ""
        (servers.setdefault(server, []) if server else rows).append(row)
    rows += [_server(name, sorted(parts, key=_dearest)) for name, parts in servers.items()]
    return sorted(rows, key=_dearest)


def _server(name: str, parts: list[Row]) -> Row:
    row: Row = {"kind": "server", "name": name, "parts": parts}
    row.update((column, sum(part[column] for part in parts)) for column in ("tokens", "usd") if column in parts[0])
    if "used" in parts[0]:
        row["used"] = [sum(part["used"][0] for part in parts), max(part["used"][1] for part in parts)]
    return row


def _dearest(row: Row) -> tuple[float, int, str]:
    return -row.get("usd", 0.0), -row["tokens"], row["name"]


# --- by model and by time ---

SLOT_S = 600  # columns of the sums by time
_PRICED = ("model", "prompt", "plain", "read", "write_5m", "write_1h", "output")
_BUCKET = 100_000
_MOST_BUCKETS = 2
_MOST_DETAILS = 3


def of_models(
    requests: list[Sent], standing: int, losses: Mapping[int, lost_cache.Loss], copies: Collection[str] = ()
) -> list[Used]:  # fmt: skip
    """Return the sums of requests by model, without those of the messages `copies`; `losses`: id of a Usage -> the loss of its request."""
    sums: dict[Priced, Used] = {}
    shares: dict[Priced, dict[str, list[float]]] = {}
    for request, (lived, is_bridged) in zip(requests, replayed(requests, losses)):
        usage = request.usage
        if request.id in copies:
            continue
        key = usage.model, min(_MOST_BUCKETS, usage.tokens // _BUCKET)
        sum = sums.get(key)
        if sum is None:
            sum = sums[key] = {
                "model": key[0], "prompt": key[1] * _BUCKET, "requests": 0,
                "plain": 0, "read": 0, "write_5m": 0, "write_1h": 0, "output": 0,
                "cold": [0, 0, 0], "stands": [0, 0, 0, 0], "pauses": [0, 0], "lost": [0, 0], "kinds": {},
                "lifetimes": [0, 0, 0, 0], "bridged": 0,
            }  # fmt: skip
        sum["requests"] += 1
        sum["plain"] += max(0, usage.tokens - usage.read - usage.created)
        sum["read"] += usage.read
        sum["write_1h" if usage.cache_ttl_s > 300 else "write_5m"] += usage.created
        sum["output"] += request.output
        sum["lifetimes"] = [total + tokens for total, tokens in zip(sum["lifetimes"], lived)]
        sum["bridged"] += is_bridged
        _divide(sum, usage, standing, losses.get(id(usage)))
        add_shares(shares.setdefault(key, {}), request.shares, usage.cache_ttl_s > 300)
    for key, sum in sums.items():
        sum["kinds"] = shared_by_kind(shares[key], columns_of(sum))
    return list(sums.values())


def _divide(sum: Used, usage: Usage, standing: int, loss: lost_cache.Loss | None) -> None:
    """Add to sums the tokens of a request before the first word, and those written again. A prompt is read from its beginning on, so the
    former are read first, and the lost ones begin where reading ends: tokens that are both count once."""
    hour = usage.cache_ttl_s > 300
    if not usage.read:
        sum["cold"][2 if not usage.created else hour] += 1
    read = min(standing, usage.read)
    written = min(standing - read, usage.created)
    lost = min(loss.tokens, usage.created) if loss else 0
    both = min(lost, written)
    sum["stands"][0] += max(0, min(standing, usage.tokens) - read - written)
    sum["stands"][1] += read + both
    sum["stands"][3 if hour else 2] += written - both
    if loss:
        sum["pauses" if loss.cause == lost_cache.PAUSE else "lost"][hour] += lost


def by_time(
    requests: list[Sent], standing: int, losses: Mapping[int, lost_cache.Loss],
) -> tuple[list[list[int]], list[dict[str, int]]]:  # fmt: skip
    """Return sums by slots of ten minutes, and what their conversations were made of: `by_time` and `kinds_by_time` of a Digest."""
    slots: dict[int, list[int]] = {}
    left: dict[int, int] = {}
    shares: dict[int, dict[str, list[float]]] = {}
    for request in requests:
        usage = request.usage
        at = int(usage.at) // SLOT_S * SLOT_S
        sums = slots.setdefault(at, [at, 0, 0, 0, 0, 0])
        loss = losses.get(id(usage))
        lost = loss.tokens if loss else 0
        # Lost tokens begin where reading ends, so those before the first word are lost, too, as far as they were not read.
        before = min(standing, usage.tokens)
        before -= max(0, min(before - usage.read, lost))
        counts = (max(0, usage.tokens - usage.read - usage.created), usage.read, usage.created, request.output, before)
        sums[1:] = [sum + count for sum, count in zip(sums[1:], counts)]
        left[at] = left.get(at, 0) + usage.tokens - before - lost
        add_unlost_shares(shares.setdefault(at, {}), request.shares)
    by_kind = [shared_by_kind(shares[at], [left[at]]) for at in slots]
    return list(slots.values()), [{kind: tokens for kind, (tokens,) in row.items()} for row in by_kind]


def by_price(requests: list[Sent]) -> list[list[Any]]:
    """Return sums by slots of ten minutes, model and size of the prompt: `by_price` of a Digest."""
    rows: dict[tuple[int, str, int], list[Any]] = {}
    for request in requests:
        usage = request.usage
        key = int(usage.at) // SLOT_S * SLOT_S, usage.model, min(_MOST_BUCKETS, usage.tokens // _BUCKET) * _BUCKET
        row = rows.setdefault(key, [*key, 0, 0, 0, 0, 0])
        row[3] += max(0, usage.tokens - usage.read - usage.created)
        row[4] += usage.read
        row[6 if usage.cache_ttl_s > 300 else 5] += usage.created
        row[7] += request.output
    return list(rows.values())


# --- what they cost ---


def usd_of(used: Used | Row, models: Models) -> dict[str, float] | None:
    """Return dollars by purpose: plain, read, write, output; None where the price of the model is not known."""
    model = models.model(used["model"])
    price_in, price_out = model.usd(used["prompt"] + 1)
    if price_in is None or price_out is None:
        return None
    write = used["write_5m"] * model.write_5m + used["write_1h"] * model.write_1h
    unit = price_in / 1e6
    return {
        "plain": used["plain"] * unit,
        "read": used["read"] * model.read * unit,
        "write": write * unit,
        "output": used["output"] * price_out / 1e6,
    }


def misses(digests: Iterable[Digest], models: Models) -> dict[str, Any]:
    """Return the losses of the caches of sessions: `sessions`, `requests`, the names of their `hosts`, `usd` of all requests, `unpriced`:
    how many of them have a model without a price; `lost`: {times, tokens, usd, unpriced} of all losses, and `causes`: the same for each
    cause, the most expensive first, with `details`: [(words, times)] of the most frequent ones."""
    requests = unpriced = sessions = 0
    usd = 0.0
    hosts: set[str] = set()
    by_cause: dict[str, dict[str, Any]] = {}
    for digest in digests:
        sessions += bool(digest["used"])
        hosts.update([digest["host"]] if digest["used"] else ())
        for used in digest["used"]:
            paid = usd_of(used, models)
            requests += used["requests"]
            unpriced += 0 if paid else used["requests"]
            usd += sum(paid.values()) if paid else 0.0
        for loss in digest["losses"]:
            row = by_cause.setdefault(loss["cause"], {**_none(), "cause": loss["cause"], "details": {}})
            cost = lost_cache.usd(models, loss["model"], loss["prompt"], loss["tokens"], loss["ttl_s"])
            row["times"] += 1
            row["tokens"] += loss["tokens"]
            row["usd"] += cost or 0.0
            row["unpriced"] += cost is None
            if loss["detail"]:
                row["details"][loss["detail"]] = row["details"].get(loss["detail"], 0) + 1
    causes = sorted(by_cause.values(), key=lambda row: (-row["usd"], -row["tokens"], lost_cache.CAUSES.index(row["cause"])))
    for row in causes:
        row["details"] = sorted(row["details"].items(), key=lambda item: (-item[1], item[0]))[:_MOST_DETAILS]
    lost = {name: sum(row[name] for row in causes) for name in _none()}
    whole = {"sessions": sessions, "requests": requests, "hosts": sorted(hosts), "usd": usd, "unpriced": unpriced}
    return {**whole, "lost": lost, "causes": causes}


def _none() -> dict[str, Any]:
    return {"times": 0, "tokens": 0, "usd": 0.0, "unpriced": 0}


# --- in a limit's window ---


# The usage of subagents; of main threads their output, the tokens written to the cache again after a pause and for any other cause, those
# before the first word, and the rest of their prompts.
SOURCES = ("conversation", "standing", "pauses", "lost", "output", "subagents")


def took(digests: Iterable[Digest], since: float, models: Models) -> Consumption:
    """Return the usage of sessions since a time (seconds, to ten minutes): `used` and `tokens` in all, their price, and the `parts`, the
    most expensive first."""
    parts: dict[tuple[str, bool], Part] = {}
    whole = _no_tokens()
    sources = dict.fromkeys(SOURCES, 0)
    by_kind: dict[str, int] = {}
    unpriced = 0
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        if not agent:
            for loss in digest["losses"]:
                if int(loss["at"]) // SLOT_S * SLOT_S + SLOT_S > since:
                    sources["pauses" if loss["cause"] == PAUSE else "lost"] += loss["tokens"]
        for (at, *counts, before), row in zip(digest["by_time"], digest["kinds_by_time"]):
            if at + SLOT_S <= since:
                continue
            part = parts.setdefault((session, bool(agent)), _no_part(session, digest["cwd"], bool(agent)))
            part["tokens"] += sum(counts)
            sources["standing"] += 0 if agent else before
            for kind, count in () if agent else row.items():
                by_kind[kind] = by_kind.get(kind, 0) + count
            for sums in (part["used"], whole):
                _add(sums, counts)
        for at, *priced in digest["by_price"]:
            if at + SLOT_S > since:
                paid = usd_of(dict(zip(_PRICED, priced)), models)
                part = parts[session, bool(agent)]
                part["usd"] = (part["usd"] or 0.0) + sum(paid.values()) if paid else part["usd"]
                unpriced += 0 if paid else sum(priced[2:])
    usd = sum(part["usd"] or 0.0 for part in parts.values())
    for part in parts.values():
        part["share"] = part["usd"] / usd if usd and part["usd"] is not None else None
    sources["subagents"] = sum(part["tokens"] for part in parts.values() if part["subagents"])
    sources["output"] = sum(part["used"]["output"] for part in parts.values() if not part["subagents"])
    sources["conversation"] = sum(by_kind.values())
    return {
        "used": whole,
        "tokens": sum(part["tokens"] for part in parts.values()),
        "usd": usd,
        "unpriced": unpriced,
        "sources": sources,
        "kinds": kind_rows(by_kind),
        "parts": sorted(parts.values(), key=lambda part: (-(part["usd"] or 0.0), -part["tokens"], part["session"], part["subagents"])),
    }


def _no_part(session: str, cwd: str, subagents: bool) -> Part:
    return {"session": session, "cwd": cwd, "subagents": subagents, "used": _no_tokens(), "tokens": 0, "usd": None, "share": None}


def _no_tokens() -> Tokens:
    return {"plain": 0, "read": 0, "written": 0, "output": 0}


def _add(sums: Tokens, counts: list[int]) -> None:
    plain, read, written, output = counts
    sums["plain"] += plain
    sums["read"] += read
    sums["written"] += written
    sums["output"] += output
