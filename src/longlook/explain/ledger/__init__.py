"""The ledger of a trial: every nanosecond of its load in exactly one class (docs/reference/ledger.md). Pure.

Causes also import `handshake` (its parts)."""

from longlook.explain.ledger.classes import CLASSES, LINK_CLASSES, LedgerClass
from longlook.explain.ledger.make import make_ledger
from longlook.explain.ledger.middle import BEHIND_PROXY
from longlook.explain.ledger.table import LEDGER_SCHEMA, Ledger

__all__ = ["BEHIND_PROXY", "CLASSES", "LEDGER_SCHEMA", "LINK_CLASSES", "Ledger", "LedgerClass", "make_ledger"]
