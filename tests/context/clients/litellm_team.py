"""A team's LiteLLM proxy in front of a scripted provider, and its callers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import Sum

from . import litellm_proxy
from .providers import Providers

CONFIG = """
model_list:
  - {{model_name: claude, litellm_params: {{model: anthropic/claude-opus-4-5, api_base: "{url}", api_key: none}}}}
  - {{model_name: gpt, litellm_params: {{model: openai/gpt-4o, api_base: "{url}/v1", api_key: none}}}}
  - {{model_name: claude-chat, litellm_params: {{model: hosted_vllm/some-model, api_base: "{url}/v1", api_key: none}}}}
litellm_settings:
  callbacks: [{callbacks}]
  num_retries: 0
general_settings:
  master_key: {key}
"""
OURS = "popkit_retention.clients.litellm.popkit_context"
DANA = "dana"


class Team:
    """A proxy, what it asks behind it, and the callers before it."""

    def __init__(self, proxy: litellm_proxy.Proxy, api: Providers, environ: dict[str, str]) -> None:
        import anthropic
        import openai

        self.proxy = proxy
        self.api = api
        self.environ = environ
        options: dict[str, Any] = {"api_key": litellm_proxy.KEY, "max_retries": 0}
        self.openai = openai.OpenAI(base_url=proxy.url + "/v1", **options)
        self.anthropic = anthropic.Anthropic(base_url=proxy.url, **options)

    def arrived(self) -> list[str]:
        """What the last request to the provider says, message by message: a text may stand as blocks."""
        contents = [message["content"] for message in self.api.last.messages]
        return [content if isinstance(content, str) else "".join(block["text"] for block in content) for content in contents]

    def used(self, session: str) -> Sum:
        with open_store(self.environ) as store:
            return store.of_session(session)


def home_of(folder: Path, context: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a proxy whose user, dana, has these settings of `context`."""
    (folder / "popkit").mkdir()
    (folder / "popkit" / "retention-config.json").write_text(json.dumps({"retention": {"context": context}}))
    return {"POPKIT_HOME": str(folder / "popkit"), "LOGNAME": DANA}


@contextmanager
def running(forks: litellm_proxy.Forks, folder: Path, environ: dict[str, str], *callbacks: str) -> Iterator[Team]:
    """Yield the team of a proxy with our callback and others."""
    with Providers() as api:
        config = CONFIG.format(url=api.url, key=litellm_proxy.KEY, callbacks=", ".join([OURS, *callbacks]))
        with forks.running(config, folder, **environ) as proxy:
            team = Team(proxy, api, environ)
            yield team
            team.openai.close()
            team.anthropic.close()
