"""A job: its phases over one connection, after a priming connection where that is asked for."""

import time

import pycurl
from longlook_adapter.clock import now_ns
from longlook_adapter.errors import ReportedError
from longlook_adapter.job import COLD, EARLY, PRIME, Job
from longlook_adapter.lines import emit

from pycurl_adapter.connection import Connection
from pycurl_adapter.settings import check_supported
from pycurl_adapter.trace import traces
from pycurl_adapter.transfer import Transfer


def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    check_supported(job)
    with traces(job.protocol):
        complete = _do(job)
    if not complete:
        raise ReportedError


def _do(job: Job) -> bool:
    """Do the job; return whether everything arrived."""
    deadline_s = time.monotonic() + job.timeout_s
    tickets = pycurl.CurlShare()
    tickets.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
    if job.connection != COLD and (error := _prime(job, tickets, deadline_s)):
        for path in (path for phase in job.phases for path in phase):
            _report(job, Transfer(path, now_ns()), None, f"priming connection: {error}")
        return False
    return _fetch(job, tickets, deadline_s)


def _prime(job: Job, tickets: pycurl.CurlShare, deadline_s: float) -> str | None:
    """Obtain a session ticket on a connection of its own and close that; return what went wrong, or None.

    libcurl keeps tickets for early data apart from others: this connection has to ask for the same.
    """
    with Connection(job, tickets, primes=True, early=job.connection == EARLY) as connection:
        (transfer,) = connection.fetch((PRIME,), deadline_s)
        return transfer.error


def _fetch(job: Job, tickets: pycurl.CurlShare, deadline_s: float) -> bool:
    """Fetch all phases; return whether everything arrived."""
    complete = True
    with Connection(job, tickets, primes=False, early=job.connection == EARLY) as connection:
        for paths in job.phases:
            transfers = connection.fetch(paths, deadline_s)
            for transfer in transfers:
                _report(job, transfer, connection.local, transfer.error)
            complete = complete and all(transfer.error is None for transfer in transfers)
    return complete


def _report(job: Job, transfer: Transfer, local: str | None, error: str | None) -> None:
    emit(
        "object",
        url=job.site + transfer.path,
        path=transfer.path,
        local=local,
        protocol=transfer.protocol,
        status=transfer.status,
        t_start_ns=transfer.t_start_ns,
        t_first_byte_ns=transfer.t_first_byte_ns,
        t_end_ns=transfer.t_end_ns,
        bytes=transfer.bytes,
        digest=transfer.digest,
        error=error,
        **job.reported_priority(transfer.path),
    )
