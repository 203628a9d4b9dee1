# root.sh ROOT REPOSITORY NODE COMPILE_CACHE COMMAND…
# Runs a command with ROOT as its root folder and the host's programs in it. The caller has unshared the
# mount and pid namespaces, so whatever is mounted here goes when the command ends.
set -e
root=$1 repository=$2 node=$3 cache=$4
shift 4
# The pools of real engines on this host: each would stay in use for as long as this machine runs.
while read -r _ path _; do
  case $path in
    */engine/*) umount --lazy "$(printf %b "$path")" || true ;;
  esac
done </proc/mounts
mount --bind "$root" "$root"
cd "$root"
mount --bind -o ro /usr usr
mount -t proc proc proc
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=755 dev dev
mount -t tmpfs -o mode=755 computer opt/computer
mkdir run/computer dev/pts opt/computer/repository opt/computer/compiled
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
touch opt/computer/node
mount --bind -o ro "$repository" opt/computer/repository
mount --bind "$cache" opt/computer/compiled
mount --bind -o ro "$node" opt/computer/node
exec chroot . "$@"
