"""Replays past sessions under any policy: what each would have saved, cost and broken."""
