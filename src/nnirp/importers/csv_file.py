"""A CSV file as its columns and lines."""

import csv
from collections.abc import Sequence
from pathlib import Path

from nnirp.errors import InputError

DELIMITERS = ",;\t"


def read_csv(
    path: Path, expected: str, needed: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]]:
    """The columns of a file and its lines, each with its number and its cells without surrounding spaces.

    Args:
        path: UTF-8, with a header; cells are separated by commas, semicolons or tabs.
        expected: what messages say should have been named.
        needed: columns that must be there.

    Raises:
        InputError: the file is absent or no such file, a column is missing or there twice, or a line has too many cells.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
            delimiter = max(DELIMITERS, key=header.count)
            stream.seek(0)
            rows = [(number, cells) for number, cells in enumerate(csv.reader(stream, delimiter=delimiter), 1) if cells]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; name {expected}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a readable CSV file ({error}); name {expected}") from None
    columns = tuple(name.strip() for name in rows[0][1]) if rows else ()
    if len(set(columns)) < len(columns):
        raise InputError(f"{path} has two columns of one name; rename one")
    if absent := [name for name in needed if name not in columns]:
        raise InputError(
            f"{path} has no column {', '.join(absent)}, it has {', '.join(columns) or 'none'}; name {expected}"
        )
    lines = []
    for number, cells in rows[1:]:
        if len(cells) > len(columns):
            raise InputError(f"{path}, line {number}: {len(cells)} cells, the header has {len(columns)}")
        padded = [cell.strip() for cell in cells] + [""] * (len(columns) - len(cells))
        lines.append((number, dict(zip(columns, padded, strict=True))))
    return columns, lines
