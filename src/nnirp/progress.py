"""Progress for people: a bar on a terminal, a log line now and then elsewhere."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)
Report = Callable[..., None]


@contextmanager
def progress(title: str, *, every_s: float = 15.0) -> Iterator[Report]:
    """Yield `report(done, total, note="")`.

    Args:
        title: what is being done, for example `export`.
        every_s: seconds between two log lines where standard error is not a terminal.
    """
    if sys.stderr.isatty():
        with _bar(title) as report:
            yield report
        return
    started = last = time.monotonic()

    def report(done: int, total: int, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < every_s:
            return
        last = now
        left = (now - started) / done * (total - done) if done else float("nan")
        log.info("%s: %d of %d, %.0f s left %s", title, done, total, left, note)

    yield report


@contextmanager
def _bar(title: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, note="")

        def report(done: int, total: int, note: str = "") -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield report
