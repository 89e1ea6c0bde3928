"""What a store says that cannot be used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from popkit_retention.memory.stores.protocol import StoreUnavailable


def refused(use: Callable[[], object], *words: str) -> str:
    """The message, which names all of these."""
    with pytest.raises(StoreUnavailable) as caught:
        use()
    for each in words:
        assert each in str(caught.value)
    return str(caught.value)
