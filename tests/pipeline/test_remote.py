"""The published layers moved to S3-compatible storage by the two commands of the README, against a local S3 server."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYER = "data/profiling"
pytestmark = [pytest.mark.pipeline, pytest.mark.timeout(300)]


@pytest.fixture
def storage():
    """The address of an S3 server that holds one empty bucket, `bucket`."""
    pytest.importorskip("dvc_s3", reason="install the extra `s3`")
    server = pytest.importorskip("moto.server", reason="install the extra `test`").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    import boto3

    address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket="bucket")
    yield address
    server.stop()


@pytest.fixture
def clone(tmp_path):
    """What a clone has of the published profiling layer: the lock file, the remote, no data."""
    for name in ("dvc.yaml", "dvc.lock", "params.yaml", ".dvc/config", ".dvcignore"):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "published").symlink_to(ROOT / "published")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def dvc(clone: Path, *arguments: str) -> None:
    credentials = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=clone,
        env={**os.environ, **credentials, "DVC_NO_ANALYTICS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_layer_pushed_to_s3_comes_back_with_the_same_bytes(clone, storage):
    dvc(clone, "pull", LAYER)
    published = digests(clone / LAYER)
    dvc(clone, "remote", "add", "--default", "s3", "s3://bucket/nnirp")
    dvc(clone, "remote", "modify", "s3", "endpointurl", storage)
    dvc(clone, "push", LAYER)
    shutil.rmtree(clone / "data")
    shutil.rmtree(clone / ".dvc" / "cache")
    (clone / "published").unlink()
    dvc(clone, "pull", LAYER)
    assert digests(clone / LAYER) == published and published
