"""From a plan to a run folder: engines run trials, or the cache has them; repeats prove that they are exact.

Jobs for engines go out, and finished trials come back as folders. `Executor` runs what is missing in a run folder, with
the `Provisions` that trials need. `TrialCache` keeps finished trials by everything that determines them. `Verifier`
runs trials again and compares them; a `Verification` is the outcome.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.run import execute as execute
    from longlook.run import verify as verify
    from longlook.run.costs import CostMeter as CostMeter
    from longlook.run.costs import Costs as Costs
    from longlook.run.costs import Forecast as Forecast
    from longlook.run.costs import print_seconds as print_seconds
    from longlook.run.diff import DatedEvent as DatedEvent
    from longlook.run.diff import FileDifference as FileDifference
    from longlook.run.diff import RunDifference as RunDifference
    from longlook.run.diff import TrialDifference as TrialDifference
    from longlook.run.diff import compare as compare
    from longlook.run.execute import Executor as Executor
    from longlook.run.execute import Provisions as Provisions
    from longlook.run.execute import asks_by_runner as asks_by_runner
    from longlook.run.execute import batches as batches
    from longlook.run.execute import endpoints as endpoints
    from longlook.run.execute import in_parallel as in_parallel
    from longlook.run.execute import make_job as make_job
    from longlook.run.execute import prepare_contents as prepare_contents
    from longlook.run.execute import records_tcp as records_tcp
    from longlook.run.host_facts import facts_of_host as facts_of_host
    from longlook.run.link_diff import FirstDifference as FirstDifference
    from longlook.run.link_diff import Packet as Packet
    from longlook.run.link_diff import PacketPair as PacketPair
    from longlook.run.tally import Progress as Progress
    from longlook.run.tally import Tally as Tally
    from longlook.run.trial_cache import TrialCache as TrialCache
    from longlook.run.trial_cache import stack_digest as stack_digest
    from longlook.run.verification import LINK_LOG as LINK_LOG
    from longlook.run.verification import SAMPLES as SAMPLES
    from longlook.run.verification import TIMELINE as TIMELINE
    from longlook.run.verification import Checked as Checked
    from longlook.run.verification import Group as Group
    from longlook.run.verification import Verification as Verification
    from longlook.run.verification import groups as groups
    from longlook.run.verify import DIVERGENT as DIVERGENT
    from longlook.run.verify import Verifier as Verifier
    from longlook.run.verify import forget as forget
    from longlook.run.verify import load as load
    from longlook.run.verify import refuse_unrepeatable as refuse_unrepeatable
    from longlook.run.verify import save as save
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "costs": "CostMeter Costs Forecast print_seconds",
            "diff": "DatedEvent FileDifference RunDifference TrialDifference compare",
            "execute": (
                "Executor Provisions asks_by_runner batches endpoints in_parallel make_job prepare_contents records_tcp"
            ),
            "host_facts": "facts_of_host",
            "link_diff": "FirstDifference Packet PacketPair",
            "tally": "Progress Tally",
            "trial_cache": "TrialCache stack_digest",
            "verification": "Checked Group LINK_LOG SAMPLES TIMELINE Verification groups",
            "verify": "DIVERGENT Verifier forget load refuse_unrepeatable save",
        },
        "execute verify",
    )
