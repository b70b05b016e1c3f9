"""Print the scores of all detectors on the labelled cases as JSON, for the page *Detectors*.

python tests/detect/score_records.py              the detectors
python tests/detect/score_records.py --switches   and JAX's own switches
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import scores

from jaxbits import detect

Outcomes = dict[str, list[scores.Outcome]]


def of_detector(outcomes: Outcomes) -> dict[str, Any]:
    """Return what is recorded of a detector, from its outcomes by folder."""
    every = [o for seen in outcomes.values() for o in seen]
    severities = collections.Counter(f.severity for o in every for f in o.findings)
    return {
        **{folder: list(scores.score(seen)) for folder, seen in outcomes.items()},
        "severities": [s for s in ("error", "warning", "note") if severities[s]],
    }


def of_switches(check: str) -> list[dict[str, Any]]:
    """Return what is recorded of the switches of a check."""
    import jax_flags_baseline

    return [
        {
            "name": switch.name,
            **{f: list(jax_flags_baseline.score(check, switch, f)) for f in scores.FOLDERS},
        }
        for switch in jax_flags_baseline.SWITCHES.get(check, ())
    ]


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    checks = list(detect.detectors())
    record: dict[str, Any] = {
        "detectors": {
            check: of_detector({f: scores.outcomes(check, f) for f in scores.FOLDERS})
            for check in checks
        }
    }
    if "--switches" in arguments:
        record["switches"] = {check: of_switches(check) for check in checks}
    print(json.dumps(record))


if __name__ == "__main__":
    main(sys.argv[1:])
