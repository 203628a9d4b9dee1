# What machines need of the host: a range of user ids for root to give away, and limits that do not
# stop the fifteenth systemd on one kernel.

id_range_start=1000000
id_range_count=1000000000
sysctl_file=/etc/sysctl.d/60-computer.conf
# Raised to at least these; forwarding is what gives machines their way out.
sysctls='fs/inotify/max_user_instances=1048576 fs/inotify/max_user_watches=1048576
  kernel/keys/maxkeys=2000 net/ipv4/ip_forward=1'

host_ready() {
  local file
  for file in /etc/subuid /etc/subgid; do has_id_range "$file" || return 1; done
  [ -z "$(low_sysctls)" ] && [ -f "$sysctl_file" ]
}

host_title() { echo 'Host settings: user id range of machines, kernel limits, forwarding'; }

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
      fail "the kernel setting ${name//\//.} cannot be changed to $value here" \
        'In a container, set it on the host that runs the container.'
  done
}

# The whole range, in one line of root's.
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
