"""The public names of the library. `_lazy` also reads this file."""

from jaxbits import detect as detect
from jaxbits import optim as optim
from jaxbits import runtime as runtime
from jaxbits import testing as testing
from jaxbits import xor as xor
from jaxbits._audit import assert_clean as assert_clean
from jaxbits._audit import audit as audit
from jaxbits._catalogue import SharpBit as SharpBit
from jaxbits._catalogue import load as load
from jaxbits._claims import also_sharp as also_sharp
from jaxbits._claims import claims as claims
from jaxbits._claims import made_for as made_for
from jaxbits._claims import raises as raises
from jaxbits._explain import explain as explain
from jaxbits._ipython import load_ipython_extension as load_ipython_extension
from jaxbits._ipython import unload_ipython_extension as unload_ipython_extension
from jaxbits._jax_compat import x64_on as x64_on
from jaxbits.book.exercises import check as check
from jaxbits.book.exercises import hint as hint
from jaxbits.book.exercises import solution as solution

__version__: str
