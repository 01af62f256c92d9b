"""The emulated path: settings as people write them become a `Link`, and a `Link` the configuration of its router.

`settings.link(settings)` returns the `Link` of settings in canonical form and raises SettingError, with the setting's
key, if they make none or the router refuses it; `settings.SETTINGS` has every setting with its parser.
`link_text(link, seed, linger_ns)` returns the JSON that `longlook-link` reads, and `linger_of(link)` how long silence
must last before the link is empty. `PRESETS` are paths from published work, `with_surgery(link, up, down)` returns a
link with operations on single packets, `read_table` makes a trace of a table of measurements.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.network import extra_links as extra_links
    from longlook.network import ip as ip
    from longlook.network import settings as settings
    from longlook.network import surgery as surgery
    from longlook.network import trace_store as trace_store
    from longlook.network.config import linger_of as linger_of
    from longlook.network.config import link_config as link_config
    from longlook.network.config import link_text as link_text
    from longlook.network.config import seed_of as seed_of
    from longlook.network.loss_law import DROPPING_AT_RANDOM as DROPPING_AT_RANDOM
    from longlook.network.loss_law import LossLaw as LossLaw
    from longlook.network.loss_law import LossLaws as LossLaws
    from longlook.network.loss_law import dropped as dropped
    from longlook.network.loss_law import loses_at_random as loses_at_random
    from longlook.network.loss_law import loss_laws as loss_laws
    from longlook.network.loss_law import loss_texts as loss_texts
    from longlook.network.loss_law import with_losses as with_losses
    from longlook.network.presets import PRESET as PRESET
    from longlook.network.presets import PRESETS as PRESETS
    from longlook.network.presets import list_presets as list_presets
    from longlook.network.presets import with_preset as with_preset
    from longlook.network.settings import DEFAULTS as DEFAULTS
    from longlook.network.stages import LIMITED_BY_LINUX as LIMITED_BY_LINUX
    from longlook.network.stages import OFF as OFF
    from longlook.network.stages import PACKET_BYTES as PACKET_BYTES
    from longlook.network.stages import largest_rate_bps as largest_rate_bps
    from longlook.network.surgery import KIND as KIND
    from longlook.network.surgery import NO_SURGERY as NO_SURGERY
    from longlook.network.surgery import PREFIX as PREFIX
    from longlook.network.surgery import surgery_text as surgery_text
    from longlook.network.surgery import with_surgery as with_surgery
    from longlook.network.surgery import with_surgery_over as with_surgery_over
    from longlook.network.surgery import without_surgery as without_surgery
    from longlook.network.table_files import SEPARATORS as SEPARATORS
    from longlook.network.tables import RATES as RATES
    from longlook.network.tables import SHARES as SHARES
    from longlook.network.tables import TIMES as TIMES
    from longlook.network.tables import Column as Column
    from longlook.network.tables import Imported as Imported
    from longlook.network.tables import Reading as Reading
    from longlook.network.tables import column as column
    from longlook.network.tables import read_table as read_table
    from longlook.network.traces import LARGEST_BYTES as LARGEST_BYTES
    from longlook.network.traces import Role as Role
    from longlook.network.traces import TraceError as TraceError
    from longlook.network.values import call as call
    from longlook.network.varying import mean as mean
    from longlook.network.varying import resolved as resolved
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "config": "linger_of link_config link_text seed_of",
            "loss_law": "DROPPING_AT_RANDOM LossLaw LossLaws dropped loses_at_random loss_laws loss_texts with_losses",
            "presets": "PRESET PRESETS list_presets with_preset",
            "settings": "DEFAULTS",
            "stages": "LIMITED_BY_LINUX OFF PACKET_BYTES largest_rate_bps",
            "surgery": "KIND NO_SURGERY PREFIX surgery_text with_surgery with_surgery_over without_surgery",
            "table_files": "SEPARATORS",
            "tables": "Column Imported RATES Reading SHARES TIMES column read_table",
            "traces": "LARGEST_BYTES Role TraceError",
            "values": "call",
            "varying": "mean resolved",
        },
        "extra_links ip settings surgery trace_store",
    )
