#!/usr/bin/env bash
# Makes requirements.lock anew, and the locks of the other environments. Used by `make lock`, from the repository root.
#
# uv writes them, since pip cannot write hashes for other platforms than its own. It has an environment of its own
# (tools/environments/locking.lock), or is taken from the PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv=$(command -v uv || true)
[ -n "$uv" ] || uv=$(dirname "$(tools/environment.sh locking)")/uv

compile() {
    "$uv" pip compile --python-version 3.11 --generate-hashes --quiet --custom-compile-command "make lock" "$@"
}

if [ "${1:-all}" = all ]; then
    compile pyproject.toml --extra all --extra examples --extra dev --universal --upgrade --output-file requirements.lock
fi
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT
for wanted in tools/environments/*.in; do
    # All that the environment does not ask for otherwise has the version of requirements.lock; py4j goes with PySpark.
    replaced=$(sed -nE 's/^([A-Za-z0-9_-]+)[=<>~!].*/\1/p' "$wanted" | paste -sd '|')
    sed -nE '/^[A-Za-z0-9_.-]+==/ s/ *\\$//p' requirements.lock | grep -vE "^(${replaced:-none}|py4j)==" >"$pins"
    compile "$wanted" --constraint "$pins" --universal --upgrade --no-annotate --output-file "${wanted%.in}.lock"
done
echo "requirements.lock: $(grep -c '^[a-z0-9].*==' requirements.lock) packages; run \`make setup\` to install them"
