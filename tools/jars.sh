#!/usr/bin/env bash
# Fetches jars from Maven Central, with what they need, into out/jars/NAME, and prints that folder.
# Does nothing where it is there. The jars must be those of tools/jars/NAME.sha256, all of them and no other.
#
#   tools/jars.sh NAME GROUP:ARTIFACT:VERSION...
#   tools/jars.sh --record NAME GROUP:ARTIFACT:VERSION...     writes tools/jars/NAME.sha256 of what is fetched now
#
# Hadoop's are left out: PySpark has them. A coordinate may also be there to say which version of a thing that
# others need is wanted. Messages go to stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

fail() { printf 'jars: %s\n' "$@" >&2; exit 1; }

# Prints the digests of the jars in the folder $1, by name.
digests() { (cd "$1" && sha256sum -- *.jar | LC_ALL=C sort -k 2); }

main() {
    local record=no name folder known scratch coordinate group artifact version
    if [ "$1" = --record ]; then record=yes; shift; fi
    name=$1 folder=$PWD/out/jars/$1 known=tools/jars/$1.sha256
    shift
    if [ "$record" = no ]; then
        [ -f "$known" ] || fail "there are no digests of $name; see tools/jars.sh --record"
        if [ "$(cat "$folder/.made-of" 2>/dev/null)" = "$(cat "$known")" ]; then echo "$folder"; return; fi
    fi
    command -v mvn >/dev/null || fail "Maven is needed: apt-get install maven"
    scratch=$(mktemp -d)
    # shellcheck disable=SC2064 # now, not then
    trap "rm -rf '$scratch'" EXIT
    {
        echo '<project><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>cartesius</groupId><artifactId>jars</artifactId><version>1</version><dependencies>'
        for coordinate in "$@"; do
            IFS=: read -r group artifact version <<<"$coordinate"
            echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
        done
        echo '</dependencies></project>'
    } >"$scratch/pom.xml"
    echo "jars: fetching $*" >&2
    mvn --quiet --batch-mode --update-snapshots --file "$scratch/pom.xml" "$plugin:copy-dependencies" \
        -DincludeScope=runtime -DexcludeArtifactIds=hadoop-client-api,hadoop-client-runtime \
        "-DoutputDirectory=$scratch/jars" >&2
    digests "$scratch/jars" >"$scratch/found"
    if [ "$record" = yes ]; then mkdir -p tools/jars; cp "$scratch/found" "$known"; fi
    # Nothing of a jar has run yet, and nothing will if one is another than was tried.
    diff "$known" "$scratch/found" >&2 || fail "the jars of $name are not those of $known, as shown above: not used"
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    mv "$scratch/jars" "$folder"
    cp "$known" "$folder/.made-of"
    echo "$folder"
}

main "$@"
