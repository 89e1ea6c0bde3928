"""Our table of models says of each of Claude's what the newest client reckons it costs."""

from __future__ import annotations

import json
import mmap
import re

from popkit_retention.core.policy.models import models_of

from . import installs
from .test_mod import ROOT

TIER = re.compile(
    rb"(\w+):\{input:([\d.e]+),output:([\d.e]+),cache_write_5m:([\d.e]+),cache_write_1h:([\d.e]+),cache_read:([\d.e]+),web_search:[\d.]+"
    rb"(?:,long_prompt:\{above_prompt_tokens:([\d.e]+),input:([\d.e]+),output:([\d.e]+),)?"
)
MODEL = re.compile(rb'\{id:"(claude-(?:opus|sonnet|haiku|fable|mythos)-[4-9][\d-]*)"(?:(?!\{id:").)*?,pricing:"(\w+)"', re.DOTALL)
CATALOG, LENGTH = b"pricing_tiers:{", 200_000


def test_each_model_costs_what_the_newest_client_reckons(clients: dict[str, installs.Installed]):
    with clients["newest"].executable.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(CATALOG)
        catalog = data[at : at + LENGTH]
    tiers = {name: [float(figure) if figure else 0.0 for figure in figures] for name, *figures in TIER.findall(catalog)}
    shipped = models_of(json.loads((ROOT / "retention-config.json").read_text())["retention"])
    named = {id.decode().removesuffix("-0"): tiers[tier] for id, tier in MODEL.findall(catalog)}
    assert len(named) >= 19
    for id, (usd, output, write_5m, write_1h, read, long_prompt, long_input, long_output) in named.items():
        model = shipped.model(id)
        assert (model.input_usd, model.output_usd) == (usd, output), id
        assert [round(usd * share, 6) for share in (model.write_5m, model.write_1h, model.read)] == [write_5m, write_1h, read], id
        assert [figure or 0 for figure in (model.long_prompt_tokens, model.long_input_usd, model.long_output_usd)] == [
            long_prompt,
            long_input,
            long_output,
        ], id
