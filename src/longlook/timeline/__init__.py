"""A trial's raw artefacts → one table of rows on one clock, and a second one of events from traces of its endpoints.

`Timeline` and `Events` are the two tables, `normalise_trial` and `write_events` make them, and `full_timeline` joins
both for metrics. `Competition` is the link's view of several flows, `Playback` what the viewer of a video saw. Metrics,
analysis, explain and report read these.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.timeline.collectors import Collected as Collected
    from longlook.timeline.collectors import CollectorCost as CollectorCost
    from longlook.timeline.collectors import InDoubt as InDoubt
    from longlook.timeline.collectors import NotRecorded as NotRecorded
    from longlook.timeline.collectors import collector_costs as collector_costs
    from longlook.timeline.collectors import in_doubt as in_doubt
    from longlook.timeline.collectors import not_recorded as not_recorded
    from longlook.timeline.competition import BINS_S as BINS_S
    from longlook.timeline.competition import FLOW_COLUMNS as FLOW_COLUMNS
    from longlook.timeline.competition import RATE_COLUMNS as RATE_COLUMNS
    from longlook.timeline.competition import Competition as Competition
    from longlook.timeline.competition import Numbers as Numbers
    from longlook.timeline.competition import are_marked as are_marked
    from longlook.timeline.competition import flow_columns as flow_columns
    from longlook.timeline.competition import jain as jain
    from longlook.timeline.competition import rate_columns as rate_columns
    from longlook.timeline.competition import server_of as server_of
    from longlook.timeline.competition import to_server as to_server
    from longlook.timeline.cpu_work import ROLES as ROLES
    from longlook.timeline.cpu_work import WORK_COLUMNS as WORK_COLUMNS
    from longlook.timeline.cpu_work import Work as Work
    from longlook.timeline.cpu_work import pooled_stacks as pooled_stacks
    from longlook.timeline.cpu_work import work_columns as work_columns
    from longlook.timeline.cpu_work import work_of as work_of
    from longlook.timeline.decode import decode_to as decode_to
    from longlook.timeline.doubts import Doubt as Doubt
    from longlook.timeline.doubts import DoubtfulValue as DoubtfulValue
    from longlook.timeline.doubts import columns_of as columns_of
    from longlook.timeline.doubts import doubts_of as doubts_of
    from longlook.timeline.doubts import kinds_of as kinds_of
    from longlook.timeline.doubts import trusted as trusted
    from longlook.timeline.doubts import values_in_doubt as values_in_doubt
    from longlook.timeline.envelope import Points as Points
    from longlook.timeline.envelope import compare as compare
    from longlook.timeline.envelope import points_of as points_of
    from longlook.timeline.events import LIMIT_ENDED as LIMIT_ENDED
    from longlook.timeline.events import QUEUE_FULL as QUEUE_FULL
    from longlook.timeline.events import EventKind as EventKind
    from longlook.timeline.events import Events as Events
    from longlook.timeline.events import among as among
    from longlook.timeline.events import metadata_of as metadata_of
    from longlook.timeline.export import Written as Written
    from longlook.timeline.export import convert as convert
    from longlook.timeline.export import har as har
    from longlook.timeline.export import look as look
    from longlook.timeline.export import named_trace as named_trace
    from longlook.timeline.export import plays as plays
    from longlook.timeline.export.problems import problems_of as problems_of
    from longlook.timeline.loss_epochs import epochs_by_size as epochs_by_size
    from longlook.timeline.loss_epochs import loss_epochs_of as loss_epochs_of
    from longlook.timeline.loss_epochs import tails as tails
    from longlook.timeline.lost_at_random import CORRUPTING_AT_RANDOM as CORRUPTING_AT_RANDOM
    from longlook.timeline.lost_at_random import random_losses as random_losses
    from longlook.timeline.normalise.link_log import PacketLog as PacketLog
    from longlook.timeline.normalise.link_log import PacketLogError as PacketLogError
    from longlook.timeline.normalise.link_log import read_link_log as read_link_log
    from longlook.timeline.normalise.packets import DIRECTIONS as DIRECTIONS
    from longlook.timeline.normalise.rows import Rows as Rows
    from longlook.timeline.normalise.sender import COLUMNS as COLUMNS
    from longlook.timeline.normalise.states import find_states as find_states
    from longlook.timeline.normalise.trace_files import raw_traces as raw_traces
    from longlook.timeline.normalise.trace_files import trace_sizes as trace_sizes
    from longlook.timeline.normalise.traces import MOST_ROWS as MOST_ROWS
    from longlook.timeline.normalise.trial import DAMAGE as DAMAGE
    from longlook.timeline.normalise.trial import LINK_LOG as LINK_LOG
    from longlook.timeline.normalise.trial import OVER_SECOND as OVER_SECOND
    from longlook.timeline.normalise.trial import full_timeline as full_timeline
    from longlook.timeline.normalise.trial import needs_events as needs_events
    from longlook.timeline.normalise.trial import normalise_trial as normalise_trial
    from longlook.timeline.normalise.trial import traffic_digest as traffic_digest
    from longlook.timeline.normalise.trial import write_events as write_events
    from longlook.timeline.observables import OBSERVABLES as OBSERVABLES
    from longlook.timeline.observables import Course as Course
    from longlook.timeline.observables import Dimension as Dimension
    from longlook.timeline.observables import Form as Form
    from longlook.timeline.observables import NotKnownError as NotKnownError
    from longlook.timeline.observables import Observable as Observable
    from longlook.timeline.observables import View as View
    from longlook.timeline.over_links import LINK_COLUMNS as LINK_COLUMNS
    from longlook.timeline.over_links import MAIN_LINK as MAIN_LINK
    from longlook.timeline.over_links import SECOND_LINK as SECOND_LINK
    from longlook.timeline.over_links import link_columns as link_columns
    from longlook.timeline.payload import goodput_timeline as goodput_timeline
    from longlook.timeline.payload import new_payload_bytes as new_payload_bytes
    from longlook.timeline.playback import Playback as Playback
    from longlook.timeline.playback import Segment as Segment
    from longlook.timeline.reassembly import overlap_ns as overlap_ns
    from longlook.timeline.reassembly import tcp_waits as tcp_waits
    from longlook.timeline.reassembly import waits as waits
    from longlook.timeline.round_trips import CLOCKS_AGREE_NS as CLOCKS_AGREE_NS
    from longlook.timeline.round_trips import round_trips_of as round_trips_of
    from longlook.timeline.round_trips import with_samples as with_samples
    from longlook.timeline.states import BEGUN_BY_LOSSES as BEGUN_BY_LOSSES
    from longlook.timeline.states import EVENT_COLUMNS as EVENT_COLUMNS
    from longlook.timeline.states import State as State
    from longlook.timeline.states import state_share_pct as state_share_pct
    from longlook.timeline.states import times_in_states as times_in_states
    from longlook.timeline.timeline import Kind as Kind
    from longlook.timeline.timeline import Timeline as Timeline
    from longlook.timeline.timeline import packet_of_same_bytes as packet_of_same_bytes
    from longlook.timeline.windows import share_of_first_group as share_of_first_group
    from longlook.timeline.windows import share_of_rises as share_of_rises
    from longlook.timeline.windows import windows_over_load as windows_over_load
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "collectors": "Collected CollectorCost InDoubt NotRecorded collector_costs in_doubt not_recorded",
            "competition": (
                "BINS_S Competition FLOW_COLUMNS Numbers RATE_COLUMNS are_marked flow_columns jain rate_columns "
                "server_of to_server"
            ),
            "cpu_work": "ROLES WORK_COLUMNS Work pooled_stacks work_columns work_of",
            "decode": "decode_to",
            "doubts": "Doubt DoubtfulValue columns_of doubts_of kinds_of trusted values_in_doubt",
            "envelope": "Points compare points_of",
            "events": "EventKind Events LIMIT_ENDED QUEUE_FULL among metadata_of",
            "export": "Written convert look named_trace",
            "export.problems": "problems_of",
            "loss_epochs": "epochs_by_size loss_epochs_of tails",
            "lost_at_random": "CORRUPTING_AT_RANDOM random_losses",
            "normalise.link_log": "PacketLog PacketLogError read_link_log",
            "normalise.packets": "DIRECTIONS",
            "normalise.rows": "Rows",
            "normalise.sender": "COLUMNS",
            "normalise.states": "find_states",
            "normalise.trace_files": "raw_traces trace_sizes",
            "normalise.traces": "MOST_ROWS",
            "normalise.trial": (
                "DAMAGE LINK_LOG OVER_SECOND full_timeline needs_events normalise_trial traffic_digest write_events"
            ),
            "observables": "Course Dimension Form NotKnownError OBSERVABLES Observable View",
            "over_links": "LINK_COLUMNS MAIN_LINK SECOND_LINK link_columns",
            "payload": "goodput_timeline new_payload_bytes",
            "playback": "Playback Segment",
            "reassembly": "overlap_ns tcp_waits waits",
            "round_trips": "CLOCKS_AGREE_NS round_trips_of with_samples",
            "states": "BEGUN_BY_LOSSES EVENT_COLUMNS State state_share_pct times_in_states",
            "timeline": "Kind Timeline packet_of_same_bytes",
            "windows": "share_of_first_group share_of_rises windows_over_load",
        },
        "export.har export.plays",
    )
