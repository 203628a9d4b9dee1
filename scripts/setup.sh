#!/usr/bin/env bash
# Makes a fresh Debian 12 or 13 ready for `npm start`, `npm test` and `npm run check`.
#
# Every step first checks whether anything is missing, so a repeated run changes nothing, prints nothing
# and takes a moment. The result of a step counts only when it is complete, so the next run resumes or
# repeats a run that broke off. With --tools-only, only the Node packages are installed.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/computer-setup.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export LC_ALL=C.UTF-8

for part in progress packages tools clients dashboard host launcher image; do
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
  steps=6
  step 1 packages
  step 2 tools
  step 3 clients
  step 4 dashboard
  step 5 host
  step 6 image
  link_launcher
}

# A step NAME has three functions: NAME_ready checks, NAME_title describes the work, NAME_make does it.
step() {
  "$2_ready" && return
  say "[$1/$steps] $("$2_title")"
  "$2_make"
  "$2_ready" || fail "$2: still incomplete after its set-up" "${not_ready:-Run it again.}"
}

require_debian() {
  [ -r /etc/os-release ] && . /etc/os-release
  codename=${VERSION_CODENAME:-}
  case "${ID:-}:${VERSION_ID:-}" in
    debian:12 | debian:13) ;;
    *) fail "This host runs ${PRETTY_NAME:-an unknown system}; Computer needs Debian 12 or 13." \
      'Use a host or virtual machine with Debian 12 or 13.' ;;
  esac
  [ "$(id -u)" = 0 ] || fail 'The set-up must run as root.' 'Run it in a root shell (sudo -i).'
}

main "$@"
