"""Settings shared by all tests: reproducible property tests without deadlines, since machines differ in speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "chronorule",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("chronorule")
