"""Show public names on the API page, and hide what only Python or a library needs.

Classes such as `Report` are defined in private modules, because readers get them as results and
do not import them. The page shows their names without the module. A detector is an object that
can be called, and its signature is that of the call.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

_PRIVATE = re.compile(r"\b(?:[A-Za-z]\w*\.)+_\w+\.(?:\w+\.)*(?=[A-Za-z])")
_FULL_NAMES = re.compile(r"~(?:\w+\.)+")
_FLAX_FIELDS = re.compile(r",? *parent(?:: [^=]*)? ?= ?<[^>]*>,? *name(?:: [^=]*)? ?= ?None")


def hide_private_modules(text: str) -> str:
    """Return a text in which names from private modules have no module.

    Example:
        >>> hide_private_modules("tuple[jaxbits._analysis.finding.Finding, ...], jax.Array")
        'tuple[Finding, ...], jax.Array'
    """
    return _PRIVATE.sub("", text)


def _signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    from sphinx.util.inspect import stringify_signature

    from jaxbits._analysis.detector import Detector

    if isinstance(obj, Detector):
        call = inspect.signature(Detector.__call__, eval_str=True)
        call = call.replace(parameters=[*call.parameters.values()][1:])
        text = stringify_signature(call, unqualified_typehints=True)
        arguments, _, result = text.rpartition(" -> ")
        return arguments, result
    if signature and "<" in signature:
        # Sphinx cannot parse such a default, and then shows the full names of all types.
        signature = _FULL_NAMES.sub("", _FLAX_FIELDS.sub("", signature))
        return re.sub(r"= ?<[^>]*>", "= ...", signature), returned
    return None


class HidePrivateModules(SphinxPostTransform):
    """Remove the names of private modules from signatures and from the types of arguments."""

    default_priority = 900

    def run(self, **options: Any) -> None:
        """Change the page's tree."""
        for signature in self.document.findall(addnodes.desc_signature):
            for prefix in list(signature.findall(addnodes.desc_addname)):
                if "._" in prefix.astext():
                    prefix.parent.remove(prefix)
        for where in (addnodes.desc_signature, nodes.field_list):
            for part in self.document.findall(where):
                for text in list(part.findall(nodes.Text)):
                    if "._" in text and not isinstance(text.parent, nodes.literal_block):
                        text.parent.replace(text, nodes.Text(hide_private_modules(str(text))))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", _signature)
    app.add_post_transform(HidePrivateModules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
