"""How much hypothesis tries. `HYPOTHESIS_PROFILE=mutants` tries little: tests/mutants runs these tests over and over."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("policy", max_examples=100, **_COMMON)
settings.register_profile("mutants", max_examples=40, derandomize=True, database=None, **_COMMON)
settings.register_profile("thorough", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "policy"))
