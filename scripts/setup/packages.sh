# Debian packages. Debian 13 has them all; on Debian 12, Incus and btrfs-progs come from backports. The
# last five are for the tests: libraries of their Chromium, shells that complete the CLI's commands, and a
# viewer of screens.

packages='incus-base incus-client btrfs-progs lxcfs uidmap attr rsync dnsmasq-base nftables iproute2
  mmdebstrap zstd xz-utils socat mount libnss3 libexpat1 zsh fish tigervnc-viewer'
# The driver needs the API of Incus 6. btrfs-progs 6.7 can enable simple quotas.
least_versions='incus-base=6.0 btrfs-progs=6.7'
backports='incus-base incus-client libcowsql0 libraft0 squashfs-tools-ng libsquashfs1 btrfs-progs'
apt_dir=/etc/apt
policy=/usr/sbin/policy-rc.d

packages_ready() {
  [ -z "$(missing_packages)" ] || return 1
  allow_services
}

packages_title() {
  local missing
  missing=$(missing_packages)
  echo "Debian packages: installing $(wc -w <<<"$missing") ($(tr '\n' ' ' <<<"$missing" | cut -c 1-60)…)"
}

packages_make() {
  local incus_was_here=true count
  is_installed incus-base || incus_was_here=false
  if [ "$codename" = bookworm ]; then add_backports; fi

  update_lists
  if [ -n "$(dpkg --audit)" ]; then
    attempt 'finishing an interrupted installation' last_line dpkg --configure -a ||
      explain 'Debian packages' 'Run `dpkg --configure -a` to see the error.'
  fi
  # shellcheck disable=SC2046
  set -- apt-get -y --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Options::=--force-confold install $(missing_packages)
  count=$("$@" --simulate 2>/dev/null | grep -c '^Inst ' || true)
  keep_services_down
  DEBIAN_FRONTEND=noninteractive attempt "installing $count packages" installed_so_far "$@" || {
    allow_services
    explain 'Debian packages' "Run \`apt-get install $(missing_packages | tr '\n' ' ')\` to see the error."
  }
  allow_services
  $incus_was_here || leave_distribution_daemon_off
}

# Prints the packages that are missing or too old, one per line.
missing_packages() {
  local installed name version least
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' $packages 2>/dev/null || true)
  for name in $packages; do
    version=$(awk -v name="$name" '$1 == name && $2 == "installed" { print $3 }' <<<"$installed")
    least=$(tr ' ' '\n' <<<"$least_versions" | sed -n "s/^$name=//p")
    if [ -z "$version" ]; then
      echo "$name"
    elif [ -n "$least" ]; then
      dpkg --compare-versions "$version" ge "$least" || echo "$name"
    fi
  done
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

update_lists() {
  local tries=1
  until attempt 'reading package lists' last_line apt-get -o Acquire::Retries=3 update; do
    # apt does not wait for the lock of the package lists.
    if ! grep -q 'Could not get lock' "$log" || [ "$tries" -ge 20 ]; then
      explain 'Debian packages: could not read the package lists' 'Run `apt-get update` to see the error.'
    fi
    say '  another package manager is running; waiting for it'
    tries=$((tries + 1))
    sleep 6
  done
  if grep -qE '^(Err:|W: Failed to fetch)' "$log"; then
    show_log 6
    say '  some package lists could not be read; continuing with the others'
  fi
}

installed_so_far() {
  printf '%d downloaded, %d unpacked, %d set up' "$(grep -c '^Get:' "$log")" \
    "$(grep -c '^Unpacking ' "$log")" "$(grep -c '^Setting up ' "$log")"
}

# `computer up` runs a private engine daemon, so the distribution's must not start.
keep_services_down() {
  if grep -qs 'computer-setup' "$policy"; then rm -f "$policy"; fi
  [ ! -e "$policy" ] || return 0
  printf '%s\n' '#!/bin/sh' '# computer-setup: present only while packages are being installed' \
    'case "$1" in incus*) exit 101 ;; esac' 'exit 0' >"$work/policy"
  install -m 755 "$work/policy" "$policy"
  trap 'allow_services; rm -rf "$work"' EXIT
}

allow_services() {
  if grep -qs 'computer-setup' "$policy"; then rm -f "$policy"; fi
}

leave_distribution_daemon_off() {
  local name
  for name in incus incus-user incus-startup; do
    if [ -d /run/systemd/system ]; then
      systemctl disable --now "$name.socket" "$name.service" || true
    elif [ -x "/etc/init.d/$name" ]; then
      "/etc/init.d/$name" stop || true
      update-rc.d "$name" disable || true
    fi
  done >"$work/daemon.log" 2>&1
}

add_backports() {
  local source
  cat >"$work/pin" <<-PIN
	Package: $backports
	Pin: release n=bookworm-backports
	Pin-Priority: 990
	PIN
  install -m 644 "$work/pin" "$apt_dir/preferences.d/computer-backports"
  if [ -n "$(stanza_of_suite bookworm-backports)" ]; then return; fi

  source=$(stanza_of_suite bookworm)
  [ -n "$source" ] || fail "found no mirror of Debian 12 in $apt_dir" \
    'Add a line such as `deb MIRROR bookworm main` to /etc/apt/sources.list.'
  { printf 'Types: deb\nSuites: bookworm-backports\nComponents: main\n'; echo "$source"; } >"$work/source"
  install -m 644 "$work/source" "$apt_dir/sources.list.d/computer-backports.sources"
}

# Prints the source of a suite on this host as fields of a .sources file: its address, key and options.
# Reads both formats: `deb [options] URI suite …` and stanzas of fields.
stanza_of_suite() {
  local file
  {
    for file in "$apt_dir"/sources.list.d/*.sources; do
      [ ! -r "$file" ] || { cat "$file"; echo; }
    done
    for file in "$apt_dir"/sources.list "$apt_dir"/sources.list.d/*.list; do
      [ ! -r "$file" ] || one_line_to_fields "$file"
    done
  } | awk -v suite="$1" '
    function finish(   n, i, list, found) {
      n = split(field["suites"], list)
      for (i = 1; i <= n; i++) if (list[i] == suite) found = 1
      split(field["uris"], list)
      if (found && !done && field["types"] ~ /(^| )deb( |$)/ && field["enabled"] !~ /^(no|false)$/ && list[1] !~ /^cdrom/) {
        print "URIs: " list[1]
        if (field["signed-by"]) print "Signed-By:" (field["signed-by"] ~ /^\n/ ? "" : " ") field["signed-by"]
        if (field["trusted"]) print "Trusted: " field["trusted"]
        done = 1
      }
      delete field
    }
    /^#/ { next }
    /^[ \t]*$/ { finish(); next }
    /^[ \t]/ { field[name] = field[name] "\n" $0; next }
    {
      name = tolower(substr($0, 1, index($0, ":") - 1))
      value = substr($0, index($0, ":") + 1)
      sub(/^[ \t]+/, "", value); sub(/[ \t]+$/, "", value)
      field[name] = value
    }
    END { finish() }'
}

one_line_to_fields() {
  sed -E 's/#.*//' "$1" | awk '
    $1 != "deb" { next }
    {
      line = $0; options = ""
      if (match(line, /\[[^]]*\]/)) {
        options = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
      }
      split(line, part)
      print "Types: deb\nURIs: " part[2] "\nSuites: " part[3]
      n = split(options, option)
      for (i = 1; i <= n; i++) {
        split(option[i], pair, "=")
        if (tolower(pair[1]) == "signed-by") print "Signed-By: " pair[2]
        if (tolower(pair[1]) == "trusted") print "Trusted: " pair[2]
      }
      print ""
    }'
}
