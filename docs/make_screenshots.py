"""Take the pictures of the README: the MLflow comparison and the report, in a headless Chromium.

Run `make ui` in one terminal and `.venv/bin/python docs/make_screenshots.py` in another.
"""

import shutil
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from nnirp.project import find_project
from nnirp.tracking.store import EXPERIMENTS, Store

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def main(server: str = "http://127.0.0.1:5000") -> None:
    """Write docs/images/mlflow-compare.png and docs/images/report.png."""
    project = find_project()
    images = project.root / "docs" / "images"
    store = Store(project.root)
    experiment = store.client.get_experiment_by_name(EXPERIMENTS["summary"]).experiment_id
    runs = ",".join(f'"{run.info.run_id}"' for run in store.client.search_runs([experiment]))
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, "--window-size=1500,1050", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.get(f'{server}/#/compare-runs?runs=[{runs}]&experiments=["{experiment}"]')
            WebDriverWait(driver, 60).until(lambda d: "mape" in d.find_element(By.TAG_NAME, "body").text)
            time.sleep(3)
            for close in driver.find_elements(By.CSS_SELECTOR, "button[aria-label='Close']"):
                driver.execute_script("arguments[0].click()", close)  # the assistant covers a quarter of the page
            metric = next(e for e in driver.find_elements(By.XPATH, "//*[text()='mape/cluster']") if e.is_displayed())
            driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", metric)
            time.sleep(1)
            driver.save_screenshot(str(images / "mlflow-compare.png"))
            driver.get((project.reports / "comparison.html").as_uri())
            time.sleep(1)
            driver.save_screenshot(str(images / "report.png"))
        finally:
            driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
