#!/bin/sh
# Gives one principal the rights of one role of a Parkway installation, by `kafka-acls`, and no other rights.
#
#   parkway-acls.sh ROLE PRINCIPAL [options] -- KAFKA-ACLS-OPTIONS
#
#   parkway-acls.sh producer User:shop              -- --bootstrap-server kafka:9093 --command-config admin.properties
#   parkway-acls.sh router   User:parkway-router    -- ...
#   parkway-acls.sh worker   User:parkway-worker    -- ...
#   parkway-acls.sh worker   User:chat --action chat -- ...
#   parkway-acls.sh operator User:ci                -- ...
#   parkway-acls.sh viewer   User:on-call           -- ...
#   parkway-acls.sh consumer User:shop --group shop-answers -- ...
#
# Roles
#   producer  writes `requests`. No transactions: an open one of a stranger would hold the partition
#   router    reads requests, events, plans and sources; writes the topics of the actions, outputs, events, the DLQ
#   worker    reads the topics of its action (of all, without --action) and what is parked; never writes `requests`
#   client    a producer that waits for its answers (parkway.client): writes `requests`, reads outputs
#   operator  `parkway topics apply|diff|grow`, `plan apply`, `plan show`, `parked`, `requests cancel`, `approvals`
#   viewer    `parkway lag`, `request show`, `trace`, `tail`, `doctor`, `dlq list|show`, `parked`: reads everything,
#             prompts and answers included, and changes nothing
#   replayer  `parkway dlq list|show|replay`: reads the DLQ, and writes wherever a record may have come from
#   consumer  reads one topic (outputs) in one group
#
# Options
#   --namespace NAME   default parkway
#   --action NAME      worker: this action only
#   --source TOPIC     router, replayer: a topic that the plan names as a source; as often as needed
#   --sink TOPIC       router, worker: a reply topic or a sink; client: its reply topic; as often as needed
#   --topic NAME       consumer: dlq or journal instead of outputs
#   --group NAME       consumer: its group
#
# KAFKA_ACLS is the command, default kafka-acls.sh (Confluent calls it kafka-acls). KAFKA_ACLS=echo shows what would be done.
set -eu

usage() {
    sed -n '2,/^set -eu/p' "$0" | sed -e '/^set -eu/d' -e 's/^# \{0,1\}//'
    exit 2
}

fail() {
    echo "parkway-acls: $*" >&2
    exit 2
}

[ $# -ge 2 ] || usage
role=$1 principal=$2
shift 2
namespace=parkway action='' sources='' sinks='' topic=outputs group=''
while [ $# -gt 0 ]; do
    case $1 in
        --) shift; break ;;
        --namespace) namespace=$2 ;;
        --action) action=$2 ;;
        --source) sources="$sources --topic $2" ;;
        --sink) sinks="$sinks --topic $2" ;;
        --topic) topic=$2 ;;
        --group) group=$2 ;;
        *) fail "unknown option $1 (options of kafka-acls come after --)" ;;
    esac
    [ $# -ge 2 ] || fail "$1 needs a value"
    shift 2
done
[ $# -gt 0 ] || fail "no options for kafka-acls: end with -- --bootstrap-server HOST:PORT [--command-config FILE]"
case $principal in *:*) ;; *) fail "principal $principal: write TYPE:NAME, such as User:shop" ;; esac

kafka_acls=${KAFKA_ACLS:-kafka-acls.sh}
connection=$*
ns=$namespace

# The words of $connection, and those of "$@", are options; no name of a topic or group has a blank.
allow() {
    # shellcheck disable=SC2086
    $kafka_acls $connection --add --force --allow-principal "$principal" "$@"
}

names() { # topics of the namespace
    for name in "$@"; do printf ' --topic %s.%s' "$ns" "$name"; done
}

# shellcheck disable=SC2046,SC2086
case $role in
    producer)
        allow --operation Write --operation Describe $(names requests)
        ;;
    client)
        allow --operation Write --operation Describe $(names requests)
        allow --operation Read --operation Describe $(names outputs) $sinks
        allow --operation Describe --group "$ns.unused" # of consumers that are in no group: librdkafka looks for one
        ;;
    router)
        allow --operation Read --operation Describe $(names requests events plans) $sources
        allow --operation Write --operation Describe $(names events outputs dlq) $sinks
        allow --operation Write --operation Describe --resource-pattern-type prefixed $(names action. resume.)
        allow --operation Describe --resource-pattern-type prefixed --topic "$ns."
        allow --operation Read --operation Describe --group "$ns.router"
        allow --operation Describe --group "$ns.unused" # of consumers that are in no group: librdkafka looks for one
        allow --operation Write --operation Describe --resource-pattern-type prefixed --transactional-id "$ns.router."
        ;;
    worker)
        if [ -n "$action" ]; then
            pattern=literal own=$action topics="action.$action resume.$action"
        else
            pattern=prefixed own='' topics='action. resume.'
        fi
        allow --operation Read --operation Describe --resource-pattern-type $pattern $(names $topics)
        allow --operation Read --operation Describe --resource-pattern-type $pattern --group "$ns.worker.$own"
        allow --operation Read --operation Write --operation Describe $(names parked state)
        allow --operation Write --operation Describe $(names events outputs journal dlq) $sinks
        allow --operation Read --operation Describe $(names plans)
        # It looks at the partition counts of all topics, and at which plan the routers run.
        allow --operation Describe --resource-pattern-type prefixed --topic "$ns."
        allow --operation Describe --group "$ns.router" --group "$ns.unused"
        allow --operation Write --operation Describe --resource-pattern-type prefixed \
            --transactional-id "$ns.worker.${own:+$own.}"
        ;;
    operator)
        allow --operation Create --operation Alter --operation Describe --operation DescribeConfigs \
            --resource-pattern-type prefixed --topic "$ns."
        allow --operation Read --operation Write $(names plans)
        allow --operation Read $(names parked outputs)
        allow --operation Write $(names events)
        allow --operation Describe --resource-pattern-type prefixed --group "$ns."
        ;;
    viewer)
        allow --operation Read --operation Describe --operation DescribeConfigs --resource-pattern-type prefixed \
            --topic "$ns."
        allow --operation Describe --resource-pattern-type prefixed --group "$ns."
        ;;
    replayer)
        allow --operation Read --operation Write --operation Describe $(names dlq)
        allow --operation Read --operation Describe $(names plans)
        allow --operation Write --operation Describe $(names requests events) $sources
        allow --operation Write --operation Describe --resource-pattern-type prefixed $(names action. resume.)
        allow --operation Describe --resource-pattern-type prefixed --topic "$ns."
        allow --operation Describe --resource-pattern-type prefixed --group "$ns."
        allow --operation Write --operation Describe --transactional-id "$ns.dlq-replay"
        ;;
    consumer)
        [ -n "$group" ] || fail "consumer: give --group NAME"
        allow --operation Read --operation Describe $(names "$topic")
        allow --operation Read --operation Describe --group "$group"
        ;;
    *) fail "unknown role $role: producer, client, router, worker, operator, viewer, replayer or consumer" ;;
esac
