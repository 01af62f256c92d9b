"""`site`: what the URL of a server of the world outside names, one request for each trial."""

from collections.abc import Mapping

from longlook.core import SITE, Content, Scalar, WorkloadKind
from longlook.provision import make_content


def prepare(_parameters: Mapping[str, Scalar]) -> Content:
    """Return a content without files: nothing here serves any, and each arm has its own URL."""
    return make_content(SITE, {}, lambda _to: ())


WORKLOAD = WorkloadKind(
    name=SITE,
    summary="one request for what the URL of the arm's server names (docs/guide/endpoints.md)",
    parameters={},
    prepare=prepare,
)
