#!/usr/bin/env bash
# Runs tests in an environment of their own: tools/tests_with.sh NAME PYTEST-ARGUMENT...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$(tools/environment.sh "$1")
PYSPARK_PYTHON=$python PYTHONPATH=$PWD HYPOTHESIS_PROFILE=${HYPOTHESIS_PROFILE:-ci} exec "$python" -m pytest "${@:2}"
