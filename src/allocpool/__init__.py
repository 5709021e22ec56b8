"""Allocate a fresh buffer for every message, or take one from a pool: an instrument that measures it."""

import sys
from typing import Any

# Reading a notebook imports jsonschema, and that this parser of addresses, where there is one: it takes two seconds to
# make itself, and no notebook has such an address. None says that it can't be imported.
_modules: dict[str, Any] = sys.modules
_modules.setdefault("rfc3987_syntax", None)
