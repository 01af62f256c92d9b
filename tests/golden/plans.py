"""The plans of all studies that are shipped, as one hash for each: identities of trials, from which their seeds come.

python -m tests.golden.plans      write tests/golden/plans.json anew, for review with the change that moved a plan
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from longlook.study.files import read_study, study_files
from longlook.study.plan import make_plan

SNAPSHOT = Path(__file__).with_name("plans.json")


def take() -> dict[str, str]:
    """Return, by study, the hash of the plan of its first round, which has every cell and every arm."""
    return {name: make_plan(replace(read_study(file), rounds=1)).hash for name, file in study_files().items()}


def main() -> None:
    """Write the snapshot."""
    SNAPSHOT.write_text(json.dumps(take(), indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{SNAPSHOT} is written\n")


if __name__ == "__main__":
    main()
