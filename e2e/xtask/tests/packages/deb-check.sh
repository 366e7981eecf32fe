#!/bin/bash
# Runs as root in a system that has just started, with the package in /packages.
set -euxo pipefail
unit=mcp-web-bridge.service
config=/etc/mcp-web/bridge.toml

health() {
  exec 3<>/dev/tcp/127.0.0.1/3001
  printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:3001\r\nConnection: close\r\n\r\n' >&3
  grep -q '^HTTP/1.1 200' <&3
  exec 3>&-
}
process() { systemctl show --property MainPID --value "$unit"; }

# Installed, but neither enabled nor started.
dpkg -i /packages/*.deb
[ "$(systemctl is-enabled $unit || true)" = disabled ]
[ "$(systemctl is-active $unit || true)" = inactive ]
[ "$(stat -c '%a %U:%G' $config)" = '640 root:mcp-web' ]
[ "$(mcp-web --version)" = "mcp-web $1" ]
systemd-analyze verify "/usr/lib/systemd/system/$unit"

# Started: systemd waits until the bridge reports that it is ready.
systemctl enable --now "$unit"
health
grep -q '^Seccomp:.*2$' "/proc/$(process)/status"
systemd-analyze security --no-pager --threshold=20 "$unit" | tail -n 1

# An upgrade keeps settings that were changed, and restarts.
echo '# changed' >> "$config"
before=$(process)
dpkg -i /packages/*.deb
grep -q '^# changed' "$config"
[ "$(process)" != "$before" ]
health

# Wrong settings are not tried again, and the journal names them.
cp "$config" /root/bridge.toml
echo 'unknown_key = 1' >> "$config"
if systemctl restart "$unit"; then exit 1; fi
[ "$(systemctl show --property NRestarts --value $unit)" = 0 ]
journalctl --unit "$unit" --no-pager | grep unknown_key > /dev/null
cp /root/bridge.toml "$config"
systemctl reset-failed "$unit"
systemctl start "$unit"

# Removed: the settings stay. Purged: nothing does.
dpkg --remove mcp-web
[ "$(systemctl is-active $unit || true)" = inactive ]
[ -e "$config" ]
[ ! -e /usr/bin/mcp-web ]
dpkg --purge mcp-web
rm -f /root/bridge.toml
if getent group mcp-web; then exit 1; fi
left=$(find /etc /lib /usr /var -xdev -name '*mcp-web*' -not -path '/var/lib/dpkg/*' -not -path '/var/log/*' -not -path '/var/tmp/*')
[ -z "$left" ]
