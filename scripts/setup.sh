#!/usr/bin/env bash
# Makes a fresh Debian 12 or 13 ready for `npm start`, `npm test` and `npm run check`.
#
# Every step first asks the host whether anything is missing, so a repeated run does nothing, says
# nothing and takes a moment. What a step makes counts only when it is whole: a broken-off run is
# resumed or redone by the next one. With --tools-only the Node packages alone are seen to.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/computer-setup.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export LC_ALL=C.UTF-8

for part in progress packages tools host image; do
  # shellcheck disable=SC1090
  . "$repo/scripts/setup/$part.sh"
done

main() {
  case "${1:-}" in
    '') ;;
    --tools-only)
      steps=1
      step 1 tools
      return
      ;;
    *) fail "unknown option $1" 'Use: scripts/setup.sh [--tools-only]' ;;
  esac
  require_debian
  steps=4
  step 1 packages
  step 2 tools
  step 3 host
  step 4 image
}

# A step NAME is three functions: NAME_ready asks, NAME_title says what is missing, NAME_make makes it.
step() {
  "$2_ready" && return
  say "[$1/$steps] $("$2_title")"
  "$2_make"
  "$2_ready" || fail "$2: still not ready after it was set up" "${not_ready:-Run it again.}"
}

require_debian() {
  [ -r /etc/os-release ] && . /etc/os-release
  codename=${VERSION_CODENAME:-}
  case "${ID:-}:${VERSION_ID:-}" in
    debian:12 | debian:13) ;;
    *) fail "This host runs ${PRETTY_NAME:-an unknown system}; Computer needs Debian 12 or 13." \
      'Use such a host, or a virtual machine with it.' ;;
  esac
  [ "$(id -u)" = 0 ] || fail 'The set-up must run as root.' 'Run it in a root shell (sudo -i).'
}

main "$@"
