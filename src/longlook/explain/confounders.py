"""What could have confounded two arms and is the same in both, and what their traces contradict of themselves."""

from collections.abc import Iterator, Mapping

from longlook.explain.pair import Pair


def equal_conditions(pairs: Mapping[int, Pair]) -> Iterator[str]:
    """Yield sentences about what is equal in all rounds, and about settings in which the arms differ by intention."""
    both = [(pair.loser.trial, pair.winner.trial) for pair in pairs.values()]
    checks = (
        ("link and its seed", all((a.links, a.seed) == (b.links, b.seed) for a, b in both)),
        ("workload", all(a.workload == b.workload for a, b in both)),
        ("draws of the round", all(a.drawn == b.drawn for a, b in both)),
        ("connection state", all(a.connection == b.connection for a, b in both)),
        ("protocol", all(a.protocol == b.protocol for a, b in both)),
        ("client", all(a.client == b.client for a, b in both)),
        ("server", all(a.server == b.server for a, b in both)),
    )
    for name, same in checks:
        yield f"{name}: {'the same in both arms' if same else 'differs between the arms'}"


def implausible(pairs: Mapping[int, Pair], labels: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each arm and each kind of contradiction in its traces, the first round's, and how many more.

    `labels` are those of the arms by name.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for number, pair in sorted(pairs.items()):
        for side in (pair.loser, pair.winner):
            for doubt in side.doubts:
                key = side.trial.arm, f"{doubt.check} {doubt.vantage}"
                found.setdefault(key, []).append(f"round {number + 1}: {doubt.sentence}")
    for (arm, _), sentences in found.items():
        more = f"; and {len(sentences) - 1} more of this kind" if len(sentences) > 1 else ""
        yield f"{labels[arm]}, {sentences[0]}{more}"
