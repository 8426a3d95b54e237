#!/usr/bin/env bash
# Prepares a fresh machine: a .venv with the locked dependencies, and Java for Spark. Does nothing where all is there.
#
#   tools/setup.sh                both parts; what `make setup`, and so `make run` and `make test`, call
#   tools/setup.sh environment    only .venv
#   tools/setup.sh java           only Java: prints the folder to use as JAVA_HOME
#   tools/setup.sh browser        Debian's Chromium without windows, for the tests of the pages, where that takes no
#                                 password; else says why not, and does not fail: those tests are skipped then
#
# Messages go to stderr. It works from any folder, and in the bash 3.2 of macOS.
#
# PYTHON    names the Python to make .venv with; without it, the first on the PATH that is new enough.
# JVM_ROOT  is where a distribution puts its Javas; tests set it.
set -euo pipefail

lock=requirements.lock
ready=.venv/.ready          # a copy of the lock that .venv was made from: equal means nothing to do
java_needed=17
java_packages="openjdk-17-jre-headless openjdk-21-jre-headless"

say() { printf '%s\n' "setup: $*" >&2; }
fail() { printf '%s\n' "" "setup: $1" "${@:2}" "" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# -------------------------------------------------------------------------------------------------------- Python

is_new_python() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Prints a Python >= 3.11; fails where there is none.
find_python() {
    local name
    for name in ${PYTHON:-python3 python python3.11 python3.12 python3.13 python3.14}; do
        if has "$name" && is_new_python "$name"; then command -v "$name"; return; fi
    done
    return 1
}

make_environment() {
    local python
    if [ -x .venv/bin/python ] && is_new_python .venv/bin/python; then
        if cmp -s "$lock" "$ready"; then return; fi
    elif python=$(find_python); then
        say "making .venv with $("$python" --version), $python"
        rm -rf .venv
        if has uv; then
            uv venv --quiet --python "$python" .venv
        elif ! "$python" -m venv .venv; then
            rm -rf .venv
            fail "$python cannot make virtual environments. On Debian and Ubuntu they are a package of their own:" \
                "" "    sudo apt-get install python3-venv" "" "Then run the same command again."
        fi
    elif has uv; then
        say "no Python >= 3.11 on the PATH: uv looks for one"
        rm -rf .venv
        uv venv --quiet --python 3.11 .venv
    else
        fail "Python 3.11 or newer is needed; found $("${PYTHON:-python3}" --version 2>/dev/null || echo none)." \
            "Install one (https://www.python.org/downloads/), and if it is not on the PATH say where it is:" \
            "" "    PYTHON=/path/to/python3.11 make setup"
    fi

    say "installing the packages of $lock (Spark is 450 MB; the first time takes a few minutes)"
    rm -f "$ready"
    if has uv; then
        uv pip install --quiet --python .venv/bin/python --require-hashes -r "$lock"
    else
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --use-pep517 --require-hashes \
            -r "$lock"
    fi
    cp "$lock" "$ready"
}

# ---------------------------------------------------------------------------------------------------------- Java

# Prints the home of the Java whose executable is $1, if that starts and is new enough.
# Java is asked itself, since /usr/bin/java may be a link, a wrapper, or on macOS a stub that only shows a window.
home_of_java() {
    local settings version
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    version=${version#1.}                                  # Java 8 calls itself 1.8
    [[ $version =~ ^[0-9]+$ ]] && [ "$version" -ge "$java_needed" ] || return 1
    sed -n 's/^ *java\.home = //p' <<<"$settings"
}

# Prints the home of the first Java that will do: JAVA_HOME's, the PATH's, or one that is installed but not chosen.
find_java() {
    local java
    for java in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || true)" "${JVM_ROOT:-/usr/lib/jvm}"/*/bin/java; do
        if [ -x "$java" ] && home_of_java "$java"; then return; fi
    done
    return 1
}

# Prints the words to put before a command that only root may run; fails where that is impossible without a password.
become_root() {
    if [ "$(id -u)" = 0 ]; then echo "env"; elif has sudo && sudo -n true 2>/dev/null; then echo "sudo -n env"; else return 1; fi
}

# Prints the first of our packages that apt offers. "Candidate: (none)" is a name apt has heard of but cannot install.
find_java_package() {
    local package policy
    for package in $java_packages; do
        # Not in a pipe: a reader that stops early would make apt-cache, and so with pipefail the pipe, fail.
        policy=$(LC_ALL=C apt-cache policy "$package" 2>/dev/null || true)
        if grep -q '^ *Candidate: [^(]' <<<"$policy"; then echo "$package"; return; fi
    done
    return 1
}

# Stops, showing the one command that would help on this machine.
fail_without_java() {
    local command
    if has apt-get; then
        command="sudo apt-get update && sudo apt-get install -y $(find_java_package || echo openjdk-17-jre-headless)"
    elif has dnf; then command="sudo dnf install -y java-21-openjdk-headless"
    elif has apk; then command="sudo apk add openjdk17-jre-headless"
    elif has pacman; then command="sudo pacman -S --noconfirm jre17-openjdk-headless"
    elif has brew; then command="brew install --cask temurin@17"
    else command="export JAVA_HOME=/path/to/a/java-$java_needed-or-newer"
    fi
    fail "Spark needs Java $java_needed or newer, and there is none in JAVA_HOME or on the PATH${1:+ ($1)}. Type:" \
        "" "    $command" "" "Then run the same command again."
}

make_java() {
    local root package log
    if find_java; then return; fi
    has apt-get || fail_without_java ""
    root=$(become_root) || fail_without_java "and installing it needs a password"

    say "no Java >= $java_needed found: installing one with apt-get"
    # Some list of packages being out of reach need not matter: what counts is whether the package is offered.
    $root apt-get -qq update >&2 || say "apt-get update failed; going on with the lists that are there"
    package=$(find_java_package) || fail_without_java "and apt offers none of: $java_packages"
    if ! log=$($root DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "$package" 2>&1); then
        printf '%s\n' "$log" >&2
        fail_without_java "and installing $package failed, as shown above"
    fi
    hash -r
    find_java || fail_without_java "even after installing $package"
}

# ------------------------------------------------------------------------------------------------------- a browser

# Without windows, and without what draws them: a page of a test takes half the processor time in it.
make_browser() {
    local root browser=chromium-headless-shell
    if has $browser; then return; fi
    if ! has apt-get || ! root=$(become_root); then
        say "no $browser, and it cannot be installed from here: the tests in a browser are skipped"
        return
    fi
    say "installing $browser with apt-get (64 MB)"
    $root apt-get -qq update >&2 || say "apt-get update failed; going on with the lists that are there"
    $root DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $browser >/dev/null || say "that failed: the tests in a browser are skipped"
}

# ---------------------------------------------------------------------------------------------------------------

main() {
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    case "${1:-all}" in
        environment) make_environment ;;
        java) make_java ;;
        browser) make_browser ;;
        all)
            local java_home
            make_environment
            java_home=$(make_java)
            echo "$java_home" >.venv/java-home            # the Makefile exports it to whatever starts Spark
            ;;
        *) fail "unknown part '$1'; expected environment, java or browser" ;;
    esac
}

main "$@"
