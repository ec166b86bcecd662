#!/bin/sh
# The tests of limits and of the local launcher on a real cgroup v2, wherever this is run: under
# a user-mode Linux kernel, which takes this machine's own file system as its root. Needs Debian's
# package user-mode-linux, installed or to be had by `apt-get download`. That kernel is slow; the
# approximate limits, which have to look in time, are left to the ordinary tests.
# Usage: sh tests/slow/cgroup_v2.sh [PYTEST OPTIONS]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kernel=$(command -v linux.uml || true)
if [ -z "$kernel" ]; then
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/acai-uml
    kernel=$cache/usr/bin/linux.uml
    if [ ! -x "$kernel" ]; then
        mkdir -p "$cache"
        (cd "$cache" && apt-get download -q user-mode-linux && dpkg -x user-mode-linux*.deb .)
    fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/init" <<EOF
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm && mount -t tmpfs -o size=200m tmpfs /dev/shm
cd "$root"
export PATH=/usr/local/bin:/usr/bin:/bin HOME=$work PYTHONDONTWRITEBYTECODE=1
.venv/bin/python -m pytest -q -p no:cacheprovider --color no --timeout 120 \\
    --basetemp $work/tests -k 'not approximate' \\
    tests/unit/test_limits.py tests/integration/test_limits_real.py \\
    tests/contracts/test_launchers.py $*
echo "pytest ended with \$?"
echo o >/proc/sysrq-trigger
sleep 10
EOF
chmod +x "$work/init"
timeout "${UML_TIMEOUT:-900}" "$kernel" mem=1024M rootfstype=hostfs rootflags=/ rw \
    init="$work/init" con=null con0=fd:0,fd:1 quiet </dev/null 2>&1 | tee "$work/said"
grep -q 'pytest ended with 0' "$work/said"
