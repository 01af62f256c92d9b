"""`longlook cache`: the caches of this machine, and the store that several machines share; no logic of their own."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core import InputError, codec, print_bytes
from longlook.terminal import (
    AsJson,
    EngineOptions,
    Printer,
    Renderings,
    StudyChanges,
    document_printer,
    expand_options,
    name_store,
)

if TYPE_CHECKING:
    from longlook.core import Plan
    from longlook.pipeline import Exchanged
    from longlook.store import Damaged, Held

_SAYS_EVERY_S = 5.0

cache_app = typer.Typer(
    help="Show, verify, prune and copy finished trials, here and in the store that machines share.",
    no_args_is_help=True,
)

StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="The shared store; default: LONGLOOK_STORE.")
]
What = Annotated[
    str | None, typer.Argument(metavar="[WHAT]", help="A study, or a run folder; default: everything there is.")
]


@cache_app.command("show")
def cache_show(store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Print where trials are kept, on this machine and in the shared store, and how much is there."""
    from longlook.core import cache_root
    from longlook.store import TRIALS, SharedStore, held_by, held_here

    name_store(store, read_only=False)
    here = held_here()
    shared = SharedStore.named()
    there = None if shared is None else held_by(shared)
    trials = next((held for held in here if held.kind == TRIALS), None)
    lines = [f"{cache_root()}: {_holdings(here, trials is None)}"]
    data = {
        "place": str(cache_root()),
        "entries": trials.entries if trials else 0,
        "bytes": trials.bytes if trials else 0,
        "kinds": codec.encode(here),
        "store": None,
    }
    if shared is not None and there is not None:
        lines.append(f"{shared.url}: {_holdings(there, not there)}")
        data["store"] = {"place": shared.url, "kinds": codec.encode(there)}
    document_printer(as_json=as_json).show(Renderings(lambda: lines, lambda: data))


@cache_app.command("verify")
def cache_verify(
    remove: Annotated[bool, typer.Option("--remove", help="Remove what is damaged.")] = False,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Read everything that is kept here and in the shared store, and name what is damaged. Exit 1 if anything is."""
    from longlook.store import SharedStore, verify_here, verify_store

    name_store(store, read_only=False)
    printer = document_printer(as_json=as_json)
    shared = SharedStore.named()
    here, damaged = verify_here(remove=remove, report=_reporter(printer, "entries here"))
    there = 0
    if shared is not None:
        there, worse = verify_store(shared, remove=remove, report=_reporter(printer, "entries of the store"))
        damaged += worse
    counts = {"here": here, "store": there if shared is not None else None}
    data = {"entries": counts, "damaged": codec.encode(damaged)}
    printer.show(Renderings(lambda: _verified(counts, damaged), lambda: data))
    if damaged:
        raise typer.Exit(1)


@cache_app.command("prune")
def cache_prune(
    unused_for: Annotated[
        str | None, typer.Option(metavar="TIME", help="For example 12h, 30d or 2w; default here: 30d.")
    ] = None,
    in_store: Annotated[
        bool, typer.Option("--in-store", help="Of the shared store instead: what was written that long ago.")
    ] = False,
    most: Annotated[
        str | None, typer.Option(metavar="SIZE", help="With --in-store: then the oldest, until this much is left.")
    ] = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Remove trials that no run has used for some time; of the shared store entries that were written long ago."""
    from longlook.core import ContentStore, DerivedCache, cache_root
    from longlook.store import SharedStore, prune_store

    name_store(store, read_only=False)
    if not in_store:
        if most is not None:
            raise InputError("--most goes with --in-store", "longlook cache prune --in-store --most 10GB")
        unused_for_s = _duration_s(unused_for or "30d")
        pruned = ContentStore(cache_root()).prune(unused_for_s)
        for derived in DerivedCache:
            ContentStore(derived.root()).prune(unused_for_s)
        what = "trials"
    else:
        if unused_for is None and most is None:
            raise InputError("--in-store needs an age or a size", "--unused-for 90d, or --most 10GB")
        shared = SharedStore.named()
        if shared is None:
            raise InputError("no store is named", "--store URL, or LONGLOOK_STORE=URL")
        older_than_s = None if unused_for is None else _duration_s(unused_for)
        pruned = prune_store(shared, older_than_s=older_than_s, most_bytes=None if most is None else _size(most))
        what = "entries of the store"
    removed = f"removed {pruned.removed} {what} ({print_bytes(pruned.removed_bytes)})"
    line = f"{removed}, kept {pruned.kept} ({print_bytes(pruned.kept_bytes)})"
    document_printer(as_json=as_json).show(Renderings(lambda: [line], lambda: codec.encode(pruned)))


@cache_app.command("push")
@expand_options
def cache_push(engine: EngineOptions, changes: StudyChanges, what: What = None, as_json: AsJson = False) -> None:
    """Put trials, measurements, programs and the guest kernel of this machine into the shared store. Exit 3 if any
    could not be put."""
    from longlook.pipeline import push_all, push_plan
    from longlook.store import required_sharing

    printer = document_printer(as_json=as_json)
    planned = None if what is None else _planned(what, engine, changes)
    with required_sharing(_say(printer), writes=True) as sharing:
        if planned is None:
            done = push_all(sharing, _say(printer))
        else:
            plan, metrics = planned
            done = push_plan(plan, metrics, engine.run_options().engine, sharing, _say(printer))
        failed = sum(sharing.left.values())
    lines = _exchanged(done, "put", "were there", "not here")
    printer.show(Renderings(lambda: lines, lambda: codec.encode(done)))
    if failed:
        raise typer.Exit(3)


@cache_app.command("pull")
@expand_options
def cache_pull(engine: EngineOptions, changes: StudyChanges, what: What = None, as_json: AsJson = False) -> None:
    """Take trials, measurements, programs and the guest kernel from the shared store to this machine."""
    from longlook.pipeline import pull_all, pull_plan
    from longlook.store import required_sharing

    printer = document_printer(as_json=as_json)
    planned = None if what is None else _planned(what, engine, changes)
    with required_sharing(_say(printer)) as sharing:
        if planned is None:
            done = pull_all(sharing, _say(printer))
        else:
            plan, metrics = planned
            done = pull_plan(plan, metrics, engine.run_options().engine, sharing, _say(printer))
    lines = _exchanged(done, "taken", "were here", "not in the store")
    printer.show(Renderings(lambda: lines, lambda: codec.encode(done)))


def _planned(what: str, engine: EngineOptions, changes: StudyChanges) -> "tuple[Plan, Sequence[str]]":
    """Return the plan of a run folder or of a study, and the metrics that are measured of its trials."""
    if (Path(what) / "manifest.json").is_file():
        from longlook.pipeline import open_adopted

        folder = open_adopted(Path(what))
        return folder.plan, folder.study.metrics
    from longlook.study import make_plan

    study = changes.find(what, engine.engine)
    return make_plan(study, changes.levels), study.metrics


def _say(printer: Printer) -> Callable[[str], None]:
    return lambda text: printer.report(text, event="note", text=text)


def _reporter(printer: Printer, what: str) -> Callable[[int, int], None]:
    """Return a function that says how far a count is, every few seconds."""
    said_s = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal said_s
        if time.monotonic() - said_s >= _SAYS_EVERY_S and done < total:
            said_s = time.monotonic()
            text = f"{done} of {total} {what}"
            printer.report(text, event="note", text=text)

    return report


def _holdings(holdings: "Iterable[Held]", is_without_trials: bool) -> str:
    from longlook.store import named

    parts = [f"{held.entries} {named(held.kind, held.entries)}, {print_bytes(held.bytes)}" for held in holdings]
    return "; ".join([*(["0 trials"] if is_without_trials else []), *parts])


def _verified(counts: dict[str, int | None], damaged: "Sequence[Damaged]") -> Iterator[str]:
    for each in damaged:
        removed = ", removed" if each.removed else ""
        yield f"damaged: {each.kind}/{each.key} ({each.place}): {each.reason}{removed}"
    read = [f"{counts['here']} entries here"]
    if counts["store"] is not None:
        read.append(f"{counts['store']} in the store")
    yield f"read {', '.join(read)}; damaged: {len(damaged) or 'none'}"


def _exchanged(done: "Exchanged", copied: str, there: str, missing: str) -> list[str]:
    from longlook.store import KINDS, named

    lines = []
    for kind in KINDS:
        counts = [
            (done.copied.get(kind, 0), copied),
            (done.there.get(kind, 0), there),
            (done.missing.get(kind, 0), missing),
        ]
        if any(count for count, _ in counts):
            said = ", ".join(f"{count} {state}" for count, state in counts if count)
            lines.append(f"{named(kind, 2)}: {said}")
    return lines or ["nothing to copy"]


def _duration_s(text: str) -> float:
    from longlook.core import UnitError, parse_duration

    try:
        return parse_duration(text)
    except UnitError as error:
        raise InputError(f"--unused-for {text}: {error}") from error


def _size(text: str) -> int:
    from longlook.core import UnitError, parse_size

    try:
        return parse_size(text)
    except UnitError as error:
        raise InputError(f"--most {text}: {error}") from error
