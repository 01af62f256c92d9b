"""Exit codes that `git bisect run` understands (git-bisect(1), "bisect run").

Every command imports this module, so it imports nothing heavy.
"""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

GIT_BISECT_EXIT = "--git-bisect-exit"
"""The option of `longlook compare` that asks for these codes."""

GOOD, BAD, SKIP = 0, 1, 125
"""Findings about a commit; SKIP means that it can be called neither good nor bad."""

_ENDS_SEARCH = 128
"""The least code of which `git bisect run` makes no finding, and ends."""


class CommitAnswer(SystemExit):
    """The end of a command whose exit code is a finding about a commit."""


@contextmanager
def for_git_bisect() -> Iterator[None]:
    """If codes of `git bisect run` are asked for, let whatever ends this block end the search, unless it is a finding.

    Else wrong input, an unsuitable machine or an error of Longlook's own would be a finding about a commit.
    """
    try:
        yield
    except CommitAnswer:
        raise
    except SystemExit as end:
        if GIT_BISECT_EXIT not in sys.argv:
            raise
        code = end.code if isinstance(end.code, int) else 1
        sys.exit(code if code >= _ENDS_SEARCH else _ENDS_SEARCH + code)
    except Exception:
        if GIT_BISECT_EXIT not in sys.argv:
            raise
        traceback.print_exc()
        sys.exit(_ENDS_SEARCH + 1)
