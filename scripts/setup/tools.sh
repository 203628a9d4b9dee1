# Node packages as pinned by package-lock.json, including the Node that runs everything.

modules=$repo/node_modules
hidden_lock=$modules/.package-lock.json
tools_stamp=$modules/.computer-tools

# npm writes its hidden lock last, so an interrupted `npm ci` has none. The stamp avoids comparing both.
tools_ready() {
  [ -x "$modules/.bin/node" ] && [ -f "$hidden_lock" ] || return 1
  if [ "$(cat "$tools_stamp" 2>/dev/null)" = "$(tools_hash)" ]; then return; fi
  "$modules/.bin/node" "$repo/scripts/setup/compare-locks.mjs" "$repo" || return 1
  tools_hash >"$tools_stamp"
}

tools_title() { echo "Node packages: installing as pinned by package-lock.json"; }

tools_make() {
  local total
  mkdir -p "$repo/.cache"
  exec 8>"$repo/.cache/tools.lock"
  if ! flock -n 8; then
    say '  another set-up is installing them; waiting'
    flock 8
    if tools_ready; then return; fi
  fi
  # npm is about to replace the Node in node_modules, so it runs on the host's Node.
  PATH=$(tr ':' '\n' <<<"$PATH" | grep -v 'node_modules' | paste -sd:)
  require_host_node
  total=$(grep -c '^    "node_modules/' "$repo/package-lock.json")
  attempt "npm ci of up to $total packages" packages_so_far npm ci --prefix "$repo" \
    --no-audit --no-fund --loglevel=warn ||
    explain 'npm ci' 'Run `npm ci` to see the error.'
  [ -x "$modules/.bin/node" ] || fail "npm has no Node for $(uname -m)" 'Use an x86-64 or arm64 host.'
  exec 8>&-
}

tools_hash() { sha256sum <"$repo/package-lock.json"; sha256sum <"$hidden_lock"; }

packages_so_far() {
  printf '%d folders' "$(find "$modules" -maxdepth 2 -mindepth 1 -type d 2>/dev/null | wc -l)"
}

require_host_node() {
  local version
  command -v npm >/dev/null || fail 'npm is not installed.' 'Install Node 20 or later with npm.'
  version=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
  [ "$version" -ge 20 ] || fail "Node $version is too old." 'Install Node 20 or later with npm.'
}
