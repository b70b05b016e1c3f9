"""JAX's own switches that watch a whole run, which an audit of a few calls cannot do."""

from __future__ import annotations

from collections.abc import Iterable

SWITCHES: dict[str, str] = {
    "key_reuse": "`jax.debug_key_reuse(True)` follows keys from call to call",
    "nan": "`jax.debug_nans(True)` stops at the first NaN in any batch",
    "out_of_bounds": "`checkify.checkify(fn, errors=checkify.index_checks)` checks the indices of "
    "every call",
    "recompile": "`jax.config.update('jax_explain_cache_misses', True)` says why a call is traced "
    "again",
    "transfer": "`jax.transfer_guard('disallow')` stops at the transfers of a whole loop",
}
"""For each check, the switch that sees more than an audit, and what it does."""


def suggest_switches(checks: Iterable[str]) -> str:
    """Return one line that names the switches for these checks, or "" if there are none.

    >>> suggest_switches(["leak", "nan", "nan"])
    'to watch a whole run: `jax.debug_nans(True)` stops at the first NaN in any batch'
    """
    found = [SWITCHES[check] for check in dict.fromkeys(checks) if check in SWITCHES]
    return f"to watch a whole run: {'; '.join(found)}" if found else ""
