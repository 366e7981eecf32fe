#!/bin/sh
# Boots systemd in new namespaces: unshare --mount sh boot-systemd.sh FOLDER PROGRAMS
#
# FOLDER has the folders `units`, and `mcp-web` and `mcp-web-agent` for /etc. PROGRAMS becomes /usr/local/bin. What is
# outside of the namespaces stays as it was: /etc is a layer that ends with them, and the control group is removed.
set -eu

if [ "$1" != --inside ]; then
  mount --make-rprivate /
  mount -t tmpfs none /mnt
  mkdir /mnt/cgroup
  mount -t cgroup2 none /mnt/cgroup
  group=/mnt/cgroup/mcp-web-units-$$
  mkdir "$group"
  sh -c 'echo $$ > "$0/cgroup.procs" && exec unshare "$@"' "$group" \
    --pid --fork --kill-child --mount --mount-proc --uts --ipc --net --cgroup sh "$0" --inside "$1" "$2" || true
  find "$group" -depth -type d -exec rmdir {} ';'
  exit
fi

folder=$2
mount -t tmpfs none /run
mkdir /run/etc /run/work /run/lock
mount -t overlay none -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work /etc
mount -t tmpfs -o mode=755 none /var/lib
mkdir -m 700 /var/lib/private
mount -t cgroup2 none /sys/fs/cgroup
mount --bind "$3" /usr/local/bin

# As in the guide.
printf '%s\n' mcp-web:x:990: mcp-web-agent-files:x:991: >> /etc/group
cp -r "$folder/mcp-web" "$folder/mcp-web-agent" /etc/
chgrp -R mcp-web /etc/mcp-web
chgrp -R mcp-web-agent-files /etc/mcp-web-agent
chmod 750 /etc/mcp-web /etc/mcp-web-agent
chmod 640 /etc/mcp-web/* /etc/mcp-web-agent/*

exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=test SYSTEMD_UNIT_PATH="$folder/units" \
  /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=no --crash-reboot=no \
  --default-standard-output=inherit --default-standard-error=inherit
