#!/bin/sh
# Make .venv with the project and everything its tests need. Safe to run again.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "acai needs Python 3.11 or newer; $python is $("$python" --version 2>&1)." >&2
  exit 1
}

if [ ! -x .venv/bin/pip ]; then
  echo "setup: making a virtual environment in .venv"
  if ! "$python" -m venv .venv >/dev/null 2>&1; then
    # Debian keeps venv in a package of its own.
    rm -rf .venv
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      echo "setup: installing Debian's python3-venv"
      apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
    else
      echo "Python's venv module is missing; install it: apt-get install python3-venv" >&2
      exit 1
    fi
    "$python" -m venv .venv
  fi
fi

echo "setup: installing the project and its test tools (about a minute the first time)"
if ! .venv/bin/pip install -q --disable-pip-version-check -e '.[dev]' >.venv/setup.log 2>&1; then
  cat .venv/setup.log >&2
  exit 1
fi
touch .venv/.ready
echo "setup: done"
