#!/usr/bin/env bash
# Makes an environment of its own, out/env/NAME, from tools/environments/NAME.lock, with hashes: for tests with other
# versions than those of requirements.lock. Does nothing where it is there. Prints its Python.
#
#   tools/environment.sh NAME
#
# `make lock` writes the locks from the requirements in tools/environments/NAME.in. Messages go to stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
    local folder=$PWD/out/env/$1 lock=tools/environments/$1.lock
    if cmp -s "$lock" "$folder/.made-of"; then echo "$folder/bin/python"; return; fi
    echo "environment: making $folder from $lock" >&2
    rm -rf "$folder"
    .venv/bin/python -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" >&2
    cp "$lock" "$folder/.made-of"
    echo "$folder/bin/python"
}

main "$@"
