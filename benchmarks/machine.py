"""What a benchmark ran on: printed above its table, so that a figure is never read without its machine."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path


def describe(packages: Iterable[str]) -> str:
    """One line: processor, cores, memory, Python and the versions of the packages that matter here."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {metadata.version(package).split('+')[0]}")
        except metadata.PackageNotFoundError:
            versions.append(f"{package} absent")
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, " + ", ".join(
        versions
    )


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers are aligned to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    lines = [header, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _is_number(text: str) -> bool:
    return text.strip().rstrip("%×sM ").replace(".", "").replace(",", "").replace("+", "").replace("-", "").isdigit()
