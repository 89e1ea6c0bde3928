"""A worker of a server, which asks until its limit is used up."""

from __future__ import annotations

import anthropic

from popkit_retention.clients import with_context
from popkit_retention.context import BudgetExceeded

from .callers import MODEL, QUESTION


def ask_until_refused(url: str) -> None:
    """Ask for dana, and print how many requests went out."""
    plain = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, http_client=anthropic.DefaultHttpxClient(verify=False))
    client = with_context(plain, user_id="dana", session_id="s1")
    sent = 0
    while True:
        try:
            client.messages.create(model=MODEL, max_tokens=64, messages=QUESTION)
        except BudgetExceeded:
            break
        sent += 1
    print(sent)
