"""A converter of another framework, run in a process of its own: it may crash, hang, or change settings of the process it runs in."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import onnx

from nnirp.errors import NnirpError
from nnirp.graphs.reading import read_onnx

SECONDS = 600


def convert(arguments: Sequence[str], output_flag: str, what: str, python: str = sys.executable) -> onnx.ModelProto:
    """Run `python ARGUMENTS OUTPUT_FLAG FILE` and read the file it wrote; `python` may be of another environment.

    Raises:
        NnirpError: it ends without a file; the message has its last line.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "model.onnx"
        command = [python, *arguments, output_flag, str(output)]
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        try:
            done = subprocess.run(
                command,
                env=os.environ | quiet,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NnirpError(
                f"{what}: no end of the conversion after {SECONDS} s; export it to ONNX yourself"
            ) from None
        if not output.is_file():
            lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise NnirpError(
                f"{what} cannot be converted to ONNX (code {done.returncode}): {' '.join(lines[-1:])[:400]}; export it to ONNX yourself"
            )
        return read_onnx(output)
