"""A run folder → why an arm lost: `explain_run` traces, suspects, intervenes and judges, cell by cell."""

from longlook.pipeline.explain.run import ExplainRequest, explain_run

__all__ = ["ExplainRequest", "explain_run"]
