"""The types that every stage shares, and what is needed to store, find and print them. Standard library only.

Everything may import this package; it imports nothing of ours. Studies, plans, trials, runs and results are frozen
dataclasses, which `codec` turns into JSON and back. `registry` finds plug-ins, whose types are `Stack` and
`WorkloadKind`. A `Job` is the order to run a trial, a `RunFolder` what a run keeps on disk. Files that others may have
made are opened by `files`, quantities are read and printed by `units`, and errors that a user can act on are a
`LonglookError`.
"""

from typing import TYPE_CHECKING

from longlook.core.faces import lazy as lazy

if TYPE_CHECKING:
    from longlook.core import codec as codec
    from longlook.core import compressed_files as compressed_files
    from longlook.core import echoes as echoes
    from longlook.core import files as files
    from longlook.core import kept_files as kept_files
    from longlook.core import knobs as knobs
    from longlook.core import live as live
    from longlook.core import path_hints as path_hints
    from longlook.core import paths as paths
    from longlook.core import registry as registry
    from longlook.core import trust as trust
    from longlook.core import units as units
    from longlook.core import versions as versions
    from longlook.core.addresses import address_in as address_in
    from longlook.core.addresses import with_port as with_port
    from longlook.core.calibration import MODULE as MODULE
    from longlook.core.calibration import TABLE as TABLE
    from longlook.core.calibration import calibration_code_digest as calibration_code_digest
    from longlook.core.calibration import certificate_entry as certificate_entry
    from longlook.core.calibration import certificate_folder as certificate_folder
    from longlook.core.codec import content_hash as content_hash
    from longlook.core.codec import encode as encode
    from longlook.core.content_store import ENTRY as ENTRY
    from longlook.core.content_store import STORES_BEHIND as STORES_BEHIND
    from longlook.core.content_store import ContentStore as ContentStore
    from longlook.core.content_store import Pruned as Pruned
    from longlook.core.content_store import copy as copy
    from longlook.core.cpus import COSTS as COSTS
    from longlook.core.cpus import OFF as OFF
    from longlook.core.cpus import text_of as text_of
    from longlook.core.cpus import times as times
    from longlook.core.cpus import usable_cpus as usable_cpus
    from longlook.core.dependence import Dependence as Dependence
    from longlook.core.dependence import Ends as Ends
    from longlook.core.dependence import Shape as Shape
    from longlook.core.digests import builder_digest as builder_digest
    from longlook.core.digests import code_digest as code_digest
    from longlook.core.digests import file_digest as file_digest
    from longlook.core.digests import folder_digest as folder_digest
    from longlook.core.digests import source_digest as source_digest
    from longlook.core.document import check_document as check_document
    from longlook.core.document import parse_toml as parse_toml
    from longlook.core.document import read_toml as read_toml
    from longlook.core.engine import Engine as Engine
    from longlook.core.errors import InputError as InputError
    from longlook.core.errors import InterruptedByUserError as InterruptedByUserError
    from longlook.core.errors import LonglookError as LonglookError
    from longlook.core.errors import MachineError as MachineError
    from longlook.core.escape import CsvWriter as CsvWriter
    from longlook.core.escape import csv_cell as csv_cell
    from longlook.core.escape import visible as visible
    from longlook.core.expectations import Bounds as Bounds
    from longlook.core.expectations import Expectation as Expectation
    from longlook.core.expectations import JudgedExpectation as JudgedExpectation
    from longlook.core.files import open_below as open_below
    from longlook.core.files import open_regular as open_regular
    from longlook.core.files import remove_tree as remove_tree
    from longlook.core.flows import DURATION as DURATION
    from longlook.core.flows import ENDLESS as ENDLESS
    from longlook.core.flows import FLOWS_FILE as FLOWS_FILE
    from longlook.core.flows import FLOWS_FOLDER as FLOWS_FOLDER
    from longlook.core.flows import LOAD_FILE as LOAD_FILE
    from longlook.core.flows import MOST_ADDRESS_SLOTS as MOST_ADDRESS_SLOTS
    from longlook.core.flows import MULTIPATH as MULTIPATH
    from longlook.core.flows import OBJECTS as OBJECTS
    from longlook.core.flows import PREFERRED_ADDRESS as PREFERRED_ADDRESS
    from longlook.core.flows import WARM_UP as WARM_UP
    from longlook.core.flows import content_parameters as content_parameters
    from longlook.core.flows import endless_path as endless_path
    from longlook.core.flows import endpoints_of as endpoints_of
    from longlook.core.flows import flow_folder as flow_folder
    from longlook.core.flows import has_second_address as has_second_address
    from longlook.core.flows import moves as moves
    from longlook.core.flows import offers_preferred_address as offers_preferred_address
    from longlook.core.flows import over_several_paths as over_several_paths
    from longlook.core.flows import phases_of as phases_of
    from longlook.core.flows import program_role as program_role
    from longlook.core.flows import runs_tcp as runs_tcp
    from longlook.core.flows import server_configs_of as server_configs_of
    from longlook.core.flows import stop_after_s as stop_after_s
    from longlook.core.flows import watched_s as watched_s
    from longlook.core.flows import whole_path as whole_path
    from longlook.core.hypotheses import Foresight as Foresight
    from longlook.core.hypotheses import JudgedHypothesis as JudgedHypothesis
    from longlook.core.job import UNKNOWN_ANSWER as UNKNOWN_ANSWER
    from longlook.core.job import Content as Content
    from longlook.core.job import Echo as Echo
    from longlook.core.job import ExpectedAnswer as ExpectedAnswer
    from longlook.core.job import Identity as Identity
    from longlook.core.job import Job as Job
    from longlook.core.job import Program as Program
    from longlook.core.job import Site as Site
    from longlook.core.job import Upload as Upload
    from longlook.core.knobs import ALT_SVC_PORT as ALT_SVC_PORT
    from longlook.core.knobs import LARGEST_HTTP2_WINDOW as LARGEST_HTTP2_WINDOW
    from longlook.core.knobs import MEMORY as MEMORY
    from longlook.core.knobs import PLAYER as PLAYER
    from longlook.core.knobs import RESOLVER as RESOLVER
    from longlook.core.knobs import with_default as with_default
    from longlook.core.links import BEHIND as BEHIND
    from longlook.core.links import BESIDE_MAIN as BESIDE_MAIN
    from longlook.core.links import BOTTLENECKS as BOTTLENECKS
    from longlook.core.links import MAIN as MAIN
    from longlook.core.links import MAIN_SETTINGS as MAIN_SETTINGS
    from longlook.core.links import RATE as RATE
    from longlook.core.links import SECOND as SECOND
    from longlook.core.links import as_further as as_further
    from longlook.core.links import as_main as as_main
    from longlook.core.links import counter_name as counter_name
    from longlook.core.links import link_file as link_file
    from longlook.core.links import link_of as link_of
    from longlook.core.links import names_in as names_in
    from longlook.core.live import CARRIER as CARRIER
    from longlook.core.live import CARRIERS as CARRIERS
    from longlook.core.live import DEADLINE as DEADLINE
    from longlook.core.live import LiveSource as LiveSource
    from longlook.core.lock import Lock as Lock
    from longlook.core.lock import one_at_a_time as one_at_a_time
    from longlook.core.metric import Metric as Metric
    from longlook.core.metric import MetricOf as MetricOf
    from longlook.core.metric import find_metric as find_metric
    from longlook.core.metric import margin_of as margin_of
    from longlook.core.model import DOTS as DOTS
    from longlook.core.model import MATRIX as MATRIX
    from longlook.core.model import POPULATION as POPULATION
    from longlook.core.model import PUBLISHED as PUBLISHED
    from longlook.core.model import READ_AS as READ_AS
    from longlook.core.model import SCHEMA_VERSION as SCHEMA_VERSION
    from longlook.core.model import STATED as STATED
    from longlook.core.model import TRACE as TRACE
    from longlook.core.model import TREND as TREND
    from longlook.core.model import Analysis as Analysis
    from longlook.core.model import Arm as Arm
    from longlook.core.model import Better as Better
    from longlook.core.model import Capture as Capture
    from longlook.core.model import Claim as Claim
    from longlook.core.model import ClaimKind as ClaimKind
    from longlook.core.model import ConnectionState as ConnectionState
    from longlook.core.model import Contrast as Contrast
    from longlook.core.model import Endpoint as Endpoint
    from longlook.core.model import ExpectedLevel as ExpectedLevel
    from longlook.core.model import Factor as Factor
    from longlook.core.model import Figure as Figure
    from longlook.core.model import Flow as Flow
    from longlook.core.model import Hypothesis as Hypothesis
    from longlook.core.model import Json as Json
    from longlook.core.model import Level as Level
    from longlook.core.model import Link as Link
    from longlook.core.model import Outcome as Outcome
    from longlook.core.model import Plan as Plan
    from longlook.core.model import Population as Population
    from longlook.core.model import Processor as Processor
    from longlook.core.model import Run as Run
    from longlook.core.model import Scalar as Scalar
    from longlook.core.model import ServerConfig as ServerConfig
    from longlook.core.model import Stage as Stage
    from longlook.core.model import Stopping as Stopping
    from longlook.core.model import Study as Study
    from longlook.core.model import Trial as Trial
    from longlook.core.model import Vantage as Vantage
    from longlook.core.model import Verdict as Verdict
    from longlook.core.model import Workload as Workload
    from longlook.core.model import round_name as round_name
    from longlook.core.model import trace_of as trace_of
    from longlook.core.paths import DerivedCache as DerivedCache
    from longlook.core.paths import adapter_dir as adapter_dir
    from longlook.core.paths import adapter_from as adapter_from
    from longlook.core.paths import adapters_dir as adapters_dir
    from longlook.core.paths import cache_dir as cache_dir
    from longlook.core.paths import cache_root as cache_root
    from longlook.core.paths import ignore_in_git as ignore_in_git
    from longlook.core.paths import kernel_dir as kernel_dir
    from longlook.core.paths import outermost_new as outermost_new
    from longlook.core.paths import packed_file as packed_file
    from longlook.core.paths import plugin_paths as plugin_paths
    from longlook.core.priority import BLOCKING_URGENCY as BLOCKING_URGENCY
    from longlook.core.priority import parse_priority as parse_priority
    from longlook.core.problems import Problems as Problems
    from longlook.core.problems import SettingError as SettingError
    from longlook.core.problems import allowed as allowed
    from longlook.core.problems import flatten as flatten
    from longlook.core.problems import shown as shown
    from longlook.core.processes import children_of as children_of
    from longlook.core.processes import cpu_of_tree as cpu_of_tree
    from longlook.core.processes import process_table as process_table
    from longlook.core.processes import tree_of as tree_of
    from longlook.core.programs import ask_link as ask_link
    from longlook.core.programs import box_program as box_program
    from longlook.core.programs import link_program as link_program
    from longlook.core.programs import trace_program as trace_program
    from longlook.core.programs import wheel_programs as wheel_programs
    from longlook.core.protocol import EITHER as EITHER
    from longlook.core.protocol import HQ as HQ
    from longlook.core.protocol import QUIC_ECHO as QUIC_ECHO
    from longlook.core.protocol import QUIC_LIVE as QUIC_LIVE
    from longlook.core.protocol import TLS_LIVE as TLS_LIVE
    from longlook.core.protocol import UDP as UDP
    from longlook.core.protocol import UDP_ECHO as UDP_ECHO
    from longlook.core.protocol import UDP_LIVE as UDP_LIVE
    from longlook.core.protocol import Protocol as Protocol
    from longlook.core.protocol import find_protocol as find_protocol
    from longlook.core.provenance import Component as Component
    from longlook.core.provenance import Made as Made
    from longlook.core.quantity import OF_DELAYS as OF_DELAYS
    from longlook.core.quantity import OF_LOSSES as OF_LOSSES
    from longlook.core.quantity import OF_PACKETS as OF_PACKETS
    from longlook.core.quantity import OF_RATES as OF_RATES
    from longlook.core.quantity import OF_SHARES as OF_SHARES
    from longlook.core.quantity import OF_STALLS as OF_STALLS
    from longlook.core.quantity import OF_TIMES as OF_TIMES
    from longlook.core.quantity import Margin as Margin
    from longlook.core.quantity import Quantity as Quantity
    from longlook.core.registry import ModulePlace as ModulePlace
    from longlook.core.registry import add_plugins as add_plugins
    from longlook.core.registry import load_only as load_only
    from longlook.core.registry import nearest as nearest
    from longlook.core.registry import toml_files as toml_files
    from longlook.core.results import Agreement as Agreement
    from longlook.core.results import ArmLevel as ArmLevel
    from longlook.core.results import ClaimResult as ClaimResult
    from longlook.core.results import Effect as Effect
    from longlook.core.results import Estimate as Estimate
    from longlook.core.run_folder import DEPENDENCES as DEPENDENCES
    from longlook.core.run_folder import EVENTS as EVENTS
    from longlook.core.run_folder import FLOWS as FLOWS
    from longlook.core.run_folder import FREE_BYTES_NEEDED as FREE_BYTES_NEEDED
    from longlook.core.run_folder import LEDGER as LEDGER
    from longlook.core.run_folder import POINTS as POINTS
    from longlook.core.run_folder import RATES as RATES
    from longlook.core.run_folder import SAMPLES as SAMPLES
    from longlook.core.run_folder import STATES as STATES
    from longlook.core.run_folder import TIMELINE as TIMELINE
    from longlook.core.run_folder import RunFolder as RunFolder
    from longlook.core.run_folder import write_json as write_json
    from longlook.core.run_folder import write_text as write_text
    from longlook.core.seals import RUN_RECORD as RUN_RECORD
    from longlook.core.seals import altered_files as altered_files
    from longlook.core.site import BASE_BOUND_MS as BASE_BOUND_MS
    from longlook.core.site import BY_DIGEST as BY_DIGEST
    from longlook.core.site import BY_SIZE as BY_SIZE
    from longlook.core.site import COMPARE as COMPARE
    from longlook.core.site import QUIC_BASE as QUIC_BASE
    from longlook.core.site import SITE as SITE
    from longlook.core.site import SITE_ADDRESS_VARIABLE as SITE_ADDRESS_VARIABLE
    from longlook.core.site import TCP_BASE as TCP_BASE
    from longlook.core.site import URL as URL
    from longlook.core.site import USUAL_BASE_BOUND_MS as USUAL_BASE_BOUND_MS
    from longlook.core.site import SiteUrl as SiteUrl
    from longlook.core.site import SiteUrlError as SiteUrlError
    from longlook.core.site import is_site_url as is_site_url
    from longlook.core.site import parse_site_url as parse_site_url
    from longlook.core.source_tree import SOURCE_RECORD as SOURCE_RECORD
    from longlook.core.source_tree import SourceTree as SourceTree
    from longlook.core.source_tree import find_tree as find_tree
    from longlook.core.source_tree import tree_folder as tree_folder
    from longlook.core.stack import CHECK_CONFIG_VARIABLE as CHECK_CONFIG_VARIABLE
    from longlook.core.stack import PLAYER_RULES as PLAYER_RULES
    from longlook.core.stack import RFC_WINDOW_AFTER_LOSS as RFC_WINDOW_AFTER_LOSS
    from longlook.core.stack import SERVER_CONFIG_VARIABLE as SERVER_CONFIG_VARIABLE
    from longlook.core.stack import ClientJob as ClientJob
    from longlook.core.stack import Command as Command
    from longlook.core.stack import FromSources as FromSources
    from longlook.core.stack import Knob as Knob
    from longlook.core.stack import OwnRoot as OwnRoot
    from longlook.core.stack import ProxyJob as ProxyJob
    from longlook.core.stack import RelayJob as RelayJob
    from longlook.core.stack import ServerJob as ServerJob
    from longlook.core.stack import Stack as Stack
    from longlook.core.stack import Version as Version
    from longlook.core.stack import find_version as find_version
    from longlook.core.stack import proxy_arguments as proxy_arguments
    from longlook.core.stack import server_arguments as server_arguments
    from longlook.core.stack_files import FACTS as FACTS
    from longlook.core.stack_files import FOLDER as FOLDER
    from longlook.core.stack_files import KERNEL as KERNEL
    from longlook.core.stack_files import UNNAMED as UNNAMED
    from longlook.core.trust import TRUST as TRUST
    from longlook.core.trust import TRUST_HINT as TRUST_HINT
    from longlook.core.trust import programs_are_trusted as programs_are_trusted
    from longlook.core.units import UnitError as UnitError
    from longlook.core.units import parse_duration as parse_duration
    from longlook.core.units import parse_size as parse_size
    from longlook.core.units import print_bytes as print_bytes
    from longlook.core.versions import build_name as build_name
    from longlook.core.versions import is_build as is_build
    from longlook.core.versions import is_tunable as is_tunable
    from longlook.core.versions import release_name as release_name
    from longlook.core.versions import tunable_name as tunable_name
    from longlook.core.versions import untuned_name as untuned_name
    from longlook.core.workload import ORDERS as ORDERS
    from longlook.core.workload import PICTURES as PICTURES
    from longlook.core.workload import Parameter as Parameter
    from longlook.core.workload import WorkloadKind as WorkloadKind
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "addresses": "address_in with_port",
            "calibration": "MODULE TABLE calibration_code_digest certificate_entry certificate_folder",
            "codec": "content_hash encode",
            "content_store": "ContentStore ENTRY Pruned STORES_BEHIND copy",
            "cpus": "COSTS OFF text_of times usable_cpus",
            "dependence": "Dependence Ends Shape",
            "digests": "builder_digest code_digest file_digest folder_digest source_digest",
            "document": "check_document parse_toml read_toml",
            "engine": "Engine",
            "errors": "InputError InterruptedByUserError LonglookError MachineError",
            "escape": "CsvWriter csv_cell visible",
            "expectations": "Bounds Expectation JudgedExpectation",
            "faces": "lazy",
            "files": "open_below open_regular remove_tree",
            "flows": (
                "DURATION ENDLESS FLOWS_FILE FLOWS_FOLDER LOAD_FILE MOST_ADDRESS_SLOTS MULTIPATH OBJECTS "
                "PREFERRED_ADDRESS WARM_UP content_parameters endless_path endpoints_of flow_folder "
                "has_second_address moves offers_preferred_address over_several_paths phases_of program_role runs_tcp "
                "server_configs_of stop_after_s watched_s whole_path"
            ),
            "hypotheses": "Foresight JudgedHypothesis",
            "job": "Content Echo ExpectedAnswer Identity Job Program Site UNKNOWN_ANSWER Upload",
            "knobs": "ALT_SVC_PORT LARGEST_HTTP2_WINDOW MEMORY PLAYER RESOLVER with_default",
            "links": (
                "BEHIND BESIDE_MAIN BOTTLENECKS MAIN MAIN_SETTINGS RATE SECOND as_further as_main counter_name "
                "link_file link_of names_in"
            ),
            "live": "CARRIER CARRIERS DEADLINE LiveSource",
            "lock": "Lock one_at_a_time",
            "metric": "Metric MetricOf find_metric margin_of",
            "model": (
                "Analysis Arm Better Capture Claim ClaimKind ConnectionState Contrast DOTS Endpoint ExpectedLevel "
                "Factor Figure Flow Hypothesis Json Level Link MATRIX Outcome POPULATION PUBLISHED Plan Population "
                "Processor READ_AS Run SCHEMA_VERSION STATED Scalar ServerConfig Stage Stopping Study TRACE TREND "
                "Trial Vantage Verdict Workload round_name trace_of"
            ),
            "paths": (
                "DerivedCache adapter_dir adapter_from adapters_dir cache_dir cache_root ignore_in_git kernel_dir "
                "outermost_new packed_file plugin_paths"
            ),
            "priority": "BLOCKING_URGENCY parse_priority",
            "problems": "Problems SettingError allowed flatten shown",
            "processes": "children_of cpu_of_tree process_table tree_of",
            "programs": "ask_link box_program link_program trace_program wheel_programs",
            "protocol": "EITHER HQ Protocol QUIC_ECHO QUIC_LIVE TLS_LIVE UDP UDP_ECHO UDP_LIVE find_protocol",
            "provenance": "Component Made",
            "quantity": "Margin OF_DELAYS OF_LOSSES OF_PACKETS OF_RATES OF_SHARES OF_STALLS OF_TIMES Quantity",
            "registry": "ModulePlace add_plugins load_only nearest toml_files",
            "results": "Agreement ArmLevel ClaimResult Effect Estimate",
            "run_folder": (
                "DEPENDENCES EVENTS FLOWS FREE_BYTES_NEEDED LEDGER POINTS RATES RunFolder SAMPLES STATES TIMELINE "
                "write_json write_text"
            ),
            "seals": "RUN_RECORD altered_files",
            "site": (
                "BASE_BOUND_MS BY_DIGEST BY_SIZE COMPARE QUIC_BASE SITE SITE_ADDRESS_VARIABLE SiteUrl SiteUrlError "
                "TCP_BASE URL USUAL_BASE_BOUND_MS is_site_url parse_site_url"
            ),
            "source_tree": "SOURCE_RECORD SourceTree find_tree tree_folder",
            "stack": (
                "CHECK_CONFIG_VARIABLE ClientJob Command FromSources Knob OwnRoot PLAYER_RULES ProxyJob "
                "RFC_WINDOW_AFTER_LOSS RelayJob SERVER_CONFIG_VARIABLE ServerJob Stack Version find_version "
                "proxy_arguments server_arguments"
            ),
            "stack_files": "FACTS FOLDER KERNEL UNNAMED",
            "trust": "TRUST TRUST_HINT programs_are_trusted",
            "units": "UnitError parse_duration parse_size print_bytes",
            "versions": "build_name is_build is_tunable release_name tunable_name untuned_name",
            "workload": "ORDERS PICTURES Parameter WorkloadKind",
        },
        "codec compressed_files echoes files kept_files knobs live path_hints paths registry trust units versions",
    )
