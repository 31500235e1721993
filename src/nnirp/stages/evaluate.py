"""evaluate: every prediction scored, and one summary run a predictor."""

import json

from nnirp.evaluation.evaluator import evaluate_many, samples_table
from nnirp.evaluation.leaderboard import leaderboard, write_leaderboard
from nnirp.evaluation.runs import gather_predictions, save_scores, summary_metrics, training_details, training_records
from nnirp.layers.store import pack
from nnirp.project import Project, publishing
from nnirp.splits.index import read_index
from nnirp.tracking.record import context_tags, dataset_revision
from nnirp.tracking.run import start_run
from nnirp.tracking.store import Store


def run(project: Project) -> None:
    """Write `reports/scores/`, `reports/runs/`, `reports/leaderboard/` and `reports/metrics.json`."""
    records = training_records(project.models)
    predictions = gather_predictions(records)
    indices = {
        name: read_index(project.data / "splits" / f"{name}.json") for name in sorted(predictions["protocol"].unique())
    }
    scores = evaluate_many(predictions, samples_table(pack(project.data)), indices)
    details = training_details(records)
    names = ("scores", "runs", "leaderboard", "metrics.json")
    tags = context_tags(project.root) | {
        "dataset_revision": dataset_revision(project.data),
        "device": records[0][1].tags["device"],
    }
    store = Store(project.root)
    with publishing(*(project.reports / name for name in names), work=project.work) as (table, runs, board, metrics):
        save_scores(scores, table)
        write_leaderboard(leaderboard(scores, details), board)
        summary = {}
        for predictor in sorted(predictions["predictor"].unique()):
            cost = details[details["predictor"] == predictor]
            summary[predictor] = summary_metrics(scores, predictor)
            parameters = {"predictor": predictor, "protocols": ", ".join(sorted(cost["protocol"]))}
            run_tags = tags | {"predictor": predictor, "protocol": "all", "seed": "all"}
            with start_run(
                "summary", predictor, runs / predictor, parameters=parameters, tags=run_tags, store=store
            ) as summary_run:
                summary_run.metrics(summary[predictor])
                summary_run.metrics(
                    {"parameters": cost["parameters"].max(), "train_seconds": cost["train_seconds"].sum()}
                )
        rounded = {
            p: {name: round(value, 4) for name, value in sorted(values.items())} for p, values in summary.items()
        }
        metrics.write_text(json.dumps(rounded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
