"""Rounds: the timed visits to one sample, which of them are good, when there are enough, and what they come to.

A record keeps every raw time: `_meta.times_ms` in the order taken and `_meta.rounds`, whose entries hold the number of
repeats (`count`) that belong to them. The verdict over a round is drawn anew whenever the campaign knows a lower floor.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nnirp.profiling.calibration import drift
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.statistics import summarise

AGREEING = 3  # rounds near the fastest repeat that make it a floor and no accident
LEAST_SHARE = 0.5  # of the planned rounds, before repeats may end early

Floor = Mapping[str, float] | None
Meta = Mapping[str, Any]


def each_round(meta: Meta) -> Iterator[tuple[dict[str, Any], list[float]]]:
    """The rounds of a record with their repeats; a record without rounds is one good round."""
    times = meta["times_ms"]
    if "rounds" not in meta:
        yield {"good": True, "count": len(times)}, list(times)
        return
    first = 0
    for entry in meta["rounds"]:
        yield entry, times[first : first + entry["count"]]
        first += entry["count"]


def disturbances(entry: Meta, floor: Floor, settings: ProfileSettings) -> list[str]:
    """Why the moment of a round was a bad one; empty for a good moment."""
    slower = slowdown(entry, floor)
    reasons = [f"calibration {100 * slower:.0f} % slower than the floor"] if slower > settings.drift_threshold else []
    taken = entry.get("taken") or {}
    for name, what in (("others", "used by others"), ("stolen", "stolen by the hypervisor")):
        if taken.get(name, 0.0) > settings.contention_threshold:
            reasons.append(f"{100 * taken[name]:.0f} % of the cores {what}")
    if taken.get("gpu_processes"):
        reasons.append(f"{taken['gpu_processes']} other processes on the GPU")
    return reasons


def slowdown(entry: Meta, floor: Floor) -> float:
    """Slowdown of the machine around a round, the larger of before and after."""
    return max(drift(entry.get("before"), floor), drift(entry.get("after"), floor))


def good_repeats(meta: Meta, floor: Floor, settings: ProfileSettings) -> list[list[float]]:
    """Repeats of the good rounds, a list a round."""
    return [times for entry, times in each_round(meta) if not disturbances(entry, floor, settings)]


def finished(meta: Meta, floor: Floor, settings: ProfileSettings) -> str:
    """Why a sample needs no further visit, or an empty string while it needs one.

    `floor`: half of the rounds are done and three good ones came within the tolerance of the fastest repeat.
    `max_repeats`, `time_budget`: reached, with enough good repeats. `patience`: reached without them.
    """
    good = good_repeats(meta, floor, settings)
    count = sum(map(len, good))
    spent, total = sum(meta["times_ms"]) / 1e3, len(meta["times_ms"])
    if count >= settings.min_repeats:
        least = min(map(min, good)) * (1 + settings.floor_tolerance)
        agreeing = sum(min(times) <= least for times in good)
        if agreeing >= AGREEING and len(meta["rounds"]) >= LEAST_SHARE * settings.rounds:
            return "floor"
        if count >= settings.max_repeats:
            return "max_repeats"
        if spent >= settings.time_budget_s:
            return "time_budget"
    patience = 1 + settings.patience
    if total >= settings.min_repeats and (
        spent >= patience * settings.time_budget_s or total >= patience * settings.max_repeats
    ):
        return "patience"
    return ""


def conclude(record: dict, floor: Floor, settings: ProfileSettings) -> dict:
    """Mark the rounds of a record and summarise the repeats of the good ones; all of them where too few are good.

    Doing it again with the same floor changes nothing.
    """
    meta = record["_meta"]
    if meta["status"] != "ok" or "rounds" not in meta:
        return record
    for entry in meta["rounds"]:
        entry["reasons"] = disturbances(entry, floor, settings)
        entry["good"] = not entry["reasons"]
    good = [time for times in good_repeats(meta, floor, settings) for time in times]
    enough = len(good) >= settings.min_repeats
    kept = good if enough else meta["times_ms"]
    record["Runtime (ms)"] = summarise(kept)
    used = [entry for entry in meta["rounds"] if entry["good"] or not enough]
    record["CPU Utilization (%)"] = summarise([entry["cpu_percent"] for entry in used])
    meta["kept"] = "good" if enough else "all"
    meta["moment"] = {
        "rounds": len(meta["rounds"]),
        "good_rounds": sum(entry["good"] for entry in meta["rounds"]),
        "good_repeats": len(good),
        "drift": max(slowdown(entry, floor) for entry in used),
        "reasons": []
        if enough
        else [f"{len(good)} good repeats of {len(meta['times_ms'])}, {settings.min_repeats} wanted"],
    }
    first, last = meta["rounds"][0], meta["rounds"][-1]
    meta["calibration"] = {"before": first.get("before"), "after": last.get("after"), "floor": floor}
    return record


def kept_times(meta: Meta) -> list[float]:
    """The repeats that the statistics of a record are made of."""
    return [t for entry, times in each_round(meta) if meta.get("kept") == "all" or entry["good"] for t in times]


def add_rounds(first: dict, later: dict) -> dict:
    """The first record with the rounds of a later sitting added; a measurement wins over a failure."""
    attempts = first["_meta"]["attempts"] + 1
    if first["_meta"]["status"] != "ok":
        later["_meta"]["attempts"] = attempts
        return later
    meta = first["_meta"]
    meta["attempts"] = attempts
    if later["_meta"]["status"] == "ok":
        sitting = 1 + max(entry["sitting"] for entry in meta["rounds"])
        meta["rounds"] += [{**entry, "sitting": sitting} for entry in later["_meta"]["rounds"]]
        meta["times_ms"] += later["_meta"]["times_ms"]
        meta["seconds"] = {n: s + later["_meta"]["seconds"][n] for n, s in meta["seconds"].items()}
    return first


def calibrations(metas: Sequence[Meta]) -> Iterator[Mapping[str, float]]:
    """Every calibration of some records, each once although neighbouring rounds share it."""
    seen = set()
    for meta in metas:
        for entry in meta.get("rounds", ()):
            for found in (entry.get("before"), entry.get("after")):
                if found and (key := tuple(found.values())) not in seen:
                    seen.add(key)
                    yield found
