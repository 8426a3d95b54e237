#!/usr/bin/env bash
# Starts a Kafka broker of one node (KRaft) on this machine, in the foreground: for tests, and to try things out.
#
#   tools/kafka.sh [PORT [FOLDER [PROPERTY=VALUE...]]]
#
# PORT: 9092, the controller has the next one; FOLDER: out/kafka, made anew: one that is there is removed only if it was
# made by this script, and no broker runs from it; the properties are further ones of the broker, as Kafka's
# documentation names them.
#
# It says so when the broker listens; one that does not within KAFKA_WAIT seconds, by default 60, is ended. JAVA_HOME
# says which Java.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

port=${1:-9092}
folder=${2:-$PWD/out/kafka}
mark=.made-by-kafka.sh
if [ -e "$folder" ] && [ ! -f "$folder/$mark" ]; then
    echo "kafka: $folder is there, and not of this script's making; name a folder that is not there" >&2
    exit 1
fi
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A broker that runs, at this port or from this folder, keeps its data, and so does one that begins to.
if [ -f "$folder/$mark" ]; then read -r its_port its_process <"$folder/$mark" || true; fi
for one in "$port" "$((port + 1))" ${its_port:-}; do
    if listens "$one"; then
        echo "kafka: something listens at 127.0.0.1:$one, perhaps a broker of $folder; end it, or name another port" \
            "and folder" >&2
        exit 1
    fi
done
if [ -n "${its_process:-}" ] && [[ $(ps -ww -p "$its_process" -o args= 2>/dev/null) == *kafka* ]]; then
    echo "kafka: a broker of $folder begins to run, as process $its_process; end it, or name another folder" >&2
    exit 1
fi
jars=$(tools/jars.sh kafka-broker org.apache.kafka:kafka_2.13:4.1.0 org.slf4j:slf4j-simple:1.7.36)
java=("${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn)
rm -rf "$folder"
mkdir -p "$folder"
echo "$port $$" >"$folder/$mark"  # Java takes the place of this process
cat >"$folder/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
log.dirs=$folder/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
PROPERTIES
printf '%s\n' "${@:3}" >>"$folder/server.properties"
"${java[@]}" -cp "$jars/*" kafka.tools.StorageTool format --cluster-id MkU3OEVBNTcwNTJENDM2Qg \
    --config "$folder/server.properties" >"$folder/format.log"

tell() {
    local wait=${KAFKA_WAIT:-60}
    until listens "$port"; do
        kill -0 $$ 2>/dev/null || return  # it has said why
        if [ "$SECONDS" -ge "$wait" ]; then
            echo "kafka: expected a broker at 127.0.0.1:$port within $wait s but nothing listens there; it is ended" >&2
            kill $$
            return
        fi
        sleep 0.1
    done
    echo "kafka: a broker at 127.0.0.1:$port; Ctrl-C stops it" >&2
}

SECONDS=0
(tell &)  # a child of nobody's: Java would not wait for it
exec "${java[@]}" -cp "$jars/*" kafka.Kafka "$folder/server.properties"
