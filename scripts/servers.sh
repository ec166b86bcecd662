#!/bin/sh
# Install the servers that tests run beside the platform and that PyPI does not carry.
# Quick when they are there; without root or apt-get, the tests that need them say so and skip.
set -eu
wanted=""
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || wanted="$wanted nginx-light"
command -v curl >/dev/null || wanted="$wanted curl"
command -v chromium >/dev/null || wanted="$wanted chromium"
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup: installing Debian's$wanted for the tests"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $wanted >/dev/null
else
  echo "setup: without$wanted some tests will be skipped" >&2
fi
