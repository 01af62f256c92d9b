"""The two arms run different versions of one stack, and the server's makes the difference."""

from longlook.explain.versions import version_cause

CAUSE = version_cause("server")
