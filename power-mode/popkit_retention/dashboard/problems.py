"""What an answer of the API cannot be, and what the asker is told: a status and a sentence. Pure."""

from __future__ import annotations


class Problem(Exception):
    """Nothing was changed; the message says what is wrong, and what to do. `status`: of HTTP."""

    status = 400


class NotThere(Problem):
    """Nothing of that name is there."""

    status = 404


class NotOffered(Problem):
    """It cannot be done, or not any more: what was offered has changed since."""

    status = 409


class Unusable(Problem):
    """What it would be told from cannot be used now."""

    status = 503
