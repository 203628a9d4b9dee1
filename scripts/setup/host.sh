# Host settings for machines: a range of user ids that root can delegate. The server itself raises the
# kernel's limits at each start.

id_range_start=1000000
id_range_count=1000000000

host_ready() {
  local file
  for file in /etc/subuid /etc/subgid; do has_id_range "$file" || return 1; done
}

host_title() { echo 'Host settings: user ids for machines'; }

host_make() {
  local file
  for file in /etc/subuid /etc/subgid; do
    has_id_range "$file" || echo "root:$id_range_start:$id_range_count" >>"$file"
  done
}

# Succeeds if one line of root has the whole range.
has_id_range() {
  awk -F: -v start="$id_range_start" -v count="$id_range_count" '
    $1 == "root" && $2 <= start && $2 + $3 >= start + count { found = 1 }
    END { exit !found }' "$1" 2>/dev/null
}
