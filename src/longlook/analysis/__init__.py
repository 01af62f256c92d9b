"""Timelines → samples → estimates → verdicts about published claims.

`measure_all` measures every attempt of a run, `samples_table` makes the table of samples, `estimate` and `arm_levels`
estimate contrasts and arms, `judge` compares published claims with the estimates. `digest_of_results` identifies the
results of a run. Nothing is computed twice: two caches keep measurements and statistics.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.analysis.bottleneck import attribute_bottlenecks as attribute_bottlenecks
    from longlook.analysis.claims.judge import NO_DIFFERENCE_PCT as NO_DIFFERENCE_PCT
    from longlook.analysis.claims.judge import WelchVerdict as WelchVerdict
    from longlook.analysis.claims.judge import judge as judge
    from longlook.analysis.claims.judge import lies_within as lies_within
    from longlook.analysis.claims.judge import welch_verdict as welch_verdict
    from longlook.analysis.claims.sizes import SIZE_FACTOR as SIZE_FACTOR
    from longlook.analysis.claims.sizes import is_clipped as is_clipped
    from longlook.analysis.effects import said as said
    from longlook.analysis.effects import unmeasured as unmeasured
    from longlook.analysis.expectations import judge_expectations as judge_expectations
    from longlook.analysis.hypotheses import judge_hypotheses as judge_hypotheses
    from longlook.analysis.integrated import Drawn as Drawn
    from longlook.analysis.integrated import Integrated as Integrated
    from longlook.analysis.integrated import StatedArm as StatedArm
    from longlook.analysis.integrated import integrate as integrate
    from longlook.analysis.loss_parts import LossEffects as LossEffects
    from longlook.analysis.loss_parts import loss_effects as loss_effects
    from longlook.analysis.measure import MeasuredAttempt as MeasuredAttempt
    from longlook.analysis.measure import measure_all as measure_all
    from longlook.analysis.measure import measure_trials as measure_trials
    from longlook.analysis.measure import with_comparisons as with_comparisons
    from longlook.analysis.measure_cache import MeasureCache as MeasureCache
    from longlook.analysis.outputs import TABLES as TABLES
    from longlook.analysis.outputs import filled_tables as filled_tables
    from longlook.analysis.outputs import mean_work as mean_work
    from longlook.analysis.outputs import share_of_epochs as share_of_epochs
    from longlook.analysis.population.answers import LEAST_ROUNDS as LEAST_ROUNDS
    from longlook.analysis.population.answers import AnswerOfUsers as AnswerOfUsers
    from longlook.analysis.population.answers import CellOfUsers as CellOfUsers
    from longlook.analysis.population.answers import LevelOfUsers as LevelOfUsers
    from longlook.analysis.population.answers import answer as answer
    from longlook.analysis.population.answers import mean_over_users as mean_over_users
    from longlook.analysis.population.grid import Network as Network
    from longlook.analysis.population.grid import as_fast_as_links as as_fast_as_links
    from longlook.analysis.population.grid import networks_for as networks_for
    from longlook.analysis.population.making import declared_users as declared_users
    from longlook.analysis.population.making import read_users as read_users
    from longlook.analysis.population.people import BLOCKED as BLOCKED
    from longlook.analysis.population.people import Users as Users
    from longlook.analysis.population.people import whose_udp_passes as whose_udp_passes
    from longlook.analysis.population.places import Placing as Placing
    from longlook.analysis.population.places import cells_with_quantities as cells_with_quantities
    from longlook.analysis.population.places import place as place
    from longlook.analysis.results_digest import ResultsDigest as ResultsDigest
    from longlook.analysis.results_digest import digest_of_results as digest_of_results
    from longlook.analysis.samples import FACTOR_PREFIX as FACTOR_PREFIX
    from longlook.analysis.samples import RANDOM_LOSSES as RANDOM_LOSSES
    from longlook.analysis.samples import samples_table as samples_table
    from longlook.analysis.statistics_cache import Statistics as Statistics
    from longlook.analysis.statistics_cache import statistics_of as statistics_of
    from longlook.analysis.stats import libraries as libraries
    from longlook.analysis.stats import procedures as procedures
    from longlook.analysis.stats import rare_losses as rare_losses
    from longlook.analysis.stats import sequential as sequential
    from longlook.analysis.stats.arrays import ComparedArrays as ComparedArrays
    from longlook.analysis.stats.arrays import compare_arrays as compare_arrays
    from longlook.analysis.stats.cells import CellData as CellData
    from longlook.analysis.stats.cells import Cells as Cells
    from longlook.analysis.stats.cells import RoundEffects as RoundEffects
    from longlook.analysis.stats.cells import effects_by_round as effects_by_round
    from longlook.analysis.stats.drawn_settings import name_of as name_of
    from longlook.analysis.stats.drawn_settings import scale_of as scale_of
    from longlook.analysis.stats.drawn_settings import sentence as sentence
    from longlook.analysis.stats.estimates import estimate as estimate
    from longlook.analysis.stats.frames import columns_of as columns_of
    from longlook.analysis.stats.frames import dependences_table as dependences_table
    from longlook.analysis.stats.frames import estimates_from_table as estimates_from_table
    from longlook.analysis.stats.frames import estimates_table as estimates_table
    from longlook.analysis.stats.heterogeneity import Heterogeneity as Heterogeneity
    from longlook.analysis.stats.heterogeneity import heterogeneity_table as heterogeneity_table
    from longlook.analysis.stats.joint import joint_effect as joint_effect
    from longlook.analysis.stats.joint import joint_level as joint_level
    from longlook.analysis.stats.levels import FAIR as FAIR
    from longlook.analysis.stats.levels import PART as PART
    from longlook.analysis.stats.levels import arm_levels as arm_levels
    from longlook.analysis.stats.levels import metrics_by_arm as metrics_by_arm
    from longlook.analysis.stats.population import population_curves as population_curves
    from longlook.analysis.stats.population import population_levels as population_levels
    from longlook.analysis.stats.procedures import Floats as Floats
    from longlook.analysis.stats.procedures import Paired as Paired
    from longlook.analysis.stats.procedures import adjust as adjust
    from longlook.analysis.stats.procedures import advantages as advantages
    from longlook.analysis.stats.procedures import effect_pct as effect_pct
    from longlook.analysis.stats.procedures import exact_interval as exact_interval
    from longlook.analysis.stats.procedures import fails_more as fails_more
    from longlook.analysis.stats.procedures import paired as paired
    from longlook.analysis.stats.rare_losses import Apart as Apart
    from longlook.analysis.stats.scales import Scale as Scale
    from longlook.analysis.stats.scales import by_ratios as by_ratios
    from longlook.analysis.stats.scales import compared as compared
    from longlook.analysis.stats.stopping import AllowedSide as AllowedSide
    from longlook.analysis.stats.stopping import beyond_doubt as beyond_doubt
    from longlook.analysis.stats.stopping import deciding_apart as deciding_apart
    from longlook.analysis.stats.stopping import failures_side as failures_side
    from longlook.analysis.stats.stopping import interval_side as interval_side
    from longlook.analysis.stats.stopping import looks as looks
    from longlook.analysis.stats.stopping import margin_in_unit as margin_in_unit
    from longlook.analysis.stats.stopping import metric_side as metric_side
    from longlook.analysis.stats.stopping import undecided as undecided
    from longlook.analysis.stats.strata import MORE as MORE
    from longlook.analysis.stats.strata import NONE as NONE
    from longlook.analysis.stats.strata import ONE as ONE
    from longlook.analysis.stats.strata import Packet as Packet
    from longlook.analysis.stats.tails import RoundsWon as RoundsWon
    from longlook.analysis.stats.tails import TailEffect as TailEffect
    from longlook.analysis.stats.tails import spread_table as spread_table
    from longlook.analysis.stats.verdicts import decide as decide
    from longlook.analysis.stats.verdicts import known_direction as known_direction
    from longlook.analysis.stats.verdicts import most_unseen as most_unseen
    from longlook.analysis.strata_plan import CellStrata as CellStrata
    from longlook.analysis.strata_plan import Traffic as Traffic
    from longlook.analysis.strata_plan import drawn_in_round as drawn_in_round
    from longlook.analysis.strata_plan import enough_of_more as enough_of_more
    from longlook.analysis.strata_plan import is_point as is_point
    from longlook.analysis.strata_plan import laws_of as laws_of
    from longlook.analysis.strata_plan import patterns as patterns
    from longlook.analysis.strata_plan import plan_strata as plan_strata
    from longlook.analysis.strata_plan import program_of as program_of
    from longlook.analysis.strata_plan import singles_to_try as singles_to_try
    from longlook.analysis.strata_plan import why_too_many as why_too_many
    from longlook.analysis.strata_plan import with_repeats as with_repeats
    from longlook.analysis.strata_plan import write_packet as write_packet
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "bottleneck": "attribute_bottlenecks",
            "claims.judge": "NO_DIFFERENCE_PCT WelchVerdict judge lies_within welch_verdict",
            "claims.sizes": "SIZE_FACTOR is_clipped",
            "effects": "said unmeasured",
            "expectations": "judge_expectations",
            "hypotheses": "judge_hypotheses",
            "integrated": "Drawn Integrated StatedArm integrate",
            "loss_parts": "LossEffects loss_effects",
            "measure": "MeasuredAttempt measure_all measure_trials with_comparisons",
            "measure_cache": "MeasureCache",
            "outputs": "TABLES filled_tables mean_work share_of_epochs",
            "population.answers": "AnswerOfUsers CellOfUsers LEAST_ROUNDS LevelOfUsers answer mean_over_users",
            "population.grid": "Network as_fast_as_links networks_for",
            "population.making": "declared_users read_users",
            "population.people": "BLOCKED Users whose_udp_passes",
            "population.places": "Placing cells_with_quantities place",
            "results_digest": "ResultsDigest digest_of_results",
            "samples": "FACTOR_PREFIX RANDOM_LOSSES samples_table",
            "statistics_cache": "Statistics statistics_of",
            "stats.arrays": "ComparedArrays compare_arrays",
            "stats.cells": "CellData Cells RoundEffects effects_by_round",
            "stats.drawn_settings": "name_of scale_of sentence",
            "stats.estimates": "estimate",
            "stats.frames": "columns_of dependences_table estimates_from_table estimates_table",
            "stats.heterogeneity": "Heterogeneity heterogeneity_table",
            "stats.joint": "joint_effect joint_level",
            "stats.levels": "FAIR PART arm_levels metrics_by_arm",
            "stats.population": "population_curves population_levels",
            "stats.procedures": "Floats Paired adjust advantages effect_pct exact_interval fails_more paired",
            "stats.rare_losses": "Apart",
            "stats.scales": "Scale by_ratios compared",
            "stats.stopping": (
                "AllowedSide beyond_doubt deciding_apart failures_side interval_side looks margin_in_unit metric_side "
                "undecided"
            ),
            "stats.strata": "MORE NONE ONE Packet",
            "stats.tails": "RoundsWon TailEffect spread_table",
            "stats.verdicts": "decide known_direction most_unseen",
            "strata_plan": (
                "CellStrata Traffic drawn_in_round enough_of_more is_point laws_of patterns plan_strata program_of "
                "singles_to_try why_too_many with_repeats write_packet"
            ),
        },
        "stats.libraries stats.procedures stats.rare_losses stats.sequential",
    )
