"""What is transferred. One file per kind, each defining WORKLOAD.

`prepare` makes the files once per content (cached by digest below the cache folder) and says what to ask for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longlook.job import Content
from longlook.model import Scalar


@dataclass(frozen=True)
class Parameter:
    """A parameter of a workload; `kind` is `size` (bytes, written 30KB), `count`, `time` (seconds) or `text`."""

    kind: str
    help: str
    default: Scalar | None = None  # None: required
    minimum: float | None = None
    maximum: float | None = None
    omitted_at_default: bool = False  # then a trial does not mention it, so that older trials keep their ids


@dataclass(frozen=True)
class WorkloadKind:
    """A kind of workload. Names of size parameters end in `_bytes`; study files may write them without the ending."""

    name: str
    summary: str
    parameters: Mapping[str, Parameter]
    prepare: Callable[[Mapping[str, Scalar]], Content]
