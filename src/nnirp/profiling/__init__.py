"""A model on a runtime becomes measured statistics: loop, monitors, isolation, device fingerprint, drift.

Imports nothing beyond the standard library, torch, numpy and psutil, so that it also runs on a box that has no more.
"""

from importlib import import_module

_PUBLIC = {
    "CampaignSummary": "campaign",
    "run_campaign": "campaign",
    "ProfileSettings": "settings",
    "compare_campaigns": "compare",
    "device_fingerprint": "fingerprint",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
