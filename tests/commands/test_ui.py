"""The MLflow UI, opened by a headless browser on the compare page of the summary runs."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from nnirp.tracking.run import start_run
from nnirp.tracking.store import EXPERIMENTS, Store

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def clone(tmp_path):
    """A folder that looks like a clone which only pulled: run records, no MLflow store."""
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).touch()
    for predictor, error in (("linear", 0.31), ("additive_roofline", 0.11)):
        folder = tmp_path / "reports" / "runs" / predictor
        with start_run("summary", predictor, folder, parameters={}, tags={"predictor": predictor}) as run:
            run.metrics({"mape/random": error / 2, "mape/cluster": error})
    return tmp_path


@pytest.fixture
def server(clone):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "DVC_ROOT": str(clone)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "nnirp.cli", "ui", "--port", str(port)],
        cwd=clone,
        env=environment,
        start_new_session=True,
    )
    try:
        yield _ready(f"http://127.0.0.1:{port}", process)
    finally:
        os.killpg(process.pid, 15)
        process.wait(20)


def _ready(url: str, process: subprocess.Popen) -> str:
    for _ in range(120):
        assert process.poll() is None, "the UI ended"
        try:
            with urlopen(url + "/health", timeout=2) as answer:
                if answer.status == 200:
                    return url
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the UI did not answer within a minute")


@pytest.mark.browser
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
def test_a_browser_compares_the_summary_runs(clone, server, tmp_path):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    store = Store(clone, f"sqlite:///{clone / 'mlruns' / 'mlflow.db'}")
    experiment = store.client.get_experiment_by_name(EXPERIMENTS["summary"])
    runs = store.client.search_runs([experiment.experiment_id])
    assert len(runs) == 2
    ids = ",".join(f'"{run.info.run_id}"' for run in runs)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*QUIET, "--window-size=1400,1000", f"--user-data-dir={tmp_path / 'browser'}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.get(f'{server}/#/compare-runs?runs=[{ids}]&experiments=["{experiment.experiment_id}"]')
        page = WebDriverWait(driver, 60).until(
            lambda d: (text := d.find_element(By.TAG_NAME, "body").text) and "mape/cluster" in text and text
        )
    finally:
        driver.quit()
    assert "linear" in page and "additive_roofline" in page and "mape/random" in page


def test_the_screenshots_of_the_readme_exist():
    root = Path(__file__).parents[2]
    readme = (root / "README.md").read_text()
    pictures = [part.split(")")[0] for part in readme.split("](")[1:] if part.split(")")[0].endswith(".png")]
    assert pictures and all((root / picture).is_file() for picture in pictures)
