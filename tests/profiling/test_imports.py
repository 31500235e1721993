import subprocess
import sys

PROGRAM = """
import importlib, pathlib, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")

import torch, numpy, psutil
BLOCKED = {"pydantic", "onnx", "onnxruntime", "onnxscript", "pandas", "mlflow", "dvc", "yaml", "rich", "typer", "scipy", "sklearn",
           "transformers", "timm", "torchvision", "torch_geometric", "zstandard", "lightning", "optuna", "tvm", "openvino"}
sys.meta_path.insert(0, Block())
import nnirp
root = pathlib.Path(nnirp.__file__).parent
for folder in ("profiling", "runtimes"):
    for path in sorted((root / folder).rglob("*.py")):
        name = ".".join(("nnirp", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        importlib.import_module(name)
"""


def test_profiling_and_runtimes_import_with_torch_numpy_and_psutil_alone():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
