"""Replay past sessions under any policy, to measure its savings, costs and failures."""
