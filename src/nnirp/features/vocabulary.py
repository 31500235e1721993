"""The operator vocabulary: 88 ONNX operators and `<UNK>` at index 0, fixed in a versioned file with a digest."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from nnirp.errors import InputError

UNKNOWN = "<UNK>"
_FILE = Path(__file__).with_name("vocabulary.json")


def vocabulary_digest(version: int, operators: tuple[str, ...]) -> str:
    """SHA-256 over the version and the operators in their order, which is what an operator's index means."""
    canonical = json.dumps({"version": version, "operators": list(operators)}, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Vocabulary:
    """Operator names in index order; `operators[0]` is `<UNK>`."""

    version: int
    operators: tuple[str, ...]
    digest: str

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.operators)}

    def __len__(self) -> int:
        return len(self.operators)

    def require(self, digest: str, where: str) -> None:
        """Refuse features that were encoded with another vocabulary.

        Raises:
            InputError: `digest` is not this vocabulary's.
        """
        if digest != self.digest:
            raise InputError(
                f"{where}: encoded with vocabulary {digest[:12]}, this version reads {self.digest[:12]} "
                f"(version {self.version}); encode the graphs again: `nnirp encode`"
            )


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary file and check its digest.

    Raises:
        InputError: the digest in the file is not that of its operators, or index 0 is not `<UNK>`.
    """
    content = json.loads(path.read_text())
    operators = tuple(content["operators"])
    digest = vocabulary_digest(content["version"], operators)
    if digest != content["digest"]:
        raise InputError(f"{path}: digest {content['digest'][:12]} does not match its operators ({digest[:12]})")
    if operators[0] != UNKNOWN or len(set(operators)) != len(operators):
        raise InputError(f"{path}: expected distinct operators with {UNKNOWN} at index 0")
    return Vocabulary(content["version"], operators, digest)


@lru_cache(maxsize=1)
def load_vocabulary() -> Vocabulary:
    """The vocabulary that this version of the package encodes with."""
    return read_vocabulary(_FILE)
