"""The lab: past sessions replayed under any policy, what each would have saved, cost and broken, and lifetimes fitted to them."""
