"""Print the scores of all detectors on the labeled cases as JSON for the page *Detectors*.

python tests/detect/score_records.py              print the scores of the detectors
python tests/detect/score_records.py --switches   also print the scores of JAX's own switches
"""

from __future__ import annotations

import collections
import gc
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import scores

from jaxbits import detect

Outcomes = dict[str, list[scores.Outcome]]


def record_detector(outcomes: Outcomes) -> dict[str, Any]:
    """Return a detector's record: its score for each folder and the severities of its findings."""
    flat = [o for seen in outcomes.values() for o in seen]
    severities = collections.Counter(f.severity for o in flat for f in o.findings)
    return {
        **{folder: list(scores.score(seen)) for folder, seen in outcomes.items()},
        "severities": [s for s in ("error", "warning", "note") if severities[s]],
    }


def record_switches(check: str) -> list[dict[str, Any]]:
    """Return a record for each of a check's switches: its name and its score for each folder."""
    import jax_flags_baseline

    # `jax.checking_leaks` collects garbage after each trace, which takes seconds once the detectors
    # have left many objects behind:
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
    gc.freeze()
    return [
        {
            "name": switch.name,
            **{f: list(jax_flags_baseline.score(check, switch, f)) for f in scores.FOLDERS},
        }
        for switch in jax_flags_baseline.SWITCHES.get(check, ())
    ]


def main(arguments: list[str]) -> None:
    """Print the scores of the detectors and, with `--switches`, those of JAX's own switches."""
    checks = list(detect.detectors())
    record: dict[str, Any] = {
        "detectors": {
            check: record_detector({f: scores.outcomes(check, f) for f in scores.FOLDERS})
            for check in checks
        }
    }
    if "--switches" in arguments:
        record["switches"] = {check: record_switches(check) for check in checks}
    print(json.dumps(record))


if __name__ == "__main__":
    main(sys.argv[1:])
