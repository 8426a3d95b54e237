#!/usr/bin/env bash
# Makes an environment of its own, out/env/NAME, for tests with other versions than those of requirements.lock.
# Does nothing where it is there. Prints its Python.
#
#   tools/environment.sh NAME REQUIREMENT...     the requirements replace those of the lock that they name
#
# All else has the version of the lock, Spark too unless a requirement names it. Messages go to stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the tests of the bridge need, and the examples.
needed=(attrs click greenlet hypothesis lark matplotlib numpy pandas pint pyais pyarrow pyspark pytest pytest-xdist rich)

main() {
    local folder=$PWD/out/env/$1 pins requirement replaced
    shift
    if [ "$(cat "$folder/.made-of" 2>/dev/null)" = "$*" ]; then echo "$folder/bin/python"; return; fi
    echo "environment: making $folder with $*" >&2
    rm -rf "$folder"
    .venv/bin/python -m venv "$folder"
    pins=$folder/pins.txt
    replaced=""
    for requirement in "$@"; do replaced+="|${requirement%%[=<>~!]*}"; done
    if [[ $replaced == *"|pyspark"* ]]; then replaced+="|py4j"; fi   # it goes with PySpark
    sed -nE '/^[A-Za-z0-9_.-]+==/ s/ *\\$//p' requirements.lock | grep -vE "^(${replaced#|})==" >"$pins"   # with their markers
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$pins" "${needed[@]}" "$@" >&2
    echo "$*" >"$folder/.made-of"
    echo "$folder/bin/python"
}

main "$@"
