#!/bin/sh
# Installs the Python tools that tests hold our output against, into a virtual environment of their own (.python), when they are missing:
#   wacz (validates WACZ files), duckdb (reads Parquet), pywb (replays WARC files).
# Needs python3 with venv.   scripts/install-python-tools.sh [REQUIREMENT…]      only these
set -eu
cd "$(dirname "$0")/.."
venv=.python
[ $# -gt 0 ] || set -- wacz==0.6.0 duckdb==2.0.1 pywb==2.10.0

missing=
for requirement in "$@"; do
  [ -x "$venv/bin/pip" ] && "$venv/bin/pip" --disable-pip-version-check show -q "${requirement%%=*}" >/dev/null 2>&1 || missing="$missing $requirement"
done
[ -n "$missing" ] || exit 0

if [ ! -x "$venv/bin/pip" ]; then
  # A bare Debian has python3 without venv, or no python3 at all.
  python3 -m venv "$venv" >/dev/null 2>&1 || { rm -rf "$venv" && scripts/install-debian.sh python3-venv && python3 -m venv "$venv"; }
fi
# shellcheck disable=SC2086  # one word per requirement
"$venv/bin/pip" --disable-pip-version-check install -q $missing
