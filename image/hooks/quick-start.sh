#!/bin/bash
# Makes a start cheap: what most machines never use starts when it is first asked for, and what every start
# would work out anew is worked out here. Called by customize.sh with the root of the new system.
set -euo pipefail
root=$1
units=$root/etc/systemd/system

# The address comes from computer-network. resolved stays installed, for those who ask it: `resolvectl` starts
# it through D-Bus, and it then reads /etc/resolv.conf.
rm -f "$units/sysinit.target.wants/systemd-resolved.service"
ln -sf /run/resolv.conf "$root/etc/resolv.conf"

# A null link in place of a dependency removes the dependency and keeps the unit: udevd starts with the first
# device that appears or the first udevadm, logind with the first login or loginctl.
for dependency in sysinit.target.wants/systemd-udevd.service \
  sysinit.target.wants/systemd-udev-trigger.service multi-user.target.wants/systemd-logind.service; do
  mkdir -p "$(dirname "$units/$dependency")"
  ln -sf /dev/null "$units/$dependency"
done
chroot "$root" pam-auth-update --package

# Generators for disks, consoles and kernel parameters, of which a container has none, and one for autostart
# entries, which XFCE reads itself.
mkdir -p "$root/etc/systemd/system-generators" "$root/etc/systemd/user-generators"
for name in cryptsetup debug getty gpt-auto hibernate-resume integritysetup run system-update veritysetup; do
  ln -sf /dev/null "$root/etc/systemd/system-generators/systemd-$name-generator"
done
ln -sf /dev/null "$root/etc/systemd/user-generators/systemd-xdg-autostart-generator"

# The first process. An upgrade of systemd writes its own beside it.
cp "$RECIPE/hooks/init.c" "$root/tmp/"
chroot "$root" gcc -O2 -Wall -Wextra -Werror -o /usr/lib/computer/init /tmp/init.c
rm "$root/tmp/init.c"
chroot "$root" dpkg-divert --quiet --local --rename --divert /sbin/init.systemd --add /sbin/init
ln -s /usr/lib/computer/init "$root/sbin/init"

# The session starts the panel and xfdesktop with it. The theme must be the one that it takes for granted.
! grep -aq XfdesktopIconView "$root/usr/share/themes/Arc-Darker/gtk-3.0/gtk.gresource"
cp "$RECIPE/hooks/desktop.c" "$root/tmp/"
chroot "$root" gcc -O2 -Wall -Werror -shared -fPIC -o /usr/lib/computer/desktop.so /tmp/desktop.c
rm "$root/tmp/desktop.c"

# A cache of fonts is valid for folders of exactly the time that it names. The packing sets new times back to
# the begin of the build, so these are made older than that first.
find "$root/usr/share/fonts" "$root/usr/local/share/fonts" -type d -exec touch --date 2020-01-01 {} +
chroot "$root" fc-cache --system-only --force
