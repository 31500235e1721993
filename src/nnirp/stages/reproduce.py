"""reproduce: the default matrix trained again beside the published one; not a DVC stage, since it publishes nothing."""

import os
import shutil
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nnirp.evaluation.evaluator import evaluate_many, samples_table
from nnirp.evaluation.runs import gather_predictions, load_scores, training_records
from nnirp.evaluation.tables import protocol_table
from nnirp.layers.store import pack
from nnirp.project import Project
from nnirp.splits.index import read_index
from nnirp.training.matrix import train_protocol


@dataclass(frozen=True)
class Reproduction:
    """Test MAPE in percent of the new training, and of the published one; both protocol × predictor."""

    table: pd.DataFrame
    published: pd.DataFrame

    @property
    def difference(self) -> pd.DataFrame:
        """New minus published, in points of MAPE."""
        return self.table - self.published.reindex(index=self.table.index, columns=self.table.columns)

    def verdict(self) -> str:
        """One line: the largest difference and where it is."""
        gaps = self.difference.stack().dropna()
        if gaps.empty:
            return "nothing published to compare with"
        place = gaps.abs().idxmax()
        return f"largest difference from the published table: {gaps[place]:+.2f} points ({place[1]} on {place[0]}); median {gaps.abs().median():.2f}"

    def as_dict(self) -> dict[str, Any]:
        """Both tables as plain data."""
        return {
            "table": self.table.to_dict("index"),
            "published": self.published.to_dict("index"),
            "verdict": self.verdict(),
        }


def matrix(project: Project) -> list[tuple[str, str]]:
    """Predictor and protocol of every training stage in `dvc.yaml`."""
    import yaml

    content = yaml.safe_load((project.root / "dvc.yaml").read_text(encoding="utf-8"))["stages"]["train"]["matrix"]
    return [(predictor, protocol) for predictor in content["predictor"] for protocol in content["protocol"]]


def run(project: Project) -> Reproduction:
    """Train and score the matrix of `dvc.yaml` in `.work/reproduce`, one process a core.

    Raises:
        NotPulledError: a layer is absent.
    """
    from joblib import Parallel, delayed

    work = project.work / "reproduce"
    shutil.rmtree(work, ignore_errors=True)
    pack(project.data)  # once, before several processes want it
    cells = matrix(project)
    cores = os.cpu_count() or 1
    Parallel(n_jobs=cores, inner_max_num_threads=1)(delayed(_train)(project, work, *cell) for cell in cells)
    predictions = gather_predictions(training_records(work))
    indices = {name: read_index(project.data / "splits" / f"{name}.json") for _, name in cells}
    scores = evaluate_many(predictions, samples_table(pack(project.data)), indices)
    return Reproduction(protocol_table(scores), protocol_table(load_scores(project.reports / "scores")))


def _train(project: Project, work, predictor: str, protocol: str) -> None:
    parameters = project.parameters.train
    train_protocol(
        project.data,
        predictor,
        protocol,
        work / protocol / predictor,
        seeds=parameters.seeds,
        keep_weights=False,
        root=project.root,
        settings=parameters.settings.get(predictor),
    )
