#!/usr/bin/env bash
# Runs tests in an environment of their own: tools/tests_with.sh NAME REQUIREMENT... -- PYTEST-ARGUMENT...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

made_of=()
while [ "$1" != -- ]; do made_of+=("$1"); shift; done
shift
python=$(tools/environment.sh "${made_of[@]}")
PYSPARK_PYTHON=$python PYTHONPATH=$PWD HYPOTHESIS_PROFILE=${HYPOTHESIS_PROFILE:-ci} exec "$python" -m pytest "$@"
