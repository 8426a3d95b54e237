#!/usr/bin/env bash
# Makes requirements.lock anew. Used by `make lock`, from the repository root.
#
# uv writes it, since pip cannot write hashes for other platforms than its own. uv is taken from the PATH or else
# installed into a folder that is removed at the end: nobody who only installs from the lock needs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    .venv/bin/python -m venv "$scratch"
    "$scratch/bin/python" -m pip install --quiet uv
    uv=$scratch/bin/uv
fi

"$uv" pip compile pyproject.toml --extra edit --extra postgresql --extra examples --extra dev \
    --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
    --custom-compile-command "make lock" --output-file requirements.lock
echo "requirements.lock: $(grep -c '^[a-z0-9].*==' requirements.lock) packages; run \`make setup\` to install them"
