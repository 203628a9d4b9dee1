#!/bin/bash
# Builds the image that machines start from.
#
#   image/build.sh --hash     prints the recipe's hash: the same hash, the same image
#   image/build.sh OUT_DIR    builds OUT_DIR/{rootfs.tar.zst,metadata.tar,image.json,build.log}
#
# OUT_DIR appears whole at the end or not at all. Needs root, mmdebstrap and zstd. Packages come
# from the Debian mirror this host's apt uses.
set -euo pipefail
export LC_ALL=C.UTF-8

# bookworm on purpose: its systemd 252 still boots where the host offers cgroup v1 alone or beside
# v2, which later ones refuse.
export SUITE=bookworm
RECIPE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export RECIPE
ARCHITECTURE=$(dpkg --print-architecture)

main() {
  case ${1:-} in
    --hash) recipe_hash ;;
    '' | -*) fail 'usage: build.sh --hash | build.sh OUT_DIR' ;;
    *) build "$1" ;;
  esac
}

# Over names, contents and whether a file may be executed; other modes depend on the checkout.
recipe_hash() {
  (
    cd "$RECIPE"
    echo "$SUITE $ARCHITECTURE"
    find . \( -type f -o -type l \) ! -name README.md -printf '%P\n' | sort | while read -r name; do
      if [ -L "$name" ]; then
        echo "link $(readlink "$name") $name"
      else
        echo "file $([ -x "$name" ] && echo x) $(sha256sum <"$name") $name"
      fi
    done
  ) | sha256sum | cut -c1-16
}

build() {
  [ "$(id -u)" = 0 ] || fail 'the image is built as root'
  for tool in mmdebstrap zstd; do
    command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install mmdebstrap zstd"
  done
  mkdir -p "$(dirname "$1")"
  local out work
  out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
  work=$(mktemp -d "$out.building-XXXXXX")
  # Whatever happens, no half-built image stays; a failure's log is kept beside OUT_DIR.
  trap 'status=$?; [ $status = 0 ] || keep_log "'"$work"'" "'"$out"'"; rm -rf --one-file-system "'"$work"'"; exit $status' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  chmod 755 "$work"
  mkdir "$work/result" "$work/tmp"

  local hash started
  hash=$(recipe_hash)
  started=$SECONDS
  say "[1/6] preparing image $hash: Debian $SUITE ($ARCHITECTURE) from $(debian_mirror)"
  make_rootfs "$work"
  make_metadata "$work" "$hash"
  rm -rf --one-file-system "$out"
  mv "$work/result" "$out"
  say "      done in $((SECONDS - started)) s: $(du -h "$out/rootfs.tar.zst" | cut -f1) in $out"
}

make_rootfs() {
  local work=$1 options=()
  while read -r option; do options+=("--aptopt=$option"); done < <(apt_options)
  # Manual pages, foreign translations and documentation are left out of what is installed here;
  # packages installed later in a machine come whole.
  TMPDIR=$work/tmp mmdebstrap --mode=root --variant=minbase --verbose --format=tar \
    --architectures="$ARCHITECTURE" --include="$(package_list)" \
    --aptopt='Apt::Install-Recommends "false"' "${options[@]}" \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/locale/*/LC_MESSAGES/*' \
    --dpkgopt='path-exclude=/usr/lib/chromium/locales/*' \
    --dpkgopt='path-include=/usr/lib/chromium/locales/en-US.pak*' \
    --customize-hook="$RECIPE/hooks/customize.sh" \
    "$SUITE" - "$(sources)" 2> >(show_progress "$work/result/build.log") |
    zstd --quiet -3 --threads=0 -o "$work/result/rootfs.tar.zst"
}

make_metadata() {
  local work=$1 hash=$2 machine
  machine=$(uname -m)
  cat >"$work/metadata.yaml" <<EOF
architecture: $machine
creation_date: $(date +%s)
properties:
  os: Debian
  release: $SUITE
  architecture: $machine
  description: Computer desktop ($hash)
EOF
  tar -C "$work" --owner=0 --group=0 -cf "$work/result/metadata.tar" metadata.yaml
  cat >"$work/result/image.json" <<EOF
{
  "name": "debian-desktop",
  "description": "Debian 12 with an XFCE desktop, Chromium, a terminal, files and an editor",
  "os": "linux",
  "recipe_hash": "$hash"
}
EOF
}

package_list() {
  sed 's/#.*//' "$RECIPE/packages.list" | tr -s ' \n' ',,' | sed 's/^,//; s/,$//'
}

sources() {
  local signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
  echo "deb $signed $(debian_mirror) $SUITE main"
  echo "deb $signed $(debian_mirror) $SUITE-updates main"
  echo "deb $signed $(security_mirror) $SUITE-security main"
}

debian_mirror() {
  local uri
  uri=$(apt_targets | awk '$2 == "Debian" && $3 == "Debian" && !found { print $1; found = 1 }')
  echo "${uri:-http://deb.debian.org/debian}"
}

security_mirror() {
  local uri
  uri=$(apt_targets | awk '$2 == "Debian" && $3 == "Debian-Security" && !found { print $1; found = 1 }')
  echo "${uri:-http://deb.debian.org/debian-security}"
}

apt_targets() {
  apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null || true
}

# The host's settings that decide whether and how its mirror can be reached.
apt_options() {
  apt-config dump | grep -E \
    '^Acquire::(https?::(Proxy|Verify-Peer|Verify-Host|CAInfo)|Check-Valid-Until|Check-Date|Retries)( |::)' |
    sed 's/;$//' || true
}

# Reads all that mmdebstrap says into the log, and tells a person how far it is.
show_progress() {
  local log=$1
  awk -v log_file="$log" '
    function tell(text) { printf "%s\n", text > "/dev/stderr"; fflush("/dev/stderr") }
    function count(step, what, n) {
      if (n == 1 || n % 50 == 0 || n == total) tell("[" step "/6] " what " (" n " of " total ")")
    }
    { print > log_file; fflush(log_file) }
    / newly installed,/ { for (i = 1; i < NF; i++) if ($(i + 1) == "newly") total += $i }
    /^Get:[0-9]+ .* (amd64|arm64|all) / { count(2, "downloading packages", ++downloaded) }
    /^Unpacking / { count(3, "unpacking packages", ++unpacked) }
    /^Setting up / { count(4, "setting up packages", ++configured) }
    /^I: running --customize-hook/ { tell("[5/6] making the desktop and the user") }
    /^I: creating tarball/ { tell("[6/6] packing the image") }
    /^E: / { tell($0) }
  '
}

keep_log() {
  if [ -f "$1/result/build.log" ]; then
    mv "$1/result/build.log" "$2.failed.log"
    say "the image was not built; its log is $2.failed.log"
  else
    say 'the image was not built'
  fi
}

say() { echo "$*" >&2; }

fail() {
  say "build.sh: $*"
  exit 1
}

main "$@"
