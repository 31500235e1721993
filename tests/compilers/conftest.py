import json

import pytest

from nnirp.compilers.configuration import load_grid
from nnirp.compilers.rows import blank, judged


@pytest.fixture(scope="session")
def grid():
    return load_grid()


@pytest.fixture
def measurement(grid):
    return grid.measurement


@pytest.fixture
def make_row(measurement):
    """A row as a sweep writes it; `latency` in milliseconds is the median of seven rounds that differ by `spread` at most."""

    def make(
        compiler, model, batch, latency=None, *, experiment="architectures", device="cpu", spread=0.005, **changes
    ):
        row = blank(
            device=device,
            compiler=compiler,
            experiment=experiment,
            model=model,
            run=f"{experiment}_{model}_b{batch}",
            batch=batch,
            precision="fp32",
            threads=1,
            status="ok" if latency else "timeout",
            error=None if latency else "no result within 600 s",
            settings=json.dumps({"tuned": False}) if compiler == "tvm" else "{}",
            note="untuned" if compiler == "tvm" else None,
            started="2026-12-03T00:00:00+00:00",
        )
        row |= changes
        if latency:
            moments = [1 + spread * d / 3 for d in range(-3, 4)]
            row["rounds_ms"] = ";".join(" ".join(f"{latency * m * r:.6f}" for r in (0.999, 1, 1.001)) for m in moments)
            row = judged(row, measurement, None)
        return row

    return make
