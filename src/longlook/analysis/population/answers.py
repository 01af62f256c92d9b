"""Distributions over users: levels of both arms, their change, who gains and who loses, with intervals.

A load of the population is a round of a cell, with the cell's share of the users divided by its rounds. A load that
failed never ended, and is slower than every other by a metric of WHOLE_LOADS. In means it counts as the time limit,
beyond which nobody waited (a restricted mean, Royston and Parmar, Stat. Med. 30, 2011). Other metrics leave the round
of a failed load out. Intervals are percentiles of a
bootstrap that draws whole rounds, with all cells in them, and users anew (Davison and Hinkley, Bootstrap Methods and
their Application, 1997, 3.8 and 5.3). A cell with other rounds than the rest draws its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from longlook.analysis.population.people import BLOCKED, Users
from longlook.analysis.population.places import Placing
from longlook.analysis.stats.cells import CellData, Cells
from longlook.analysis.stats.procedures import Floats
from longlook.analysis.stats.scales import by_ratios
from longlook.core import Better, Contrast, Effect, Estimate, Metric, Study, find_metric, margin_of

WHOLE_LOADS = frozenset({"page_load_time", "upload_time"})
"""Metrics of times until a load has ended, which a failed load never has."""
DRAWS = 1000
LEAST_ROUNDS = 6
"""Rounds below which an interval over rounds is not given: fewer have too few different draws."""
QUANTILES = (0.5, 0.75, 0.95, 0.99)
TAILS = (0.05, 0.01)
_BATCH_BYTES = 1 << 26
_PERCENT = "%"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LevelOfUsers:
    """One figure of the distribution: of both arms, and its change in %, above 0 if the contender is better.

    A value is infinite if the figure is a load that failed, and never ended. `change` is None without
    values, or if the change is not a number.
    """

    name: str
    baseline: Effect
    contender: Effect
    change: Effect | None


@dataclass(frozen=True)
class CellOfUsers:
    """A cell's part in an answer: whom it stands for, in % of the users inside, and what it found."""

    cell_id: str
    labels: Mapping[str, str]
    share_pct: float
    baseline: float | None  # median
    contender: float | None
    effect_pct: float | None  # mean over rounds, by ratios or in the metric's unit
    verdict: str
    failed_pct: tuple[float, float]  # of the judged rounds of each arm
    rounds: int


@dataclass(frozen=True)
class AnswerOfUsers:
    """The answer of a contrast over a population, in one combination of the levels of factors that stay apart.

    Shares are in % of the users for whom cells stand and who were measured. `curve` is (% of users, load time of the
    baseline, of the contender) at each percentile.
    """

    contrast: str
    metric: str
    unit: str
    apart: Mapping[str, str]
    levels: tuple[LevelOfUsers, ...]
    typical: Effect | None  # the mean of users' own changes, in %
    better: Effect
    worse: Effect
    alike: Effect
    failed: tuple[Effect, Effect]  # loads of each arm that failed, in %
    outside_pct: float
    unmeasured_pct: float
    counts_failures: bool  # whether a load that failed is one of the loads
    modelled_pct: float  # loads of the contender that were taken to fall back
    reasons: Mapping[str, float]  # in %
    ratios: Mapping[str, tuple[float, float]]
    cells: tuple[CellOfUsers, ...]
    curve: tuple[tuple[float, float, float], ...]
    rounds: int  # the least of any cell that stands for somebody
    margin_pct: float
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class _Loads:
    """The loads of a contrast: cell and round of each, the values of both arms, inf of a load that failed."""

    cell: NDArray[np.int64]
    round: NDArray[np.int64]
    baseline: Floats
    contender: Floats
    per_cell: Floats  # rounds of each cell
    modelled: NDArray[np.bool_]
    limit: float | None  # the time that stands for a load that failed; None of metrics that are no times

    def limited(self, values: Floats) -> Floats:
        """Return values in which the limit stands for loads that failed, if there is one."""
        found: Floats = values if self.limit is None else np.where(np.isfinite(values), values, self.limit)
        return found


def answer(
    users: Users, placing: Placing, cells: Cells, contrast: Contrast, study: Study, estimates: Mapping[str, Estimate]
) -> AnswerOfUsers | None:
    """Return the answer of a contrast; None if no cell that stands for somebody has a load of both arms.

    `estimates` are the contrast's by the cell's id.
    """
    metric = find_metric(contrast.metric)
    found = {data.cell_id: data for data in cells.of(contrast)}
    by_cell = [found.get(cell.cell_id) for cell in placing.cells]
    loads = _loads(placing, by_cell, metric, users.fallback_s, study.timeout_s)
    weights = placing.weights
    measured = np.where(loads.per_cell > 0, weights, 0.0)
    if not len(loads.cell) or not measured.sum() > 0:
        return None
    inside = float(weights.sum())
    margin = margin_of(metric, study.analysis).size
    used = measured > 0
    rounds = int(loads.per_cell[used].min())
    point = _figures(loads, measured[None, :] / measured.sum(), np.ones((1, len(loads.cell))), metric, margin)
    spread = _spread(users, placing, loads, metric, margin) if rounds >= LEAST_ROUNDS else None
    return AnswerOfUsers(
        contrast=contrast.name,
        metric=contrast.metric,
        unit=metric.unit,
        apart=placing.apart,
        levels=tuple(_level(name, point, spread, metric) for name in _LEVELS),
        typical=_effect("typical", point, spread, _PERCENT if _has_ratios(loads, metric) else metric.difference_unit),
        better=_share("better", point, spread),
        worse=_share("worse", point, spread),
        alike=_share("alike", point, spread),
        failed=(_share("failed baseline", point, spread), _share("failed contender", point, spread)),
        outside_pct=100 * placing.outside,
        unmeasured_pct=100 * (inside - float(measured.sum())) / inside,
        counts_failures=metric.name in WHOLE_LOADS,
        modelled_pct=_percent_of(loads, measured, loads.modelled),
        reasons={reason: 100 * share for reason, share in placing.reasons.items()},
        ratios=placing.ratios,
        cells=tuple(_cells_of_users(placing, by_cell, loads, measured, metric, estimates)),
        curve=_curve(loads, measured / measured.sum(), metric),
        rounds=rounds,
        margin_pct=margin,
        notes=tuple(_notes(users, loads, rounds, is_integrated=any(item.is_integrated for item in estimates.values()))),
    )


def mean_over_users(placing: Placing, cells: Cells, arm: str, metric: str) -> float | None:
    """Return the mean of a metric over the users whose cells have a value of it; None without any."""
    found = {data.cell_id: data.baseline.array for data in cells.of(Contrast("", arm, arm, metric))}
    total = weight = 0.0
    for cell, share in zip(placing.cells, placing.weights, strict=True):
        values = found.get(cell.cell_id)
        if values is not None and len(values) and share > 0:
            total += share * float(values.mean())
            weight += share
    return total / weight if weight else None


def _loads(
    placing: Placing, by_cell: Sequence[CellData | None], metric: Metric, fallback_s: float | None, timeout_s: float
) -> _Loads:
    rows: list[tuple[int, int, float, float, bool]] = []
    per_cell = np.zeros(len(placing.cells))
    never = np.inf if metric.name in WHOLE_LOADS else None
    for at, (cell, data) in enumerate(zip(placing.cells, by_cell, strict=True)):
        if data is None:
            continue
        blocked = bool(cell.quantities[BLOCKED])
        for number in sorted(data.baseline.failed.keys() & data.contender.failed.keys()):
            fails = data.baseline.failed[number], data.contender.failed[number]
            one = never if fails[0] else data.baseline.values.get(number)
            other = never if fails[1] else data.contender.values.get(number)
            falls_back = fallback_s is not None and fails[1] and not fails[0] and blocked and metric.unit == "s"
            if falls_back and fallback_s is not None and one is not None:
                other = one + fallback_s
            if one is None or other is None:
                continue
            rows.append((at, number, one, other, falls_back))
            per_cell[at] += 1
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), (), ()]
    return _Loads(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.float64),
        np.array(columns[3], np.float64),
        per_cell,
        np.array(columns[4], np.bool_),
        timeout_s if metric.name in WHOLE_LOADS else None,
    )


_LEVELS = ("mean", *(f"p{round(100 * level)}" for level in QUANTILES), *(f"slowest {100 * part:g} %" for part in TAILS))


def _figures(loads: _Loads, shares: Floats, drawn: Floats, metric: Metric, margin: float) -> dict[str, Floats]:
    """Return every figure for each draw: shape (draws,). `shares` are of cells, (draws, cells); `drawn` counts how
    often each load was drawn, (draws, loads).
    """
    counts = np.zeros((len(drawn), shares.shape[1]))
    for cell in np.unique(loads.cell):
        counts[:, cell] = drawn[:, loads.cell == cell].sum(axis=1)
    each = np.divide(shares, counts, out=np.zeros_like(counts), where=counts > 0)
    weights = drawn * each[:, loads.cell]
    weights /= weights.sum(axis=1, keepdims=True)
    found: dict[str, Floats] = {}
    for arm, values, limited in (
        ("baseline", loads.baseline, loads.limited(loads.baseline)),
        ("contender", loads.contender, loads.limited(loads.contender)),
    ):
        ended = np.isfinite(limited)
        known = weights * ended
        total = known.sum(axis=1)
        found[f"mean {arm}"] = (known[:, ended] @ limited[ended]) / np.where(total > 0, total, np.nan)
        found[f"failed {arm}"] = np.clip(100 * (1 - (weights * np.isfinite(values)).sum(axis=1)), 0.0, 100.0)
        order = np.argsort(values if metric.better is Better.LOWER else -values, kind="stable")
        ranked, shares_so_far = values[order], np.cumsum(weights[:, order], axis=1)
        for level, name in zip(QUANTILES, _LEVELS[1:], strict=False):
            at = np.minimum((shares_so_far < level - _ROUNDING).sum(axis=1), len(ranked) - 1)
            found[f"{name} {arm}"] = ranked[at]
    order = np.argsort(loads.baseline if metric.better is Better.LOWER else -loads.baseline, kind="stable")
    one, other = loads.limited(loads.baseline), loads.limited(loads.contender)
    both = np.isfinite(one) & np.isfinite(other)
    so_far = np.cumsum(weights[:, order], axis=1)
    for part, name in zip(TAILS, _LEVELS[-len(TAILS) :], strict=True):
        tail = np.clip(so_far - (1 - part), 0.0, weights[:, order]) * both[order]
        total = tail.sum(axis=1)
        total = np.where(total > 0, total, np.nan)
        for arm, values in (("baseline", one), ("contender", other)):
            found[f"{name} {arm}"] = (tail @ np.where(both, values, 0.0)[order]) / total
    effects = _effects(loads, drawn, metric)
    found |= _shares_of_users(effects, shares, margin)
    return found


def _has_ratios(loads: _Loads, metric: Metric) -> bool:
    ended = np.isfinite(loads.baseline) & np.isfinite(loads.contender)
    return by_ratios(metric, [*loads.baseline[ended], *loads.contender[ended]])


def _effects(loads: _Loads, drawn: Floats, metric: Metric) -> Floats:
    """Return each cell's effect for each draw, in % or in the metric's unit, above 0 if the contender is better:
    ±inf if only one arm failed in most of its rounds, nan without a load. Shape (draws, cells).
    """
    cells = len(loads.per_cell)
    found = np.full((len(drawn), cells), np.nan)
    is_ratio = _has_ratios(loads, metric)
    sign = -1.0 if metric.better is Better.LOWER else 1.0
    for cell in np.unique(loads.cell):
        own = np.nonzero(loads.cell == cell)[0]
        one, other, times = loads.baseline[own], loads.contender[own], drawn[:, own]
        ended = np.isfinite(one) & np.isfinite(other)
        if ended.any():
            gain = np.log(other[ended] / one[ended]) if is_ratio else other[ended] - one[ended]
            total = times[:, ended].sum(axis=1)
            mean = (times[:, ended] @ gain) / np.where(total > 0, total, np.nan)
            # As Estimate.effect_pct: the share by which the contender's value is smaller, or larger.
            found[:, cell] = sign * 100 * np.expm1(mean) if is_ratio else sign * mean
        fails = times @ (~np.isfinite(other)).astype(np.float64), times @ (~np.isfinite(one)).astype(np.float64)
        whole = times.sum(axis=1)
        found[(fails[0] > whole / 2) & (fails[1] <= whole / 2), cell] = -np.inf
        found[(fails[1] > whole / 2) & (fails[0] <= whole / 2), cell] = np.inf
    return found


def _shares_of_users(effects: Floats, shares: Floats, margin: float) -> dict[str, Floats]:
    known = np.isfinite(effects)
    ended = np.where(known, effects, 0.0)
    total = (shares * known).sum(axis=1)
    means = (shares * ended).sum(axis=1) / np.where(total > 0, total, np.nan)
    judged = ~np.isnan(effects)
    whole = (shares * judged).sum(axis=1)
    better = 100 * (shares * (judged & (effects > margin))).sum(axis=1) / whole
    worse = 100 * (shares * (judged & (effects < -margin))).sum(axis=1) / whole
    return {"typical": means, "better": better, "worse": worse, "alike": np.maximum(100 - better - worse, 0.0)}


def _spread(users: Users, placing: Placing, loads: _Loads, metric: Metric, margin: float) -> dict[str, Floats]:
    """Return every figure of each draw of the bootstrap, shape (DRAWS,)."""
    generator = np.random.default_rng(len(loads.cell))
    size = max(1, _BATCH_BYTES // (8 * max(len(loads.cell), 1)))
    parts: list[dict[str, Floats]] = []
    for begin in range(0, DRAWS, size):
        draws = min(size, DRAWS - begin)
        groups = np.broadcast_to(placing.groups, (draws, len(placing.groups)))
        if users.sampled is not None:
            count = max(1, round(users.sampled))
            groups = generator.multinomial(count, placing.groups / placing.groups.sum(), draws) / count
        shares = (groups @ placing.parts)[:, :-1] * (loads.per_cell > 0)
        total = shares.sum(axis=1, keepdims=True)
        shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        parts.append(_figures(loads, shares, _drawn(loads, draws, generator), metric, margin))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _drawn(loads: _Loads, draws: int, generator: np.random.Generator) -> Floats:
    """Return how often each load was drawn, shape (draws, loads): cells with the same rounds draw the same ones."""
    found = np.zeros((draws, len(loads.cell)))
    alike: dict[tuple[int, ...], Floats] = {}
    for cell in np.unique(loads.cell):
        own = np.nonzero(loads.cell == cell)[0]
        numbers = tuple(loads.round[own].tolist())
        if numbers not in alike:
            count = len(numbers)
            alike[numbers] = generator.multinomial(count, np.full(count, 1 / count), draws).astype(np.float64)
        found[:, own] = alike[numbers]
    return found


def _level(name: str, point: Mapping[str, Floats], spread: Mapping[str, Floats] | None, metric: Metric) -> LevelOfUsers:
    one, other = (_effect(f"{name} {arm}", point, spread, metric.unit) for arm in ("baseline", "contender"))
    sign = -1.0 if metric.better is Better.LOWER else 1.0

    def change(of: Mapping[str, Floats]) -> Floats:
        before, after = of[f"{name} baseline"], of[f"{name} contender"]
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = sign * 100 * (after / before - 1)
        return found

    made = {"change": change(point)}
    both = None if spread is None else {"change": change(spread)}
    found = _effect("change", made, both, _PERCENT)
    return LevelOfUsers(name, one, other, found if np.isfinite(found.value) else None)


def _effect(name: str, point: Mapping[str, Floats], spread: Mapping[str, Floats] | None, unit: str) -> Effect:
    value = float(point[name][0])
    if spread is None:
        return Effect(value, None, None, unit)
    known = spread[name][~np.isnan(spread[name])]
    if not len(known):
        return Effect(value, None, None, unit)
    low, high = np.quantile(known, (0.025, 0.975), method="inverted_cdf")
    return Effect(value, float(low), float(high), unit)


def _share(name: str, point: Mapping[str, Floats], spread: Mapping[str, Floats] | None) -> Effect:
    return _effect(name, point, spread, _PERCENT)


def _percent_of(loads: _Loads, shares: Floats, chosen: NDArray[np.bool_]) -> float:
    each = np.divide(shares, loads.per_cell, out=np.zeros_like(shares), where=loads.per_cell > 0)[loads.cell]
    return float(100 * each[chosen].sum() / each.sum())


def _cells_of_users(
    placing: Placing,
    by_cell: Sequence[CellData | None],
    loads: _Loads,
    shares: Floats,
    metric: Metric,
    estimates: Mapping[str, Estimate],
) -> list[CellOfUsers]:
    effects = _effects(loads, np.ones((1, len(loads.cell))), metric)[0]
    found = []
    for at, (cell, data) in enumerate(zip(placing.cells, by_cell, strict=True)):
        if not shares[at] > 0 or data is None:
            continue
        failures = data.failures
        estimate = estimates.get(cell.cell_id)
        levels = [float(np.median(each)) if len(each) else None for each in (data.baseline.array, data.contender.array)]
        effect = float(effects[at])
        found.append(
            CellOfUsers(
                cell.cell_id,
                cell.labels,
                100 * float(shares[at] / shares.sum()),
                levels[0],
                levels[1],
                effect if np.isfinite(effect) else None,
                estimate.verdict.value if estimate else "",
                (100 * failures.baseline / max(failures.rounds, 1), 100 * failures.contender / max(failures.rounds, 1)),
                int(loads.per_cell[at]),
            )
        )
    return found


def _curve(loads: _Loads, shares: Floats, metric: Metric) -> tuple[tuple[float, float, float], ...]:
    each = np.divide(shares, loads.per_cell, out=np.zeros_like(shares), where=loads.per_cell > 0)[loads.cell]
    levels = np.arange(0.5, 100, 0.5)
    columns = []
    for values in (loads.baseline, loads.contender):
        order = np.argsort(values if metric.better is Better.LOWER else -values, kind="stable")
        so_far = np.cumsum(each[order]) / each.sum()
        at = np.minimum(np.searchsorted(so_far, levels / 100 - _ROUNDING), len(order) - 1)
        columns.append(values[order][at])
    return tuple(zip(levels.tolist(), columns[0].tolist(), columns[1].tolist(), strict=True))


def _notes(users: Users, loads: _Loads, rounds: int, *, is_integrated: bool) -> list[str]:
    notes = []
    if rounds < LEAST_ROUNDS:
        notes.append(f"No intervals: a cell has {rounds} rounds, and a bootstrap over rounds needs {LEAST_ROUNDS}.")
    elif users.sampled is None:
        notes.append("The shares are declared: intervals are over rounds alone.")
    else:
        notes.append(f"Intervals are over rounds, and over samples of {users.sampled:,.0f} users.")
    if loads.modelled.any() and users.fallback_s is not None:
        notes.append(
            f"Clients of the contender have no fallback: their loads on paths without UDP count as the baseline’s, "
            f"{users.fallback_s:g} s later. That is a model and was not measured."
        )
    if is_integrated:
        notes.append(
            "Losses are integrated: the value of a round is a mean over all loads, so that percentiles and slowest "
            "parts are of such means, and unlucky loads are slower. Run the study with --losses sampled for these."
        )
    return notes
