"""Explain what happened inside a trial: timelines and events → series, states and state machines. Pure.

`look_inside` returns the series, marks and bands of one trial, `look_into_flows` the same of each competing flow,
`choose_round` the round of a cell that is shown, and `MachineInference` infers state machines. `make_ledger` cuts the
time of a load into classes.

Why an arm lost is found in steps, each pure; `longlook.pipeline.explain` runs the trials between them. Detectors look
for signs of causes in a pair of traced trials, counterfactual trials have one thing changed, and `judge_findings`
concludes from their values. If that leaves much of a gap, a search looks beyond what detectors know: at settings, and
at single losses. Plug-ins of `causes` have the changes that they ask for from `changes` and `remedies`.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.explain import changes as changes
    from longlook.explain.answer import Answer as Answer
    from longlook.explain.answer import Dose as Dose
    from longlook.explain.answer import Explained as Explained
    from longlook.explain.answer import FewestLosses as FewestLosses
    from longlook.explain.answer import FoundBy as FoundBy
    from longlook.explain.answer import IntegratedLosses as IntegratedLosses
    from longlook.explain.answer import Judged as Judged
    from longlook.explain.answer import LossPart as LossPart
    from longlook.explain.answer import LossSearch as LossSearch
    from longlook.explain.answer import Screening as Screening
    from longlook.explain.answer import SingleLoss as SingleLoss
    from longlook.explain.answer import Status as Status
    from longlook.explain.answer import Together as Together
    from longlook.explain.answer import closed_share_pct as closed_share_pct
    from longlook.explain.answer import direct as direct
    from longlook.explain.answer import is_needed as is_needed
    from longlook.explain.answer import strongest as strongest
    from longlook.explain.attribution import Conclusion as Conclusion
    from longlook.explain.attribution import Look as Look
    from longlook.explain.attribution import Share as Share
    from longlook.explain.attribution import is_firm as is_firm
    from longlook.explain.attribution import looks_at as looks_at
    from longlook.explain.cause import Cause as Cause
    from longlook.explain.cause import Change as Change
    from longlook.explain.cause import Evidence as Evidence
    from longlook.explain.cause import Finding as Finding
    from longlook.explain.cause import Intervention as Intervention
    from longlook.explain.cause import Purpose as Purpose
    from longlook.explain.cause import Says as Says
    from longlook.explain.cause import Sign as Sign
    from longlook.explain.cause import Surgery as Surgery
    from longlook.explain.cause import Target as Target
    from longlook.explain.cause import Touches as Touches
    from longlook.explain.cause import Untestable as Untestable
    from longlook.explain.cause import causes as causes
    from longlook.explain.changes import Proposal as Proposal
    from longlook.explain.counterfactual import CounterfactualPlan as CounterfactualPlan
    from longlook.explain.counterfactual import Experiment as Experiment
    from longlook.explain.counterfactual import add_tests as add_tests
    from longlook.explain.counterfactual import all_at_once as all_at_once
    from longlook.explain.detect import ENDS as ENDS
    from longlook.explain.detect import proposed as proposed
    from longlook.explain.detect import same_end as same_end
    from longlook.explain.detect import suspect as suspect
    from longlook.explain.effective_settings import effective_value as effective_value
    from longlook.explain.effective_settings import longer_queues as longer_queues
    from longlook.explain.effective_settings import raised as raised
    from longlook.explain.effective_settings import setting_bytes as setting_bytes
    from longlook.explain.facts.columns import NEVER as NEVER
    from longlook.explain.facts.columns import Booleans as Booleans
    from longlook.explain.facts.columns import Integers as Integers
    from longlook.explain.facts.columns import Steps as Steps
    from longlook.explain.facts.columns import are as are
    from longlook.explain.facts.columns import integers as integers
    from longlook.explain.facts.credits import FirstCredits as FirstCredits
    from longlook.explain.facts.credits import Http2Windows as Http2Windows
    from longlook.explain.facts.credits import configured_buffer_bytes as configured_buffer_bytes
    from longlook.explain.facts.link import ACKNOWLEDGEMENT_BYTES as ACKNOWLEDGEMENT_BYTES
    from longlook.explain.facts.link import LinkFacts as LinkFacts
    from longlook.explain.facts.objects import ObjectFacts as ObjectFacts
    from longlook.explain.facts.objects import OpeningFacts as OpeningFacts
    from longlook.explain.facts.sender import UNNUMBERED as UNNUMBERED
    from longlook.explain.facts.sender import SenderFacts as SenderFacts
    from longlook.explain.failing import MOST_TRACED as MOST_TRACED
    from longlook.explain.failing import FailedArm as FailedArm
    from longlook.explain.failing import FailedTrial as FailedTrial
    from longlook.explain.failing import common as common
    from longlook.explain.failing import cut as cut
    from longlook.explain.failing import grouped as grouped
    from longlook.explain.failing import signs_in as signs_in
    from longlook.explain.infer.diff import LEVEL as LEVEL
    from longlook.explain.infer.diff import Difference as Difference
    from longlook.explain.infer.diff import Standing as Standing
    from longlook.explain.infer.diff import StatePair as StatePair
    from longlook.explain.infer.diff import Test as Test
    from longlook.explain.infer.diff import TransitionPair as TransitionPair
    from longlook.explain.infer.diff import diff as diff
    from longlook.explain.infer.inference import MachineInference as MachineInference
    from longlook.explain.infer.machine import END as END
    from longlook.explain.infer.machine import START as START
    from longlook.explain.infer.machine import Machine as Machine
    from longlook.explain.infer.machine import MachineState as MachineState
    from longlook.explain.infer.machine import Relation as Relation
    from longlook.explain.infer.machine import Transition as Transition
    from longlook.explain.infer.traces import as_table as as_table
    from longlook.explain.inside import Inside as Inside
    from longlook.explain.inside import look_inside as look_inside
    from longlook.explain.inside import look_into_flows as look_into_flows
    from longlook.explain.inside.playback import Stall as Stall
    from longlook.explain.inside.series import Bands as Bands
    from longlook.explain.inside.series import Marks as Marks
    from longlook.explain.inside.series import Series as Series
    from longlook.explain.inside.series import share_out as share_out
    from longlook.explain.inside.series import thin_bands as thin_bands
    from longlook.explain.inside.series import thin_marks as thin_marks
    from longlook.explain.inside.series import thin_series as thin_series
    from longlook.explain.integrated import ArmLoads as ArmLoads
    from longlook.explain.integrated import IntegratedReading as IntegratedReading
    from longlook.explain.judge import Gap as Gap
    from longlook.explain.judge import RoundsReading as RoundsReading
    from longlook.explain.judge import as_before as as_before
    from longlook.explain.judge import consequences as consequences
    from longlook.explain.judge import is_gone as is_gone
    from longlook.explain.judge import judge_findings as judge_findings
    from longlook.explain.judge import together as together
    from longlook.explain.ledger.classes import CLASSES as CLASSES
    from longlook.explain.ledger.classes import LedgerClass as LedgerClass
    from longlook.explain.ledger.handshake import AMPLIFICATION as AMPLIFICATION
    from longlook.explain.ledger.handshake import CLIENT as CLIENT
    from longlook.explain.ledger.handshake import LOSS as LOSS
    from longlook.explain.ledger.handshake import SERVER as SERVER
    from longlook.explain.ledger.make import make_ledger as make_ledger
    from longlook.explain.ledger.middle import BEHIND_PROXY as BEHIND_PROXY
    from longlook.explain.pair import Pair as Pair
    from longlook.explain.pair import Side as Side
    from longlook.explain.pair import equal_conditions as equal_conditions
    from longlook.explain.pair import implausible as implausible
    from longlook.explain.rounds import Round as Round
    from longlook.explain.rounds import Wanted as Wanted
    from longlook.explain.rounds import choose_round as choose_round
    from longlook.explain.rounds import find_cells as find_cells
    from longlook.explain.rounds import wanted as wanted
    from longlook.explain.search import losses as losses
    from longlook.explain.search import screen as screen
    from longlook.explain.search.factors import ScreenedFactor as ScreenedFactor
    from longlook.explain.search.factors import factors as factors
    from longlook.explain.search.factors import impossible as impossible
    from longlook.explain.search.losses import Fewest as Fewest
    from longlook.explain.search.losses import Lost as Lost
    from longlook.explain.search.losses import Tries as Tries
    from longlook.explain.search.losses import fewest as fewest
    from longlook.explain.search.screening_design import LEAST_ROUNDS as LEAST_ROUNDS
    from longlook.explain.search.screening_design import plackett_burman as plackett_burman
    from longlook.explain.search.suspects import Suspect as Suspect
    from longlook.explain.signs import MOST_EVIDENCE as MOST_EVIDENCE
    from longlook.explain.signs import PACKET_THRESHOLD as PACKET_THRESHOLD
    from longlook.explain.signs import QUEUE_REASONS as QUEUE_REASONS
    from longlook.explain.signs import RANDOM_REASONS as RANDOM_REASONS
    from longlook.explain.signs import SENDER_WAITS as SENDER_WAITS
    from longlook.explain.signs import SlowStartExit as SlowStartExit
    from longlook.explain.signs import Stretches as Stretches
    from longlook.explain.signs import bdp_bytes as bdp_bytes
    from longlook.explain.signs import bounded_ns as bounded_ns
    from longlook.explain.signs import datagram_bytes as datagram_bytes
    from longlook.explain.signs import dropped_for as dropped_for
    from longlook.explain.signs import drops as drops
    from longlook.explain.signs import drops_shown as drops_shown
    from longlook.explain.signs import during as during
    from longlook.explain.signs import false_losses as false_losses
    from longlook.explain.signs import first_window_bytes as first_window_bytes
    from longlook.explain.signs import has_state as has_state
    from longlook.explain.signs import hold as hold
    from longlook.explain.signs import largest_window_bytes as largest_window_bytes
    from longlook.explain.signs import losses_on_path as losses_on_path
    from longlook.explain.signs import numbers as numbers
    from longlook.explain.signs import refused as refused
    from longlook.explain.signs import resent as resent
    from longlook.explain.signs import resent_shown as resent_shown
    from longlook.explain.signs import slow_start_exit as slow_start_exit
    from longlook.explain.signs import stretches as stretches
    from longlook.explain.signs import stretches_shown as stretches_shown
    from longlook.explain.signs import thrown_away as thrown_away
    from longlook.explain.signs import wait_ns as wait_ns
    from longlook.explain.signs import windows_kept as windows_kept
    from longlook.explain.signs import within as within
    from longlook.explain.states import COLUMNS as COLUMNS
    from longlook.explain.states import StateTimes as StateTimes
    from longlook.explain.states import state_traces as state_traces
    from longlook.explain.states import time_in_states as time_in_states
    from longlook.explain.tape import Tape as Tape
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "answer": (
                "Answer Dose Explained FewestLosses FoundBy IntegratedLosses Judged LossPart LossSearch Screening "
                "SingleLoss Status Together closed_share_pct direct is_needed strongest"
            ),
            "attribution": "Conclusion Look Share is_firm looks_at",
            "cause": (
                "Cause Change Evidence Finding Intervention Purpose Says Sign Surgery Target Touches Untestable causes"
            ),
            "changes": "Proposal",
            "counterfactual": "CounterfactualPlan Experiment add_tests all_at_once",
            "detect": "ENDS proposed same_end suspect",
            "effective_settings": "effective_value longer_queues raised setting_bytes",
            "facts.columns": "Booleans Integers NEVER Steps are integers",
            "facts.credits": "FirstCredits Http2Windows configured_buffer_bytes",
            "facts.link": "ACKNOWLEDGEMENT_BYTES LinkFacts",
            "facts.objects": "ObjectFacts OpeningFacts",
            "facts.sender": "SenderFacts UNNUMBERED",
            "failing": "FailedArm FailedTrial MOST_TRACED common cut grouped signs_in",
            "infer.diff": "Difference LEVEL Standing StatePair Test TransitionPair diff",
            "infer.inference": "MachineInference",
            "infer.machine": "END Machine MachineState Relation START Transition",
            "infer.traces": "as_table",
            "inside": "Inside look_inside look_into_flows",
            "inside.playback": "Stall",
            "inside.series": "Bands Marks Series share_out thin_bands thin_marks thin_series",
            "integrated": "ArmLoads IntegratedReading",
            "judge": "Gap RoundsReading as_before consequences is_gone judge_findings together",
            "ledger.classes": "CLASSES LedgerClass",
            "ledger.handshake": "AMPLIFICATION CLIENT LOSS SERVER",
            "ledger.make": "make_ledger",
            "ledger.middle": "BEHIND_PROXY",
            "pair": "Pair Side equal_conditions implausible",
            "rounds": "Round Wanted choose_round find_cells wanted",
            "search.factors": "ScreenedFactor factors impossible",
            "search.losses": "Fewest Lost Tries fewest",
            "search.screening_design": "LEAST_ROUNDS plackett_burman",
            "search.suspects": "Suspect",
            "signs": (
                "MOST_EVIDENCE PACKET_THRESHOLD QUEUE_REASONS RANDOM_REASONS SENDER_WAITS SlowStartExit Stretches "
                "bdp_bytes bounded_ns datagram_bytes dropped_for drops drops_shown during false_losses "
                "first_window_bytes has_state hold largest_window_bytes losses_on_path numbers refused resent "
                "resent_shown slow_start_exit stretches stretches_shown thrown_away wait_ns windows_kept within"
            ),
            "states": "COLUMNS StateTimes state_traces time_in_states",
            "tape": "Tape",
        },
        "changes search.losses search.screen",
    )
