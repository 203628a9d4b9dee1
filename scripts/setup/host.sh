# Host settings for machines: a range of user ids that root can delegate, and kernel limits high enough
# for many systemd instances.

id_range_start=1000000
id_range_count=1000000000
sysctl_file=/etc/sysctl.d/60-computer.conf
# Minimum values. Machines need forwarding to reach the network.
sysctls='fs/inotify/max_user_instances=1048576 fs/inotify/max_user_watches=1048576
  kernel/keys/maxkeys=2000 net/ipv4/ip_forward=1'

host_ready() {
  local file
  for file in /etc/subuid /etc/subgid; do has_id_range "$file" || return 1; done
  [ -z "$(low_sysctls)" ] && [ -f "$sysctl_file" ]
}

host_title() { echo 'Host settings: user ids for machines, kernel limits, IP forwarding'; }

host_make() {
  local file setting name value
  for file in /etc/subuid /etc/subgid; do
    has_id_range "$file" || echo "root:$id_range_start:$id_range_count" >>"$file"
  done
  for setting in $sysctls; do
    echo "${setting//\//.}" | sed 's/=/ = /'
  done >"$work/sysctl"
  mkdir -p "${sysctl_file%/*}"
  install -m 644 "$work/sysctl" "$sysctl_file"
  for setting in $(low_sysctls); do
    name=${setting%=*} value=${setting#*=}
    echo "$value" 2>/dev/null >"/proc/sys/$name" ||
      fail "could not set the kernel parameter ${name//\//.} to $value" \
        'In a container, set it on the host that runs the container.'
  done
}

# Succeeds if one line of root has the whole range.
has_id_range() {
  awk -F: -v start="$id_range_start" -v count="$id_range_count" '
    $1 == "root" && $2 <= start && $2 + $3 >= start + count { found = 1 }
    END { exit !found }' "$1" 2>/dev/null
}

low_sysctls() {
  local setting
  for setting in $sysctls; do
    [ "$(cat "/proc/sys/${setting%=*}" 2>/dev/null || echo 0)" -ge "${setting#*=}" ] || echo "$setting"
  done
}
