#!/bin/sh
# Installs @NAME@ @VERSION@ into ~/.local/bin, or into the folder MCP_WEB_INSTALL_DIR.
set -eu

downloads="${MCP_WEB_DOWNLOADS:-@DOWNLOADS@}"
folder="${MCP_WEB_INSTALL_DIR:-$HOME/.local/bin}"

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

fetch() {
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --proto-redir =https \
      --connect-timeout 20 --speed-limit 1000 --speed-time 30 --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    # Ends after 15 minutes of silence. A shorter limit, `-T`, crashes the wget of busybox 1.35.
    wget -q -O "$2" "$1"
  else
    fail "install curl or wget first"
  fi
}

sum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi
}

# A function, which runs only when the last line calls it: a script that was cut off does nothing.
main() {
  case "$(uname -s)-$(uname -m)" in
@CASES@
    *) fail "there is no archive for $(uname -s) on $(uname -m)" ;;
  esac
  archive="@NAME@-$target.tar.gz"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch "$downloads/$archive" "$work/$archive" || fail "cannot download $downloads/$archive"
  fetch "$downloads/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $downloads/SHA256SUMS"
  expected=$(sed -n "s/  $archive\$//p" "$work/SHA256SUMS")
  actual=$(sum "$work/$archive" | cut -d ' ' -f 1)
  [ -n "$expected" ] || fail "SHA256SUMS does not list $archive"
  [ "$expected" = "$actual" ] || fail "$archive has a wrong checksum: expected $expected, got $actual"
  gzip -dc "$work/$archive" | tar -xf - -C "$work"
  mkdir -p "$folder"
  # A running program cannot be overwritten, but another file can take its name.
  cp "$work/@NAME@-$target/@NAME@" "$folder/.@NAME@.new"
  chmod 755 "$folder/.@NAME@.new"
  mv -f "$folder/.@NAME@.new" "$folder/@NAME@"
  echo "installed $folder/@NAME@ (@VERSION@)"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "add $folder to your PATH" ;;
  esac
}

main
