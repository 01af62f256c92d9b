"""Raw artefacts of a trial → Timeline and Events. Pure, except that it reads the trial's folder.

`trial.normalise_trial` makes the timeline, `traces.normalise_traces` the events. The analysis calls them; the
conformance suite also uses `link_log.read_link_log` and `lines`.
"""

from longlook.timeline.normalise.trial import normalise_trial

__all__ = ["normalise_trial"]
