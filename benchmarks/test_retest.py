"""Measures a part of the catalog twice, far apart, and says which statistic of the repeats repeats best and what the drift adds.

    python benchmarks/test_retest.py /tmp/retest --minutes 60

Every sample is measured twice in different processes, with at least half of the campaign between. The command may be stopped or
killed; the same one goes on. It prints a table as soon as there is a pair; `retest.json` in the folder has every pair.
"""

import json

from campaigns import measure, options
from machine import describe, markdown
from nnirp.profiling.statistics import STATISTICS

TARGET = {"median": 0.02, "p90": 0.06}


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def cells(spread: dict[str, dict[str, float]]) -> list[str]:
    """Median and 90th percentile of every statistic, in percent."""
    return [f"{percent(spread[name]['median'])} / {percent(spread[name]['p90'])}" for name in STATISTICS]


def main() -> None:
    """Measure, or go on measuring, and print what was found so far."""
    arguments = options(__doc__.splitlines()[0], samples=110).parse_args()
    summary = measure(arguments, retest_fraction=1.0)
    floor = summary.noise_floor
    print(describe(("torch",)))
    print(f"{summary.samples} samples, {summary.statuses}, {floor['pairs']} measured twice so far")
    if not floor["pairs"]:
        raise SystemExit("no sample was measured twice yet; the same command goes on")
    rows = [("all", floor["pairs"], *cells(floor["runtime"]))]
    for family, spread in floor["runtime_by_family"].items():
        rows.append((family, spread["min"]["count"], *cells(spread)))
    if corrected := floor["runtime_drift_corrected"]:
        rows.append(("all, divided by the calibration", corrected["min"]["count"], *cells(corrected)))
    print("relative test–retest difference, median / 90th percentile, %")
    print(markdown(("samples", "pairs", *STATISTICS), rows))
    if drift := floor["drift"]:
        print(
            f"the calibration itself differs by {percent(drift['median'])} / {percent(drift['p90'])} % between the two"
        )
    if ram := floor["peak_ram"]:
        print(f"peak memory differs by {percent(ram['median'])} / {percent(ram['p90'])} %")
    print(f"bad rounds {percent(summary.bad_rounds)} %, samples without enough good repeats {summary.bad_moments}")
    print(f"measured ÷ wall of this sitting {summary.timed_share:.2f}, floor {json.dumps(summary.floor)}")
    best = floor["best_statistic"]
    reached = all(floor["runtime"][best][part] <= most for part, most in TARGET.items())
    print(f"repeats best: {best}; target 2 % / 6 %: {'reached' if reached else 'missed'}")
    print("complete" if summary.complete else "not complete: the same command goes on")


if __name__ == "__main__":
    main()
