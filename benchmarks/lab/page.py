"""Renders a survey of past sessions as one page with plots, for a browser (`tables.py --html`). Needs plotly; the page needs no network."""

from __future__ import annotations

import html
from pathlib import Path

import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from popkit_retention.lab import survey_views
from popkit_retention.lab.replay_policies import DEFAULT_AUTO, INSTALLED

LIFETIMES = {"300": "5 minutes", "3600": "1 hour"}
# Mid tones, which stand out on a light page as on a dark one.
BLUE, ORANGE, GREEN, GREY = "#3b82d6", "#d97a1e", "#2e9e6b", "#8a8f98"
_GRID = "rgba(128,128,128,0.22)"
_WIDTH, _TALL = 1000, 600  # pixels of the trade-off plot
_WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.6), (0.8, -0.6), (-0.8, 0.6), (-0.8, -0.6))  # where a label may be placed
_MOST = 8  # sessions in each of the two lists
_NO_NETWORK = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"

_STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --card: #ffffff; --ink: #1f2328; --soft: #5b626b; --line: #dcdfe3; --mark: #e8f1fc; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14161a; --card: #1c1f24; --ink: #e6e8eb; --soft: #a2a9b2; --line: #343941; --mark: #1d3147; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .2rem 0 .8rem; color: var(--soft); max-width: 46rem; }
figure, .card { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem; overflow-x: auto; }
figure > div { min-width: 620px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
td.wide { white-space: normal; min-width: 17rem; }
th.text, td.text { text-align: left; }
tbody tr:last-child > * { border-bottom: 0; }
tr.auto { background: var(--mark); }
.js-plotly-plot text { fill: var(--ink) !important; }
.js-plotly-plot .hovertext path { fill: var(--card) !important; stroke: var(--line) !important; }
.js-plotly-plot .hovertext text, .js-plotly-plot .hovertext tspan { fill: var(--ink) !important; }
"""


def page(survey: dict) -> str:
    """Return the page of a survey (the value that `survey` returns)."""
    parts = [_head(survey)]
    for at, (ttl_s, policies) in enumerate(survey["ttls"].items()):
        title = f"What each policy saves and what it misses, prompt cache of {LIFETIMES.get(ttl_s, ttl_s + ' s')}"
        parts.append(_section(title, _TRADE_OFF, trade_off(policies), f"t{at}"))
    parts += [_extremes(survey), _tables(survey), _failed(survey), _skipped(survey)]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_NO_NETWORK}">'
    head = f'<meta charset="utf-8">{policy}<meta name="viewport" content="width=device-width, initial-scale=1">'
    script = f"<script>{get_plotlyjs()}</script>"
    head += f"<title>Past sessions under each policy</title><style>{_STYLE}</style>{script}"
    body = "\n".join(filter(None, parts))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body><main>{body}</main></body></html>\n'


# --- plots -----------------------------------------------------------------------------------------------------------------------

_TRADE_OFF = (
    "Down and to the left is better: cheaper, and less is cleared that is needed again. The line joins the policies that no other beats in"
    " both cost and misses. Diamonds are oracles, which know the future; the dotted line is the cheapest of them."
)


def trade_off(policies: dict) -> go.Figure:
    """Return the plot of cost against misses: one mark for each policy, and the frontier of those other than oracles."""
    figure = _figure("misses per 100 requests", "cost, relative to clearing nothing", height=_TALL)
    for name, one in policies.items():
        role = "auto" if name in INSTALLED else "oracle" if name.startswith("oracle") else "nothing" if name == "nothing" else "other"
        colour, symbol, size = {
            "auto": (ORANGE, "star", 18), "oracle": (GREEN, "diamond", 12), "nothing": (GREY, "x", 11), "other": (BLUE, "circle", 10),
        }[role]  # fmt: skip
        hover = (
            f"<b>{html.escape(name)}</b><br>cost {one['cost']:.3f}<br>carried {one['carried']:.3f}<br>misses per 100 requests"
            f" {one['misses_per_100']:.2f}<br>dearer {one['dearer']:.1%} of sessions<br>cleared {one['cleared_share']:.1%} of results"
        )
        mark = {"color": colour, "symbol": symbol, "size": size}
        figure.add_trace(
            go.Scatter(
                x=[one["misses_per_100"]], y=[one["cost"]], mode="markers", marker=mark, name=name, showlegend=False, cliponaxis=False,
                hovertemplate=hover + "<extra></extra>",
            )
        )  # fmt: skip
    frontier = _frontier(policies)
    line = {"color": ORANGE, "width": 1.5}
    figure.add_trace(
        go.Scatter(x=[x for x, _ in frontier], y=[y for _, y in frontier], mode="lines", line=line, hoverinfo="skip", showlegend=False)
    )
    bounds = [one["cost"] for name, one in policies.items() if name.startswith("oracle")]
    if bounds:
        figure.add_hline(y=min(bounds), line={"color": GREEN, "dash": "dot", "width": 1.5})
    figure.add_hline(y=1, line={"color": GREY, "dash": "dash", "width": 1})
    first = sorted(policies, key=lambda name: name not in INSTALLED and not name.startswith("oracle"))  # their labels are placed nearest
    marks = {name: (policies[name]["misses_per_100"], policies[name]["cost"]) for name in first}
    right = 1.12 * max(1.0, *(x for x, _ in marks.values()))
    low, high = min(y for _, y in marks.values()), max(y for _, y in marks.values())
    room = 0.1 * max(high - low, 0.05)
    across, up = (-0.06 * right, right), (low - room, high + room)
    figure.update_layout(annotations=_labels(marks, across, up))
    figure.update_xaxes(range=across)
    figure.update_yaxes(range=up)
    return figure


def _frontier(policies: dict) -> list:
    """Return [(misses, cost)] of the policies, oracles excepted, than which none is both cheaper and safer."""
    points = sorted((one["misses_per_100"], one["cost"]) for name, one in policies.items() if not name.startswith("oracle"))
    return [(x, y) for at, (x, y) in enumerate(points) if all(y < cost for _, cost in points[:at])]


def _labels(marks: dict, across: tuple, up: tuple) -> list:
    """Return annotations that name marks (name -> (x, y)), each as near to its own as it is clear of the others; `across` and `up` are the
    ends of the axes."""
    scale_x, scale_y = _WIDTH / (across[1] - across[0]), (_TALL - 100) / (up[1] - up[0])
    boxes = [((x - across[0]) * scale_x - 8, (y - up[0]) * scale_y - 8, 16, 16) for x, y in marks.values()]
    labels = []
    for name, (x, y) in marks.items():
        wide, high = 7 * len(name) + 4, 15
        places = []
        for far in (14, 30, 48, 68, 90, 114, 140, 168):
            for way_x, way_y in _WAYS if far == 14 else _WAYS[2:]:  # a long way aside, it would seem another's
                middle_x = (x - across[0]) * scale_x + way_x * far + (way_x > 0.3) * wide / 2 - (way_x < -0.3) * wide / 2
                box = (middle_x - wide / 2, (y - up[0]) * scale_y + way_y * far - high / 2, wide, high)
                places.append((sum(_overlap(box, other) for other in boxes) + max(0, -box[0]) * high, far, way_x, way_y, box))
        _, far, way_x, way_y, box = min(places, key=lambda place: place[:2])
        boxes.append(box)
        anchor = "left" if way_x > 0.3 else "right" if way_x < -0.3 else "center"
        text = f"<b>{name}</b>" if name in INSTALLED else html.escape(name)
        line = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.8, "arrowcolor": GREY if far > 14 else "rgba(0,0,0,0)"}
        labels.append(
            {"x": x, "y": y, "ax": way_x * far, "ay": -way_y * far, "text": text, "xanchor": anchor, "font": {"size": 12}, **line}
        )
    return labels


def _overlap(one: tuple, other: tuple) -> float:
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    up = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return across * up if across > 0 and up > 0 else 0.0


def _figure(across: str, up: str, height: int) -> go.Figure:
    axis = {"gridcolor": _GRID, "linecolor": GREY, "zeroline": False, "ticks": "outside", "tickcolor": GREY}
    clear = "rgba(0,0,0,0)"
    return go.Figure(
        layout={
            "template": None, "height": height, "margin": {"l": 70, "r": 20, "t": 40, "b": 60},
            "paper_bgcolor": clear, "plot_bgcolor": clear,
            "font": {"family": "system-ui, sans-serif", "size": 13}, "xaxis": {**axis, "title": {"text": across}},
            "yaxis": {**axis, "title": {"text": up}}, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "hovermode": "closest",
        }
    )  # fmt: skip


def _section(title: str, text: str, figure: go.Figure, id: str) -> str:
    config = {"displayModeBar": False, "responsive": True}
    drawn = to_html(figure, full_html=False, include_plotlyjs=False, div_id="plot-" + id, config=config)
    title, text = html.escape(title), html.escape(text)
    return f'<section><h2>{title}</h2><p>{text}</p><figure role="img" aria-label="{title}. {text}">{drawn}</figure></section>'


# --- texts and tables ------------------------------------------------------------------------------------------------------------


def _head(survey: dict) -> str:
    counts = f"{survey['sessions']:,} sessions of {survey['repositories']:,} repositories, {survey['requests']:,} requests"
    explained = (
        "Cost counts input tokens at the prices of the prompt cache (read 0.1, write 1.25 or 2, output 5); carried sums up all prompts."
        " Both are relative to clearing nothing and means over repositories, so that one busy repository does not decide."
    )
    return f"<header><h1>Past sessions under each policy</h1><p>{counts}, {survey['bytes'] / 1e6:,.1f} MB.</p><p>{explained}</p></header>"


def _tables(survey: dict) -> str:
    heads = ["cost", "carried", "misses per 100 requests", "dearer, of sessions", "cleared, of results", "cleared, of tokens"]
    heads += ["missed, of cleared", "missed, of cleared tokens"]
    keys = ("dearer", "cleared_share", "cleared_tokens_share", "missed_share", "missed_tokens_share")
    parts = ["<section><h2>All policies</h2>"]
    for ttl_s, policies in survey["ttls"].items():
        rows = []
        for name, one in sorted(policies.items(), key=survey_views.order):
            numbers = [f"{one['cost']:.3f}", f"{one['carried']:.3f}", f"{one['misses_per_100']:.2f}", *(f"{one[key]:.1%}" for key in keys)]
            described = html.escape(survey["descriptions"].get(name, ""))
            cells = "".join(f"<td>{number}</td>" for number in numbers)
            mark = ' class="auto"' if name in INSTALLED else ""
            rows.append(
                f'<tr{mark}><th scope="row" class="text">{html.escape(name)}</th>{cells}<td class="text wide">{described}</td></tr>'
            )
        caption = f"<h3>Prompt cache of {LIFETIMES.get(ttl_s, ttl_s + ' s')}</h3>"
        parts.append(caption + _table([("policy", True), *((head, False) for head in heads), ("what it does", True)], rows))
    return "".join([*parts, "</section>"])


def _table(heads: list, rows: list) -> str:
    cells = "".join(f'<th scope="col"{" class=text" if is_text else ""}>{head}</th>' for head, is_text in heads)
    return f'<div class="card"><table><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _extremes(survey: dict) -> str:
    """Return the sessions that gained and lost most under what is installed, once auto is on, or under the last policy."""
    if not survey["ttls"]:
        return ""
    ttl_s, policies = next(iter(survey["ttls"].items()))
    policy = DEFAULT_AUTO if DEFAULT_AUTO in policies else list(policies)[-1]
    rows = [(row, row["ttls"][ttl_s]["policies"][policy], row["ttls"][ttl_s]) for row in survey["rows"]]
    rows.sort(key=lambda row: (row[1][0], row[0]["path"]))
    gained = [row for row in rows if row[1][0] < 1][:_MOST]
    lost = [row for row in reversed(rows) if row[1][0] > 1][:_MOST]
    heads = [("session", True), ("repository", True), ("requests", False), ("cost", False), ("carried", False), ("why", True)]
    parts = [f"<section><h2>Sessions that gained and lost most under {html.escape(policy)}</h2>"]
    for title, chosen in (("Gained", gained), ("Lost", lost)):
        lines = [
            f'<tr><th scope="row" class="text">{html.escape(_named(Path(row["path"]).name.partition("__")[2] or row["path"], 24))}</th>'
            f'<td class="text">{html.escape(_named(row["repository"]))}</td><td>{row["requests"]:,}</td>'
            f'<td>{one[0]:.3f}</td><td>{one[1]:.3f}</td><td class="text wide">{_why(one, lifetime)}</td></tr>'
            for row, one, lifetime in chosen
        ]
        parts.append(f"<h3>{title}</h3>" + (_table(heads, lines) if lines else "<p>None.</p>"))
    return "".join([*parts, "</section>"])


def _why(one: list, lifetime: dict) -> str:
    cost, _, cleared, tokens, missed, _ = one
    text = f"cleared {cleared:,} of {lifetime['results']:,} results ({tokens:,} tokens)"
    if missed:
        return f"{text}, of which {missed:,} came back: each costs one more request"
    return text + (", none was missed; the rewritten prompt cost more than the rest saved" if cost > 1 else ", none was missed")


def _failed(survey: dict) -> str:
    """Return where users' own policies failed, and why."""
    rows = [
        f'<tr><th scope="row" class="text">{html.escape(_named(name))}</th>'
        f'<td>{count:,}</td><td class="text wide">{html.escape(why)}</td></tr>'
        for name, reasons in survey["failed"].items()
        for why, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    if not rows:
        return ""
    note = "These sessions count as if the policy had cleared nothing there."
    return f"<section><h2>Failed</h2><p>{note}</p>" + _table([("policy", True), ("sessions", False), ("why", True)], rows) + "</section>"


def _skipped(survey: dict) -> str:
    if not survey["skipped"]:
        return ""
    skipped = sorted(survey["skipped"].items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [f'<tr><td>{count:,}</td><td class="text wide">{html.escape(reason)}</td></tr>' for reason, count in skipped]
    return "<section><h2>Left out</h2>" + _table([("files", False), ("why", True)], rows) + "</section>"


def _named(path: str, most: int = 48) -> str:
    """Return the name of a file, without characters that hide or reorder letters, shortened where it is long."""
    name = "".join(char if char.isprintable() else "?" for char in Path(path).name)
    return name if len(name) <= most else name[: most - 1] + "…"
