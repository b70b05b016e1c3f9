"""Measure what `import jaxbits` costs beyond `import jax`, and which modules it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from book_tools.benchmarking.timing import quartiles

TITLE = "import jaxbits after import jax"
REPEATS = 15
LIMIT_MS = 50
HEAVY = ("flax", "optax", "orbax", "torch", "matplotlib")

PROGRAM = """
import json, sys, time
began = time.perf_counter()
import jax
between = time.perf_counter()
before = set(sys.modules)
started = time.perf_counter()
import jaxbits
ended = time.perf_counter()
added = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
from jaxbits import claims
used = time.perf_counter()
loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
print(json.dumps({"jax": between - began, "jaxbits": ended - started, "claims": used - ended,
                  "added": added, "loaded": loaded}))
"""


def run() -> dict[str, Any]:
    """Time, in new interpreters, the imports of jax, jaxbits, and the first function of jaxbits."""
    env = os.environ | {"JAX_PLATFORMS": "cpu"}
    samples = []
    for _ in range(REPEATS + 1):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=env, capture_output=True, check=True
        )
        samples.append(json.loads(done.stdout))
    samples = samples[1:]  # The first sample reads files that are not in memory yet.
    ms = {key: [1000 * s[key] for s in samples] for key in ("jax", "jaxbits", "claims")}
    added = sorted(set().union(*(s["added"] for s in samples)))
    heavy = sorted(set(HEAVY) & set().union(*(s["loaded"] for s in samples)))
    results = {
        "import jax": quartiles(ms["jax"], "ms"),
        "import jaxbits, jax being there": quartiles(ms["jaxbits"], "ms"),
        "from jaxbits import claims, after that": quartiles(ms["claims"], "ms"),
    }
    median = results["import jaxbits, jax being there"]["median"]
    return {
        "results": results,
        "modules": added,
        "checks": {
            f"import jaxbits adds less than {LIMIT_MS} ms": median < LIMIT_MS,
            f"it imports none of {', '.join(HEAVY)}": not heavy,
        },
    }
