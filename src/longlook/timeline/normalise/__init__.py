"""Raw artefacts of a trial → Timeline. Pure but for reading the trial's folder."""

from longlook.timeline.normalise.trial import normalise_trial

__all__ = ["normalise_trial"]
