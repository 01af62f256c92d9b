"""Recorded pages on a terminal."""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from longlook.provision.recorded.har import PageContradiction
from longlook.provision.recorded.page import RecordedPage, evidence_counts


def page_summary(
    digest: str, page: RecordedPage, implausible: Sequence[PageContradiction] = ()
) -> Iterator[Text | Table]:
    """Yield the page's size and origins, its phases, how dependences are known, what is left out or changed, and what
    of its recording contradicts the rest.
    """
    origins = f"{len(page.origins)} origin{'s' if len(page.origins) != 1 else ''}"
    yield Text(
        f"{len(page.objects)} objects, {_size(page.size_bytes)}, {origins}, recorded by {page.creator}: {digest}"
    )
    table = Table("phase", "objects", "bytes", "kinds", box=None)
    for number, objects in enumerate(page.phases):
        kinds = {item.kind: sum(other.kind == item.kind for other in objects) for item in objects}
        total = _size(sum(item.size_bytes for item in objects))
        table.add_row(str(number), str(len(objects)), total, _counted(kinds))
    yield table
    yield Text(f"dependences: {_counted(evidence_counts(page))}")
    for what, counts in (("left out", page.skipped), ("changed", page.changed)):
        if counts:
            yield Text(f"{what}: {_counted(counts)}", style="yellow")
    for found in implausible:
        yield Text(f"implausible: {found.problem} ({found.check})", style="yellow")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1000:,.1f} KB"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in counts.items())
