"""Which share of a campaign's wall time goes into timed repeats, and where the rest goes.

    python benchmarks/profiler_overhead.py /tmp/overhead

Wall time begins before the first import of torch and ends with the archives written. A campaign that went on after a stop
shows the sums over its records, and the share of its last sitting.
"""

import json
from collections import Counter

from campaigns import measure, options
from machine import describe, markdown

TARGET = 0.6
PARTS = {
    "timed": "timed repeats",
    "visits": "warm-up and switching between samples",
    "build": "building, preparing and comparing with eager",
    "first_call": "first call",
    "memory": "memory passes",
    "warm_up": "first warm-up",
    "sustained": "energy pass",
    "prepare": "other preparation: imports of the model, disk, reading counters",
}


def main() -> None:
    """Measure, print a table, and say whether the target is reached."""
    arguments = options(__doc__.splitlines()[0], samples=200).parse_args()
    summary = measure(arguments, retest_fraction=0.0)
    seconds: Counter[str] = Counter()
    rounds = 0
    for path in (arguments.folder / "work" / "records").glob("*.json"):
        meta = json.loads(path.read_text(encoding="utf-8"))["_meta"]
        seconds.update(meta.get("seconds", {}))
        rounds += len(meta.get("rounds", ()))
    inside = ("build", "first_call", "memory", "warm_up", "sustained")
    seconds["visits"] -= seconds["timed"]
    seconds["prepare"] -= sum(seconds[part] for part in inside)
    wall = summary.wall_seconds
    rows = [(what, f"{seconds[part]:.1f}", f"{100 * seconds[part] / wall:.1f} %") for part, what in PARTS.items()]
    rest = wall - sum(seconds[part] for part in PARTS)
    rows.append(("calibration, start of processes, writing", f"{rest:.1f}", f"{100 * rest / wall:.1f} %"))
    print(describe(("torch",)))
    print(f"{summary.measured_this_time} samples in {wall:.0f} s, {rounds} rounds, {summary.statuses}")
    print(markdown(("part", "seconds", "of wall"), rows))
    verdict = "reached" if summary.timed_share >= TARGET else "missed"
    print(f"measured ÷ wall {summary.timed_share:.3f}, target {TARGET}: {verdict}")


if __name__ == "__main__":
    main()
