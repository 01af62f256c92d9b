"""From study files to a plan: a file is read, checked and resolved into a list of trials. Pure, except for reading
files.

A TOML file goes in; a `Study`, and from it a `Plan`, come out. `find_study` and `list_studies` read study files,
`parse_study` takes a document without a file, and `make_plan` gives the trials in the order in which they run.
`installed` is what a study may name.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.study import catalogue as catalogue
    from longlook.study import laws as laws
    from longlook.study import tcp as tcp
    from longlook.study.arms import arm_differences as arm_differences
    from longlook.study.build import MOST_DECIDING as MOST_DECIDING
    from longlook.study.catalogue import Catalogue as Catalogue
    from longlook.study.catalogue import ComparedSide as ComparedSide
    from longlook.study.catalogue import installed as installed
    from longlook.study.catalogue import parse_side as parse_side
    from longlook.study.cells import cell_id as cell_id
    from longlook.study.cells import cells_named as cells_named
    from longlook.study.cells import cells_of as cells_of
    from longlook.study.cells import labels_of as labels_of
    from longlook.study.contrast_filter import levels_of as levels_of
    from longlook.study.contrast_filter import with_contrasts as with_contrasts
    from longlook.study.drafts import Answers as Answers
    from longlook.study.drafts import changed_study as changed_study
    from longlook.study.drafts import new_study as new_study
    from longlook.study.expectations import find_observable as find_observable
    from longlook.study.expectations import scale_of as scale_of
    from longlook.study.files import changed_document as changed_document
    from longlook.study.files import find_document as find_document
    from longlook.study.files import find_study as find_study
    from longlook.study.files import list_scenarios as list_scenarios
    from longlook.study.files import list_studies as list_studies
    from longlook.study.files import parse_study as parse_study
    from longlook.study.files import study_files as study_files
    from longlook.study.files import study_of_document as study_of_document
    from longlook.study.files import toml_value as toml_value
    from longlook.study.flow_groups import FlowGroup as FlowGroup
    from longlook.study.flow_groups import flow_setting as flow_setting
    from longlook.study.flow_groups import groups_of as groups_of
    from longlook.study.json_schema import study_schema as study_schema
    from longlook.study.laws import STANDARD as STANDARD
    from longlook.study.laws import rank as rank
    from longlook.study.laws import uniform as uniform
    from longlook.study.nearness import near_names as near_names
    from longlook.study.neighbourhood import COLUMN_PREFIX as COLUMN_PREFIX
    from longlook.study.neighbourhood import columns as columns
    from longlook.study.neighbourhood import drawn_number as drawn_number
    from longlook.study.networks import parse_network as parse_network
    from longlook.study.networks import parse_networks as parse_networks
    from longlook.study.plan import MOST_TRIALS as MOST_TRIALS
    from longlook.study.plan import MOST_TRIALS_ASKED_FOR as MOST_TRIALS_ASKED_FOR
    from longlook.study.plan import chosen_cells as chosen_cells
    from longlook.study.plan import count_trials as count_trials
    from longlook.study.plan import make_plan as make_plan
    from longlook.study.plan import with_lost as with_lost
    from longlook.study.plan import with_operations as with_operations
    from longlook.study.releases import Release as Release
    from longlook.study.releases import releases_of as releases_of
    from longlook.study.resolve import cell_settings as cell_settings
    from longlook.study.schema import SAMPLED as SAMPLED
    from longlook.study.schema import STRATA as STRATA
    from longlook.study.schema import SchemaVersion as SchemaVersion
    from longlook.study.schema import Table as Table
    from longlook.study.schema import Text as Text
    from longlook.study.schema import parse_table as parse_table
    from longlook.study.settings import ENGINES as ENGINES
    from longlook.study.settings import NO_CONFIG as NO_CONFIG
    from longlook.study.settings import NO_PROXY as NO_PROXY
    from longlook.study.settings import PROXY as PROXY
    from longlook.study.settings import SERVER_CONFIG as SERVER_CONFIG
    from longlook.study.settings import config_text as config_text
    from longlook.study.settings import endpoint_setting as endpoint_setting
    from longlook.study.settings import is_flow_setting as is_flow_setting
    from longlook.study.settings import network_setting as network_setting
    from longlook.study.settings import parse_config as parse_config
    from longlook.study.shards import Shard as Shard
    from longlook.study.shards import cells_in as cells_in
    from longlook.study.shards import deal as deal
    from longlook.study.shards import parse_shard as parse_shard
    from longlook.study.shards import part_of as part_of
    from longlook.study.sites import check_sites as check_sites
    from longlook.study.tcp import OF_KNOB as OF_KNOB
    from longlook.study.tcp import parameters as parameters
    from longlook.study.toml_text import as_toml as as_toml
    from longlook.study.user_tables import FittedTable as FittedTable
    from longlook.study.user_tables import NetworkShare as NetworkShare
    from longlook.study.user_tables import UsersFile as UsersFile
    from longlook.study.user_tables import UsersTable as UsersTable
    from longlook.study.user_tables import read_users_file as read_users_file
    from longlook.study.virtual_time import VIRTUAL as VIRTUAL
    from longlook.study.virtual_time import check_live as check_live
    from longlook.study.virtual_time import check_paints as check_paints
    from longlook.study.virtual_time import check_remote as check_remote
    from longlook.study.virtual_time import check_virtual as check_virtual
    from longlook.study.virtual_time import default_around as default_around
    from longlook.study.virtual_time import default_losses as default_losses
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "arms": "arm_differences",
            "build": "MOST_DECIDING",
            "catalogue": "Catalogue ComparedSide installed parse_side",
            "cells": "cell_id cells_named cells_of labels_of",
            "contrast_filter": "levels_of with_contrasts",
            "drafts": "Answers changed_study new_study",
            "expectations": "find_observable scale_of",
            "files": (
                "changed_document find_document find_study list_scenarios list_studies parse_study study_files "
                "study_of_document toml_value"
            ),
            "flow_groups": "FlowGroup flow_setting groups_of",
            "json_schema": "study_schema",
            "laws": "STANDARD rank uniform",
            "nearness": "near_names",
            "neighbourhood": "COLUMN_PREFIX columns drawn_number",
            "networks": "parse_network parse_networks",
            "plan": "MOST_TRIALS MOST_TRIALS_ASKED_FOR chosen_cells count_trials make_plan with_lost with_operations",
            "releases": "Release releases_of",
            "resolve": "cell_settings",
            "schema": "SAMPLED STRATA SchemaVersion Table Text parse_table",
            "settings": (
                "ENGINES NO_CONFIG NO_PROXY PROXY SERVER_CONFIG config_text endpoint_setting is_flow_setting "
                "network_setting parse_config"
            ),
            "shards": "Shard cells_in deal parse_shard part_of",
            "sites": "check_sites",
            "tcp": "OF_KNOB parameters",
            "toml_text": "as_toml",
            "user_tables": "FittedTable NetworkShare UsersFile UsersTable read_users_file",
            "virtual_time": "VIRTUAL check_live check_paints check_remote check_virtual default_around default_losses",
        },
        "catalogue laws tcp",
    )
