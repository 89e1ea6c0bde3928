"""Both ends of the supported range: which tests run against the oldest client in the ordinary run, and which only with --slow.

Whatever runs against the newest client runs against the oldest one too, but most of it takes the same path there: the hooks, which the
newest client runs as well. The ordinary run has a smoke set for the oldest one: a day of work, an installation, a session that was cleared
and resumes, and clients that take turns; and what only the oldest does: its hooks alone keep what is tracked, for no module asks.
"""

from __future__ import annotations

import pytest

BOTH = ["oldest", "newest"]
OLDEST_IF_SLOW = [pytest.param("oldest", marks=pytest.mark.slow), "newest"]

# For tests that take `home`: the client is the newest, and with --slow the oldest too, unless the test says this.
both_ends = pytest.mark.parametrize("client_version", BOTH)
