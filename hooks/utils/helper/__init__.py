"""The resident helper: one process per session, which the mod (hooks/register.ts) asks about every result before it enters the context.

It starts with `popkit serve`, answers over a socket that only the user can open, and goes with the session. A guest like the hooks:
whatever happens to it, the row goes on as it came.
"""
