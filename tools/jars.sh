#!/usr/bin/env bash
# Fetches jars from Maven Central, with what they need, into out/jars/NAME, and prints that folder.
# Does nothing where it is there.
#
#   tools/jars.sh NAME GROUP:ARTIFACT:VERSION...
#
# Hadoop's are left out: PySpark has them. A coordinate may also be there to say which version of a thing that
# others need is wanted. Messages go to stderr.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

main() {
    local name=$1 folder=$PWD/out/jars/$1 scratch coordinate group artifact version
    shift
    if [ "$(cat "$folder/.made-of" 2>/dev/null)" = "$*" ]; then echo "$folder"; return; fi
    command -v mvn >/dev/null || { echo "jars: Maven is needed: apt-get install maven" >&2; exit 1; }
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
    rm -rf "$folder"
    mvn --quiet --batch-mode --update-snapshots --file "$scratch/pom.xml" "$plugin:copy-dependencies" \
        -DincludeScope=runtime -DexcludeArtifactIds=hadoop-client-api,hadoop-client-runtime \
        "-DoutputDirectory=$folder" >&2
    echo "$*" >"$folder/.made-of"
    echo "$folder"
}

main "$@"
