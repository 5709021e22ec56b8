#!/bin/sh
# Builds and tests the C++ library three times: as trials run it, with ASan + UBSan, with TSan.
# Usage: native/check.sh [preset...]      (default: release asan tsan)
set -eu
cd "$(dirname "$0")"
for preset in ${*:-release asan tsan}; do
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
