"""profile: every sample of the catalog measured on this machine."""

import json
import logging
import shutil
from typing import Any

from nnirp.catalog import Catalog
from nnirp.errors import NnirpError
from nnirp.profiling.campaign import CampaignSummary, run_campaign
from nnirp.profiling.compare import read_campaign
from nnirp.profiling.settings import ProfileSettings
from nnirp.progress import progress
from nnirp.project import Project, publishing
from nnirp.tracking.campaign import record_families
from nnirp.tracking.record import context_tags, device_name
from nnirp.tracking.run import Run, start_run
from nnirp.tracking.store import Store

log = logging.getLogger(__name__)


def run(
    project: Project, *, keep_journal: bool = False, budget_minutes: float | None = None, **overrides: Any
) -> dict[str, Any]:
    """Write `profiling/` and `manifests/campaign/` and return the campaign's summary.

    Args:
        keep_journal: keep the finished records in the work folder, so that the same call measures nothing again. A DVC
            stage clears them once published, since DVC calls it only to measure anew.
        budget_minutes: what is measured by then is published; the same call goes on.
        overrides: settings instead of those of `params.yaml`.

    Raises:
        NnirpError: nothing was measured.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    settings = ProfileSettings.from_mapping(project.parameters.profile.model_dump() | given)
    catalog = Catalog.from_json(project.manifests / "catalog.json")
    journal = project.work / "profile"
    targets = (project.data / "profiling", project.manifests / "campaign")
    parameters = {
        f"profile.{name}": ", ".join(value) if isinstance(value, list) else value
        for name, value in settings.to_dict().items()
    }
    with publishing(*targets, work=project.work) as (archives, campaign), progress("profile") as report:
        name = f"{settings.runtime} on {settings.device}"
        with start_run(
            "profile", name, campaign, parameters=parameters, tags=context_tags(project.root), store=Store(project.root)
        ) as tracked:
            summary = run_campaign(
                catalog,
                settings,
                archives,
                journal,
                budget_minutes=budget_minutes,
                on_progress=report,
                manifest=campaign / "retest.json",
            )
            if not summary.statuses.get("ok"):
                reason = next(iter(summary.failed.values()), "no sample was started")
                raise NnirpError(f"no sample was measured ({reason}); run `nnirp doctor`, then the same command again")
            _record(tracked, summary)
            try:
                records = read_campaign(archives).values()
                record_families(campaign, records, tracked.record, summary.noise_floor, Store(project.root))
            except ImportError as error:  # without pyarrow the measurements are published all the same
                log.warning("no runs by family (%s); pip install 'nnirp[train]' and run the same command again", error)
            content = summary.to_dict() | {"archives": len(summary.archives)}
            (campaign / "summary.json").write_text(
                json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8"
            )
    if summary.complete and not keep_journal:
        shutil.rmtree(journal)
    return content


def _record(tracked: Run, summary: CampaignSummary) -> None:
    floor = summary.noise_floor
    tracked.metrics({f"status/{status}": count for status, count in summary.statuses.items()})
    tracked.metrics(
        {
            name: getattr(summary, name)
            for name in ("samples", "timed_seconds", "wall_seconds", "timed_share", "bad_moments", "bad_rounds")
        }
    )
    for part, by_statistic in (
        ("retest", floor.get("runtime")),
        ("retest_corrected", floor.get("runtime_drift_corrected")),
    ):
        for statistic, spread in (by_statistic or {}).items():
            tracked.metrics({f"{part}_{name}/{statistic}": spread[name] for name in ("median", "p90")})
    tracked.record.tags["device"] = device_name(summary.fingerprint or {})
    tracked.artifact("summary.json")
    tracked.artifact("retest.json")
