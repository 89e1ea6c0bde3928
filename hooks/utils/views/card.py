"""A card to show: what PopKit kept out, cleared and kept warm, what it cost, and the net, as a picture (SVG) or as Markdown. Pure."""

from __future__ import annotations

from .. import text
from ..policy import figures
from . import ledgers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..policy.shapes import Figures, LedgerFigures

SVG, MARKDOWN = ".svg", ".md"
MARK = "PopKit card"  # stands in every card: only a file that has it is replaced
_METHOD = "Counted request by request against the same session without PopKit, at the API's prices; its own cost is subtracted."
_WIDTH, _LEFT, _LINE = 560, 28, 24
_FONT = "ui-sans-serif, system-ui, sans-serif"


def rows(found: LedgerFigures) -> list[tuple[str, str]]:
    """Return the quantities as (name, words)."""
    if not found:
        return []
    warm = found.get("kept_warm", 0)
    return [
        ("Kept out of the context", f"{ledgers.kept_out(found)} tokens"),
        ("Cleared from it", f"{ledgers.tokens(found['cleared_tokens'])} tokens"),
        ("Cache kept warm", f"{warm:,} time" + ("" if warm == 1 else "s")),
        ("What PopKit cost", "unknown" if found["cost_usd"] is None else ledgers.usd(found["cost_usd"])),
    ]


def card(kind: str, found: LedgerFigures, worth: Mapping[str, Figures], sessions: int, day: str, dated: str) -> str:
    """Return a card of this kind, SVG or MARKDOWN. `found`: the figures since PopKit was installed, `worth`: by period · `day`:
    today's, such as 2026-10-01 · `dated`: the month of the prices. What is negative is shown as it is."""
    installed = worth["installed"]
    is_known = installed["net_usd"] is not None
    net = f"Net {ledgers.usd(installed['net_usd'], True)}" if is_known else "Net unknown"
    net = net if figures.is_anything(installed) else "Nothing saved and nothing cost yet"
    head = f"{text.counted(sessions, 'session')} since PopKit was installed, as of {day}"
    method = _METHOD + (f" Prices of {dated}." if dated else "")
    if installed["unpriced"]:
        method += " Requests to a model without a known price are not in the money."
    return (_svg if kind == SVG else _markdown)(head, net, rows(found), method)


def _markdown(head: str, net: str, found: list[tuple[str, str]], method: str) -> str:
    lines = [f"<!-- {MARK} -->", f"**PopKit: {net[0].lower() + net[1:]}** ({head})", ""]
    if found:
        lines += ["| | |", "|---|--:|", *(f"| {name} | {words} |" for name, words in found), ""]
    return "\n".join([*lines, method, ""])


def _svg(head: str, net: str, found: list[tuple[str, str]], method: str) -> str:
    from html import escape

    body = [_text(_LEFT, 40, 15, "#5b6472", escape(f"PopKit · {head}")), _text(_LEFT, 86, 34, "#16202c", escape(net), 700)]
    at = 124
    for name, words in found:
        body.append(_text(_LEFT, at, 15, "#5b6472", escape(name)))
        body.append(_text(_WIDTH - _LEFT, at, 15, "#16202c", escape(words), anchor="end"))
        at += _LINE
    at += 8
    for line in text.wrapped(method, 88):
        body.append(_text(_LEFT, at, 11, "#7b8494", escape(line)))
        at += 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{at}" viewBox="0 0 {_WIDTH} {at}" role="img">',
            f"<title>{MARK}: {escape(net)}, {escape(head)}</title>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{at - 1}" rx="10" fill="#ffffff" stroke="#d6dbe3"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _text(x: int, y: int, size: int, color: str, words: str, weight: int = 400, anchor: str = "start") -> str:
    style = f'font-family="{_FONT}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{color}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def written(path: str) -> list[text.Line]:
    """Return what is said once a card was written."""
    return ["", *text.wrap(f"The card is in {text.clean(path)}.")]
