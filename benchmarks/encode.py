"""Speed of the encoder on one core, reading from the archives included, beside two other tools on the same graphs.

Encoding gives shapes, FLOPs, bytes, edges and features; `onnx.shape_inference` gives shapes alone, `onnx-tool` shapes, MACs and
bytes. Each tool starts from the bytes of a member; `onnx-tool`, which needs weights, gets zeros put in before its clock starts.
`onnx-tool` is no dependency: where it is not installed its column is empty.

    python benchmarks/encode.py data/onnx-graphs
"""

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import onnx

from machine import describe, markdown
from nnirp.features import encode
from nnirp.graphs.probing import fill_absent
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive

TARGET_NODES_PER_S = 30_000


def timed(run: Callable[[], object]) -> float:
    """Processor seconds of a call: what others do on this machine meanwhile does not count."""
    started = time.process_time()
    run()
    return time.process_time() - started


def ours(archives: list[Path]) -> tuple[int, int]:
    """Encode every member; returns nodes in the files and nodes after bringing them to the canonical form."""
    raw = canonical = 0
    for archive in archives:
        for _, content in iter_archive(archive):
            model = read_onnx(content)
            raw += len(model.graph.node)
            canonical += len(encode(model, batch=1).op)
    return raw, canonical


def infer_shapes(contents: list[bytes]) -> None:
    for content in contents:
        onnx.shape_inference.infer_shapes(onnx.load_model_from_string(content), data_prop=True)


def read_by_onnx_tool(model: onnx.ModelProto):
    """onnx-tool's graph of a model with weights, its shapes inferred and its nodes profiled."""
    import onnx_tool

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = onnx_tool.Model(model, {"verbose": False}).graph
        graph.shape_infer(None)
        graph.profile()
    return graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path, help="folder of <id>.tar.gz, or one archive")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tool-samples", type=int, default=20, help="graphs that onnx-tool is timed on")
    arguments = parser.parse_args()
    folder: Path = arguments.archives
    archives = [folder] if folder.is_file() else sorted(folder.glob("*.tar.gz"))
    raw, canonical = ours(archives)  # once, so that imports and caches are warm
    seconds = median(timed(lambda: ours(archives)) for _ in range(arguments.repeats))
    contents = [content for archive in archives for _, content in iter_archive(archive)]
    inference = median(timed(lambda: infer_shapes(contents)) for _ in range(arguments.repeats))
    rows = [
        ("nnirp: archive, read, encode", len(contents), raw, f"{seconds:.2f}", f"{raw / seconds:,.0f}", "1.00"),
        ("onnx.shape_inference.infer_shapes", len(contents), raw, f"{inference:.2f}", f"{raw / inference:,.0f}", f"{inference / seconds:.2f}"),
    ]  # fmt: skip
    rows += tool_row(contents, arguments.tool_samples)
    print(describe(("onnx", "onnx-tool", "numpy", "protobuf")))
    print(markdown(("tool", "graphs", "nodes", "CPU s", "nodes/s", "time beside nnirp"), rows))
    verdict = "reached" if raw / seconds >= TARGET_NODES_PER_S else "missed"
    print(f"{canonical} nodes in canonical form; target {TARGET_NODES_PER_S:,} nodes/s {verdict}")


def tool_row(contents: list[bytes], samples: int) -> list[tuple[object, ...]]:
    """onnx-tool on evenly spaced graphs, beside nnirp on the same ones."""
    try:
        import onnx_tool  # noqa: F401
    except ImportError:
        return []
    chosen = contents[:: max(len(contents) // samples, 1)]
    nodes = tool = mine = 0.0
    done = 0
    for content in chosen:
        model = onnx.load_model_from_string(content)
        filled = fill_absent(model)
        if filled is None:
            continue
        try:
            tool_seconds = timed(lambda filled=filled: read_by_onnx_tool(filled))
        except Exception:  # an operator that it does not know
            continue
        done += 1
        nodes += len(model.graph.node)
        tool += tool_seconds
        mine += timed(lambda content=content: encode(read_onnx(content), batch=1))
    if not done:
        return []
    return [(f"onnx-tool ({len(chosen) - done} of {len(chosen)} graphs failed)", done, int(nodes), f"{tool:.2f}", f"{nodes / tool:,.0f}", f"{tool / mine:.2f}")]  # fmt: skip


if __name__ == "__main__":
    main()
