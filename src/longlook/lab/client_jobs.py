"""The job of a client, from the job of its trial."""

from dataclasses import replace
from pathlib import Path

from longlook.core import ClientJob, Content, Identity, Site, Trial, has_second_address
from longlook.lab.addresses import SERVER_PORT, plan_of
from longlook.lab.programs import stack_of


def client_job(trial: Trial, content: Content, identity: Identity, server: str, site: Site | None) -> ClientJob:
    """Return the job of a flow's client: `trial` is as the flow sees it, `content` its part, `server` an address.

    `site` is what stands in the place of a server, None if nothing does.
    """
    return ClientJob(
        protocol=trial.protocol,
        connection=trial.connection,
        address=server,
        port=SERVER_PORT,
        phases=content.phases,
        identity=identity,
        knobs={**stack_of(trial.client).preset, **trial.client.knobs},
        timeout_s=trial.timeout_s,
        connections=content.connections,
        waits_s=content.waits_s,
        second_address=plan_of(trial).second_client if has_second_address(trial) else "",
        priorities=content.priorities,
        uploads={
            path: replace(upload, file=str(Path(content.root) / upload.file))
            for path, upload in content.uploads.items()
        },
        video=content.video,
        echo=content.echo,
        live=content.live,
        user_agent="" if site is None else site.user_agent,
        prime="" if site is None else site.url.path,
    )
