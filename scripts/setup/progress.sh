# Output of the set-up: one line per step, a progress line below it (updated in place on a terminal,
# printed periodically elsewhere), and on failure the reason with the end of the output.

is_terminal=false
if [ -t 1 ] && [ -z "${CI:-}" ]; then is_terminal=true; fi

say() { printf '%s\n' "$*"; }

# fail WHAT REMEDY
fail() {
  printf 'set-up failed: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf '  what to do: %s\n' "$2" >&2
  exit 1
}

# Runs a long command: `attempt LABEL PROGRESS COMMAND…`. PROGRESS is a function that reads the command's
# log and prints its progress. Returns the command's status, and keeps the log.
attempt() {
  local label=$1 progress=$2 pid status=0 started=$SECONDS reported=0 now
  log=$work/${label//[^a-zA-Z]/-}.log
  shift 2
  # In a process group of its own, so that an interrupt ends everything that the command started.
  setsid "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  trap 'kill -- "-$pid" 2>/dev/null || true; exit 130' INT
  trap 'kill -- "-$pid" 2>/dev/null || true; exit 143' TERM
  while kill -0 "$pid" 2>/dev/null; do
    now=$((SECONDS - started))
    if $is_terminal; then
      printf '\r\033[K  %s' "$(how_far "$label" "$now" "$("$progress")")"
    elif [ $((now - reported)) -ge 15 ]; then
      say "  $(how_far "$label" "$now" "$("$progress")")"
      reported=$now
    fi
    sleep 0.2
  done
  wait "$pid" || status=$?
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if $is_terminal; then printf '\r\033[K'; fi
  [ "$status" != 0 ] || say "  $label: done in $((SECONDS - started)) s"
  return "$status"
}

how_far() {
  local width
  width=$(tput cols 2>/dev/null || echo 100)
  printf '%s (%d s)%s' "$1" "$2" "${3:+: $3}" | cut -c "1-$((width - 4))"
}

last_line() { tail -c 400 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 || true; }

show_log() { grep -v EBADENGINE "$log" | tail -n "${1:-20}" | sed 's/^/    /' >&2 || true; }

# Fails with a common reason found in the log, after the last lines of the log.
explain() {
  local what=$1 otherwise=$2
  show_log
  if grep -qiE 'no space left|not enough free space|enospc' "$log"; then
    fail "$what: the disk is full" "Free some space: $(df -h --output=target,avail / | tail -n 1)"
  elif grep -qE 'Could not get lock|Unable to (acquire|lock)|is another process using it' "$log"; then
    fail "$what: another package manager is running" 'Wait until it has finished, then run this again.'
  elif grep -qiE 'self[- ]signed|certificate verif|unable to get local issuer' "$log"; then
    fail "$what: a certificate is not trusted" \
      'If a proxy signs with its own authority, set NODE_EXTRA_CA_CERTS to the certificate of that authority.'
  elif grep -qiE 'could not resolve|temporary failure|connection (failed|timed out|refused)|network is unreachable|failed to fetch|enotfound|eai_again|etimedout|econnrefused|econnreset' "$log"; then
    fail "$what: the network or a mirror does not respond" 'Check the network and name resolution, then run this again.'
  fi
  fail "$what" "$otherwise"
}
