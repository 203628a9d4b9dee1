#!/bin/bash
# Builds the image that machines start from.
#
#   image/build.sh --hash     prints the recipe's hash: the same hash, the same recipe
#   image/build.sh OUT_DIR    builds OUT_DIR/{rootfs.tar.zst,metadata.tar,image.json,build.log}
#
# OUT_DIR appears complete at the end or not at all. Needs root, mmdebstrap, zstd and npm. Packages come
# from the Debian mirror that this host's apt uses, and machines go on using that one. Node and npm come
# from the registry that this host's npm uses.
set -euo pipefail
export LC_ALL=C.UTF-8

# bookworm on purpose: its systemd 252 still boots where the host offers cgroup v1 or the hybrid
# of both, which later ones refuse.
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

# The hash covers names, contents and whether a file is executable; other modes depend on the checkout.
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
  for tool in mmdebstrap zstd npm; do
    command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install $tool"
  done
  mkdir -p "$(dirname "$1")"
  OUT=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
  WORK=$(mktemp -d "$OUT.building-XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  chmod 755 "$WORK"
  mkdir "$WORK/result" "$WORK/tmp"

  local hash
  hash=$(recipe_hash)
  # A host that never fetched its package lists does not know the labels of its own mirrors.
  [ -n "$(apt-get indextargets)" ] || apt-get --quiet update >"$WORK/result/build.log"
  say "[1/6] preparing image $hash: Debian $SUITE ($ARCHITECTURE) from $(mirror Debian)"
  MACHINE_SOURCES=$(sources)
  export MACHINE_SOURCES
  fetch_node
  make_rootfs
  make_metadata "$hash"
  rm -rf --one-file-system "$OUT" "$OUT.failed.log"
  mv -T "$WORK/result" "$OUT"
  say "      done in $SECONDS s: $OUT/rootfs.tar.zst, $(du -h "$OUT/rootfs.tar.zst" | cut -f1)"
}

# A failed build leaves its log and no incomplete image.
clean_up() {
  local status=$?
  if [ $status != 0 ]; then
    mv "$WORK/result/build.log" "$OUT.failed.log" 2>/dev/null || true
    say "build.sh: the image was not built; see $OUT.failed.log"
  fi
  rm -rf --one-file-system "$WORK"
}

# Debian's own Node is past its end of life.
fetch_node() {
  export NODE_DIR=$WORK/node
  cp -r "$RECIPE/node" "$NODE_DIR"
  npm ci --prefix "$NODE_DIR" --ignore-scripts --no-audit --no-fund >>"$WORK/result/build.log" 2>&1
}

make_rootfs() {
  local options=()
  while read -r option; do options+=("--aptopt=$option"); done < <(apt_options)
  # Manual pages, translations and documentation are left out of what is installed here; packages
  # that are installed later, in a machine, come whole.
  TMPDIR=$WORK/tmp mmdebstrap --mode=root --variant=minbase --verbose --format=tar \
    --architectures="$ARCHITECTURE" --include="$(package_list)" \
    --aptopt='Apt::Install-Recommends "false"' "${options[@]}" \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/locale/*/LC_MESSAGES/*' \
    --dpkgopt='path-exclude=/usr/lib/chromium/locales/*' \
    --dpkgopt='path-include=/usr/lib/chromium/locales/en-US.pak*' \
    --customize-hook="$RECIPE/hooks/customize.sh" \
    "$SUITE" - "$MACHINE_SOURCES" 2> >(show_progress "$WORK/result/build.log") |
    zstd --quiet -3 --threads=0 -o "$WORK/result/rootfs.tar.zst"
}

make_metadata() {
  local hash=$1 machine
  machine=$(uname -m)
  cat >"$WORK/metadata.yaml" <<EOF
architecture: $machine
creation_date: $(date +%s)
properties:
  os: Debian
  release: $SUITE
  architecture: $machine
  description: Computer desktop ($hash)
EOF
  tar -C "$WORK" --owner=0 --group=0 -cf "$WORK/result/metadata.tar" metadata.yaml
  cat >"$WORK/result/image.json" <<EOF
{
  "name": "debian-desktop",
  "description": "Debian 12 with an XFCE desktop, Chromium, a terminal, files and an editor",
  "os": "linux",
  "recipe_hash": "$hash"
}
EOF
}

package_list() {
  sed 's/#.*//' "$RECIPE/packages.list" | xargs | tr ' ' ','
}

sources() {
  local signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' debian security
  debian=$(mirror Debian)
  security=$(mirror Debian-Security)
  echo "deb $signed $debian $SUITE main"
  echo "deb $signed $debian $SUITE-updates main"
  echo "deb $signed $security $SUITE-security main"
}

# The address from which the host's apt takes the archive of this label.
mirror() {
  local label=$1 address
  address=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
    awk -v label="$label" '$2 == "Debian" && $3 == label && !found { print $1; found = 1 }') || true
  [ -n "$address" ] || fail "this host's apt has no source labelled $label: run apt-get update"
  echo "$address"
}

# The host's settings that decide whether and how its mirror can be reached.
apt_options() {
  apt-config dump | grep -E \
    '^Acquire::(https?::(Proxy|Verify-Peer|Verify-Host|CAInfo)|Check-Valid-Until|Check-Date|Retries)( |::)' |
    sed 's/;$//' || true
}

# Writes the output of mmdebstrap to the log, and shows progress on the terminal. apt announces the
# number of packages twice: for the base system, then for the rest, which takes most of the time.
show_progress() {
  awk -v log_file="$1" '
    function tell(text) { print text > "/dev/stderr"; fflush("/dev/stderr") }
    function count(step, what, n) {
      if (phase == 2 && (n == total || n % 50 == 0)) tell("[" step "/6] " what " (" n " of " total ")")
    }
    { print >> log_file; fflush(log_file) }
    /^[0-9]+ upgraded, [0-9]+ newly installed/ {
      phase++; total = $3; downloaded = unpacked = configured = 0
      if (phase == 1) tell("[1/6] installing the base system (" total " packages)")
    }
    /^Get:[0-9]+ / && / (amd64|arm64|all) / && !/ Packages / { count(2, "downloading packages", ++downloaded) }
    /^Unpacking / { count(3, "unpacking packages", ++unpacked) }
    /^Setting up / { count(4, "setting up packages", ++configured) }
    /^I: running --customize-hook/ { tell("[5/6] making the desktop and its user") }
    /^I: creating tarball/ { tell("[6/6] packing the image") }
    /^E: / { tell($0) }
  '
}

say() { echo "$*" >&2; }

fail() {
  say "build.sh: $*"
  exit 1
}

main "$@"
exit
