"""Step functions of time, and several of them laid over each other. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longlook.timeline.normalise.rows import NULL, Integers, Mask


@dataclass(frozen=True)
class CodeSteps:
    """From `times_ns[i]` on the value is `codes[i]`; NULL before the first and where there is none. Times never
    fall.
    """

    times_ns: Integers
    codes: Integers

    @classmethod
    def none(cls) -> "CodeSteps":
        """Return steps without any value."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def of_intervals(cls, begins_ns: Integers, ends_ns: Integers, code: int) -> "CodeSteps":
        """Return `code` from each begin to its end; intervals are in order and do not overlap."""
        lasting = ends_ns > begins_ns
        begins_ns, ends_ns = begins_ns[lasting], ends_ns[lasting]
        times_ns = np.stack([begins_ns, ends_ns], axis=1).reshape(-1)
        return cls(times_ns, np.tile(np.array([code, NULL], np.int64), len(begins_ns)))

    @classmethod
    def where(cls, times_ns: Integers, mask: Mask, code: int) -> "CodeSteps":
        """Return `code` from each time at which the mask is true to the next at which it is not."""
        return cls(times_ns, np.where(mask, code, NULL))

    def at(self, times_ns: Integers) -> Integers:
        """Return the values at some times; of several steps at one time the last counts."""
        index = np.searchsorted(self.times_ns, times_ns, side="right") - 1
        if not len(self.codes):
            return np.full(len(times_ns), NULL, np.int64)
        return np.where(index < 0, NULL, self.codes[np.maximum(index, 0)])


def layered(layers: Sequence[CodeSteps], begin_ns: int, end_ns: int) -> tuple[Integers, Integers, Integers]:
    """Return the value of the first layer that has one, from `begin_ns` to before `end_ns`.

    The result is the times at which layer or code change, the layer's index at each, and its code; NULL if no layer has
    a value.
    """
    bounds = [np.array([begin_ns], np.int64), *(layer.times_ns for layer in layers)]
    times_ns = np.unique(np.concatenate(bounds))
    times_ns = times_ns[(times_ns >= begin_ns) & ((times_ns < end_ns) | (times_ns == begin_ns))]
    chosen = np.full(len(times_ns), NULL, np.int64)
    codes = np.full(len(times_ns), NULL, np.int64)
    for index in reversed(range(len(layers))):
        found = layers[index].at(times_ns)
        speaks = found != NULL
        chosen[speaks], codes[speaks] = index, found[speaks]
    changed = np.concatenate([[True], (np.diff(chosen) != 0) | (np.diff(codes) != 0)])
    return times_ns[changed], chosen[changed], codes[changed]
