"""The client: connections of ngtcp2 for the job that longlook_adapter.fetching runs."""

from longlook_adapter.fetching import run_job
from longlook_adapter.job import EARLY, Job

from ngtcp2_adapter.client_connection import ClientConnection, Target, Ticket
from ngtcp2_adapter.security import Credentials
from ngtcp2_adapter.settings import choices


async def run(job: Job) -> None:
    """Do a job; ReportedError where something did not arrive, which the lines have reported."""
    credentials = Credentials()
    credentials.trust(job.ca)
    wanted = choices(job.knobs, server=False)
    target = Target((job.address, job.port), job.host, job.authority, job.priorities, credentials, wanted)

    async def connect(ticket: Ticket | None, *, primes: bool) -> ClientConnection:
        return ClientConnection(target, ticket, early=job.connection == EARLY, primes=primes)

    await run_job(job, connect)
