"""The rounds of a study that stops each cell as soon as its rounds decide."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from longlook.analysis.measure import MeasuredAttempt, measure_trials, with_comparisons
from longlook.analysis.samples import samples_table
from longlook.analysis.stats import estimate
from longlook.analysis.stats.stopping import looks, undecided
from longlook.core.model import Plan, Trial
from longlook.core.run_folder import RunFolder
from longlook.pipeline.options import Observer
from longlook.run.execute import Tally


def run_until_decided(
    plan: Plan, folder: RunFolder, tally: Tally, run: Callable[[Sequence[Trial]], None], observer: Observer
) -> None:
    """Call `run` with the trials of more and more rounds, of the cells in which they could still decide something.

    After which rounds is looked depends on nothing but their number, so that a run that is continued, or has other
    jobs, stops where it would have stopped. The manifest's `rounds` is the number of rounds of each cell.
    """
    study = folder.study
    without_draws = replace(study, around={})  # on which draws an effect depends decides nothing, and is costly to find
    remaining = list(dict.fromkeys(trial.cell_id for trial in plan.trials))
    rounds: dict[str, int] = {}
    measured: list[MeasuredAttempt] = []
    done = 0
    for until in looks(study.analysis.min_rounds, study.rounds):
        if not remaining:
            break
        trials = [trial for trial in plan.trials if done <= trial.round < until and trial.cell_id in remaining]
        run(trials)
        rounds |= dict.fromkeys(remaining, until)
        done = until
        measured += measure_trials(folder, study, trials, lambda _done, _total: None)
        entries = [(entry.trial, entry.run, entry.values) for entry in with_comparisons(measured, study)]
        samples = samples_table(without_draws, entries)
        still = undecided(estimate(samples, study), study)
        if decided := [cell_id for cell_id in remaining if cell_id not in still]:
            observer.say(f"decided after {done} rounds: {', '.join(decided)}")
        remaining = [cell_id for cell_id in remaining if cell_id in still]
        tally.leave_out(sum(trial.round >= done and trial.cell_id in decided for trial in plan.trials))
    if remaining:
        observer.say(f"not decided after {done} rounds, the largest number: {', '.join(remaining)}")
    folder.note(rounds=rounds)
