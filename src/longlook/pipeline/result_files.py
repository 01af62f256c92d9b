"""The files that an analysis leaves in a run folder for other commands."""

from longlook.analysis import TABLES
from longlook.core import DEPENDENCES, SAMPLES

ESTIMATES, CLAIMS = "estimates.parquet", "claims.json"
POPULATION_TABLE, PATTERNS = "population.parquet", "strata.parquet"
EXPECTATIONS = "expectations.json"
HYPOTHESES = "hypotheses.json"
WINS, TAILS, HETEROGENEITY = "wins.parquet", "tails.parquet", "heterogeneity.parquet"
RESULTS = (
    *(SAMPLES, ESTIMATES, CLAIMS, DEPENDENCES, WINS, TAILS, HETEROGENEITY),
    *(table.file for table in TABLES if table.file is not None),
    *(POPULATION_TABLE, PATTERNS, EXPECTATIONS, HYPOTHESES),
)
"""All of them; they are sealed."""
