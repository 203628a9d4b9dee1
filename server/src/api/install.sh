#!/usr/bin/env bash
# Installs the command line of Computer, `computer`, for this user:
#
#     curl -fsS ADDRESS/install.sh | bash
#
# The package comes from this server, is checked against the server's checksums, and goes to
# ~/.local/share/computer. ~/.local/bin/computer is a link to it. Run again to update. To uninstall, remove
# both, and ~/.config/computer, which holds the API keys of `computer login`.
set -euo pipefail

server=@SERVER@
home=${HOME:?set HOME to the folder to install in}
store=$home/.local/share/computer
link=$home/.local/bin/computer
package=computer-cli.tgz

# Called in the last line, so that an incomplete download does nothing.
main() {
  require_node
  refuse_foreign_file
  work=$(mktemp -d)
  unpacked=
  trap 'rm -rf "$work" ${unpacked:+"$unpacked"}' EXIT
  fetch "$package"
  fetch SHA256SUMS
  verify
  install_package
  say "Installed computer $("$link" --version) as $link."
  explain_path
  say "Sign in with an API key:"
  say "  computer login --url $server"
}

say() { printf '%s\n' "$*"; }

fail() {
  printf 'computer: %s\n' "$*" >&2
  exit 1
}

require_node() {
  command -v node >/dev/null || fail 'Node.js is not installed. Install version 20.12 or later, such as from https://nodejs.org, then run this again.'
  node -e 'const [major, minor] = process.versions.node.split(".").map(Number)
    process.exit(major > 20 || (major === 20 && minor >= 12) ? 0 : 1)' </dev/null ||
    fail "Node.js $(node --version) is too old. Install version 20.12 or later, then run this again."
}

refuse_foreign_file() {
  [ -e "$link" ] || [ -L "$link" ] || return 0
  case $(readlink "$link" || true) in
    "$store"/*) ;;
    *) fail "$link is not of this installation. Remove or rename it, then run this again." ;;
  esac
}

fetch() {
  curl -fsSL --retry 3 -o "$work/$1" "$server/downloads/$1" || fail "could not download $server/downloads/$1"
}

verify() {
  local wanted
  wanted=$(awk -v name="$package" '$2 == name { print $1 }' "$work/SHA256SUMS")
  sum=$(node -e 'const { createHash } = require("node:crypto")
    console.log(createHash("sha256").update(require("node:fs").readFileSync(process.argv[1])).digest("hex"))' \
    "$work/$package" </dev/null)
  [ -n "$wanted" ] && [ "$sum" = "$wanted" ] ||
    fail "$package does not have the checksum that the server gives. Run this again; it may have been updated meanwhile."
}

# A version goes to a folder of its own, and the link is replaced at once. Programs of the version before
# still run, so it stays until the next update.
install_package() {
  local folder=$store/${sum:0:16} former other
  former=$(readlink "$link" || true)
  mkdir -p "$store" "${link%/*}"
  if [ ! -d "$folder" ]; then
    unpacked=$(mktemp -d "$store/new.XXXXXX")
    tar -xzf "$work/$package" -C "$unpacked" --strip-components=1
    chmod 755 "$unpacked"
    mv "$unpacked" "$folder"
  fi
  ln -s "$folder/dist/main.js" "$link.$$"
  mv -f "$link.$$" "$link"
  for other in "$store"/*; do
    [ "$other" = "$folder" ] || [ "$other/dist/main.js" = "$former" ] || rm -rf "$other"
  done
}

explain_path() {
  case :$PATH: in
    *:"${link%/*}":*) [ "$(command -v computer)" = "$link" ] ||
      say "Another program of this name comes first: $(command -v computer)" ;;
    *)
      say "Add it to your PATH, in ~/.profile or the file of your shell:"
      # shellcheck disable=SC2016
      say '  export PATH="$HOME/.local/bin:$PATH"'
      ;;
  esac
}

main "$@"
