"""A kept predictor as an MLflow model: in a folder, or in a model registry."""

import shutil
import tempfile
from pathlib import Path

from nnirp.prediction.kept import Kept

CODE = Path(__file__).with_name("model.py")
MANIFESTS = ("dataset.json", "campaign/run.json", "campaign/summary.json")


def save_served_model(kept: Kept, manifests: Path, folder: Path) -> None:
    """Write the MLflow model into a folder that does not exist yet; `mlflow models serve --model-uri FOLDER` serves it.

    Args:
        kept: the predictor.
        manifests: of the dataset that it was trained on.
        folder: to write.
    """
    import mlflow

    with tempfile.TemporaryDirectory() as place:
        root = gather(kept, manifests, Path(place) / "root")
        mlflow.pyfunc.save_model(
            str(folder), python_model=str(CODE), artifacts={"root": str(root)}, pip_requirements=[]
        )


def register_served_model(kept: Kept, manifests: Path, name: str, uri: str) -> str:
    """Log the model into an MLflow store and register it; returns the URI to serve, `models:/<name>/<version>`.

    Args:
        kept, manifests: as for `save_served_model`.
        name: in the registry.
        uri: of the MLflow store.
    """
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    with tempfile.TemporaryDirectory() as place, mlflow.start_run(run_name=f"serve {name}"):
        root = gather(kept, manifests, Path(place) / "root")
        logged = mlflow.pyfunc.log_model(
            name=name,
            python_model=str(CODE),
            artifacts={"root": str(root)},
            pip_requirements=[],
            registered_model_name=name,
        )
    return f"models:/{name}/{logged.registered_model_version}"


def gather(kept: Kept, manifests: Path, root: Path) -> Path:
    """Copy what an answer needs into a root of its own: weights, run record and the manifests that are there."""
    cell = root / "models" / kept.rests_on["protocol"] / kept.rests_on["predictor"] / kept.weights.parent.name
    shutil.copytree(kept.weights, cell / "weights")
    shutil.copy(kept.weights.parent / "run.json", cell)
    for name in MANIFESTS:
        if (manifests / name).is_file():
            (root / "manifests" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(manifests / name, root / "manifests" / name)
    return root
