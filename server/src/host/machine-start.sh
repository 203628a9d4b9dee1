#!/bin/sh
# LXC runs this on the host as root at every start of a machine, including one that its guest requests,
# and before any program of the guest. A failure aborts the start.
set -eu

# The bridge forwards frames for the machine's own address to the machine, and learns nothing from it.
# The engine's filters refuse forged source addresses only after a bridge has learned them.
pin_address() {
  link=''
  while read -r key _ value; do
    case $key in
      lxc.net.0.link) link=$value ;;
      lxc.net.0.hwaddr) address=$value ;;
    esac
  done <"$LXC_CONFIG_FILE"
  [ -n "$link" ] || return 0
  # Shows both ends of the pair: NUMBER: LINK@PORT: FLAGS
  port=$(ip -o link show dev "$link")
  port=${port#*@} port=${port%%:*}
  bridge -batch - <<-COMMANDS
	link set dev $port learning off flood off
	fdb replace $address dev $port master static sticky
	COMMANDS
}

# A process that its guest froze in a cgroup v1 cannot be killed, nor frozen for a capture. So the guest
# gets no group of its own below this one. In cgroup v2, both work.
keep_freezer() {
  while IFS=: read -r _ controller group; do
    [ "$controller" = freezer ] || continue
    cd "/sys/fs/cgroup/freezer$group"
    chmod g-w . cgroup.procs tasks
  done <"/proc/$LXC_PID/cgroup"
}

case $LXC_HOOK_TYPE in
  pre-start) pin_address ;;
  start-host) keep_freezer ;;
esac
