#!/bin/bash
# Makes a machine of the installed packages: overlay, user, services, identity.
# Called by mmdebstrap with the root of the new system; the recipe's folder is in $RECIPE, and Node and
# npm are in $NODE_DIR.
set -euo pipefail
root=$1

# Owners and modes come from here, not from how the checkout was made.
tar -C "$RECIPE/overlay" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c . |
  tar -C "$root" -x --no-overwrite-dir
chmod 0440 "$root/etc/sudoers.d/agent"
mkdir -p "$root/opt/computer"

install -m 755 "$NODE_DIR"/node_modules/node-linux-*/bin/node "$root/usr/local/bin/"
mkdir -p "$root/usr/local/lib/node_modules"
tar -C "$NODE_DIR/node_modules" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c npm |
  tar -C "$root/usr/local/lib/node_modules" -x
for name in npm npx; do
  ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"
done

echo 'en_US.UTF-8 UTF-8' >"$root/etc/locale.gen"
chroot "$root" locale-gen
echo 'LANG=en_US.UTF-8' >"$root/etc/default/locale"
ln -sf /usr/share/zoneinfo/Etc/UTC "$root/etc/localtime"
echo 'Etc/UTC' >"$root/etc/timezone"

chroot "$root" useradd --create-home --uid 1000 --user-group --shell /bin/bash \
  --comment Agent --groups sudo,audio,video agent
chroot "$root" setpriv --reuid agent --regid agent --init-groups \
  env HOME=/home/agent LANG=en_US.UTF-8 xdg-user-dirs-update
mkdir -p "$root/var/lib/systemd/linger"
touch "$root/var/lib/systemd/linger/agent"

cp "$RECIPE/hooks/wallpaper.mjs" "$root/tmp/"
chroot "$root" node /tmp/wallpaper.mjs /usr/share/computer/wallpaper.png
rm "$root/tmp/wallpaper.mjs"

# Units that fail in a container, that have no user, or that would wake an idle machine.
chroot "$root" systemctl set-default multi-user.target
chroot "$root" systemctl enable systemd-resolved \
  computer-network computer-agent computer-display computer-session computer-old-tmp
chroot "$root" systemctl mask \
  getty.target getty@.service console-getty.service container-getty@.service \
  systemd-networkd-wait-online.service systemd-timesyncd.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer \
  e2scrub_reap.service systemd-modules-load.service kmod-static-nodes.service \
  proc-sys-fs-binfmt_misc.automount systemd-binfmt.service \
  sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
  sys-fs-fuse-connections.mount dev-hugepages.mount \
  systemd-udev-settle.service systemd-update-utmp.service systemd-update-utmp-runlevel.service \
  systemd-pstore.service systemd-rfkill.service systemd-hwdb-update.service \
  systemd-ask-password-wall.path systemd-ask-password-console.path \
  systemd-firstboot.service systemd-sysusers.service ldconfig.service modprobe@.service
chroot "$root" systemctl --global mask tumblerd.service xdg-document-portal.service
"$RECIPE/hooks/quick-start.sh" "$root"

# The image keeps no trace of its build and no identity: every machine gets its own.
: >"$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id" "$root/etc/hostname"
rm -f "$root"/etc/ssh/ssh_host_*
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
echo "$MACHINE_SOURCES" >"$root/etc/apt/sources.list"
rm -f "$root"/etc/apt/sources.list.d/*
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/tmp/* "$root"/var/tmp/*
find "$root/var/cache/apt/archives" -name '*.deb' -delete
find "$root/var/log" -type f -delete
