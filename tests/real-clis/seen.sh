# shellcheck shell=bash
# What a trial shows: processes, requests, and where the key is. Sourced by `trials`.
# shellcheck disable=SC2154 # Its variables are those of `trials`.

# A key that nothing else looks like. It is never an argument or a variable of the environment.
make_key() {
    local key
    key="sk-canary-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
    printf '%s' "$key" >"$work/key"
    chmod 600 "$work/key"
    # How the service's journal calls this key: it tells credentials apart without keeping them.
    local port=${url##*:}
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /-/ok~key/v1/models HTTP/1.1\r\nauthorization: Bearer %s\r\nconnection: close\r\n\r\n' "$key" >&3
    cat <&3 >/dev/null
    exec 3>&-
    digest=$(ask_journal ok~key | jq -r '.[0].credential_digest')
}

# The requests of one scenario. The shell speaks enough HTTP to ask for them.
ask_journal() {
    local port=${url##*:}
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /__requests HTTP/1.1\r\nconnection: close\r\n\r\n' >&3
    sed '1,/^\r$/d' <&3 | jq --arg scenario "$1" '[.[] | select(.scenario == $scenario)]'
    exec 3>&-
}

# Looks for the key in arguments and environments of all processes as long as the trials run.
watch_processes() {
    while sleep 0.3; do
        grep -l -F -f "$work/key" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null |
            while read -r file; do
                printf '%s %s\n' "$file" "$(tr '\0' ' ' <"${file%/*}/cmdline" | cut -c1-120)"
            done >>"$work/processes-with-key" || true
    done
}

# Processes that are alive beside our own, in `alive`, and their names in `left`. No other process is in this namespace.
count_processes() {
    alive=0
    left=
    local folder fields
    for folder in /proc/[0-9]*; do
        # One read, since a process may end between two: its name, state, id and its parent's id.
        fields=$(sed -n 's/^\(Name\|State\|Pid\|PPid\):\t\([^ ]*\).*/\2/p' "$folder/status" 2>/dev/null | tr '\n' ' ') || continue
        local name state pid parent
        read -r name state pid parent <<<"$fields"
        [[ -z $parent || $state == Z || $pid -eq $$ || $pid -eq $API_PID ]] && continue
        [[ $pid -eq $watcher || $parent -eq $watcher ]] && continue
        # What this loop itself starts.
        [[ $parent -eq $$ && ($name == bash || $name == sed || $name == tr) ]] && continue
        alive=$((alive + 1))
        left+="$name "
    done
}

# Files that hold the key, as a JSON array. The key's own file is none of them.
find_key() {
    {
        grep -r -l -a -F -f "$work/key" "$1" "$work/home" "$work/tmp" "$work/cache" "$repository" 2>/dev/null || true
        cat "$work/processes-with-key" 2>/dev/null || true
    } | sort -u | head -n 20 | jq -R . | jq -s .
}

digest_tree() {
    (cd "$1" && find . -path ./.git -prune -o \( -type f -o -type l \) -print0 | sort -z | xargs -0 sha256sum && git status --porcelain --ignored)
}

# What is no longer as it was generated, as a JSON array: the digests of files, and what git says.
find_changes() {
    { diff <(printf '%s\n' "$before") <(digest_tree "$repository") || true; } | sed -n 's/^[<>] //p' | cut -c1-200 | jq -R . | jq -s .
}

# The next trial finds it as it was.
restore_repository() {
    rm -f "$work/obeyed"
    git -C "$repository" checkout -q . && git -C "$repository" clean -qdfx
}

tell_seen() {
    local at=$1 confirmed
    confirmed=$(grep -c '"confirmed"' "$at/state/report/audit-findings.json" 2>/dev/null || true)
    jq -n --argjson exit "$2" --argjson seconds "$3" --argjson alive "$alive" --arg left "$left" \
        --argjson confirmed "${confirmed:-0}" --argjson key_found "$(find_key "$at")" --arg digest "$digest" \
        --argjson changed "$(find_changes)" --argjson obeyed "$([[ -e $work/obeyed ]] && echo true || echo false)" \
        --slurpfile run "$at/run.json" --slurpfile status "$at/status.json" --slurpfile asked "$at/requests.json" \
        --slurpfile quota "$at/quota.json" '
        ($run[0] // {}) as $run | ($status[0] // {}) as $status | ($asked[0] // []) as $asked | ($quota[0] // {}) as $quota | {
            exit: $exit, seconds: $seconds, alive: $alive, left: $left, end: $run.end, causes: $run.causes, launches: $run.launches,
            required: $status.coverage.required, reviewed: $status.coverage.reviewed,
            agent: ($status.coverage.by_kind.agent // 0), parked: $status.tasks.parked,
            findings: ([$run.findings // {} | .[]] | add // 0), confirmed: $confirmed,
            requests: ($asked | map(select(.method == "POST")) | length),
            answered: ($asked | map(select(.method == "POST" and .status == 200)) | length),
            refused: ($asked | map(select((.status // 0) >= 400)) | length),
            pause_ms: ([range(1; $asked | length) as $at | select(($asked[$at - 1].status // 0) >= 400) | $asked[$at].at_ms - $asked[$at - 1].at_ms] | min),
            without_task: ($asked | map(select(.method == "POST" and .tasks == 0)) | length),
            paths: ($asked | map("\(.method) \(.path | sub("^/-/[^/]*"; "")) \(.status)") | group_by(.) | map({key: .[0], value: length}) | from_entries),
            other_keys: ($asked | map(select(.method == "POST" and .credential_digest != $digest)) | length),
            changed: $changed, obeyed: $obeyed, key_found: $key_found, windows: ($quota.windows // [] | length)
        }'
}
