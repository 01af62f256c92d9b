"""quic-go's client for sites: it says who asks, reports header fields of answers, and primes with any path.

It is quic-go with a patch of the adapter's client (adapters/site), so that programs of other trials stay as they are.
"""

from dataclasses import replace

from longlook.core import Version, adapter_dir
from longlook.stacks.quic_go import variant

_OF = "0.65.0"

STACK = replace(
    variant(
        "visitor",
        Version(_OF, "2026-11-03", note="the version is quic-go's"),
        _OF,
        adapter=(adapter_dir("site") / "visits.patch",),
    ),
    summary="quic-go's client for sites: it says who asks, over HTTP/3 and HTTP/2",
    roles=("client",),
    visits=True,
    from_sources=None,  # the patch is of one release
)
