#!/bin/sh
# Installs what the tests and benchmarks need beside Node and npm packages, on Debian and Ubuntu, when it is missing:
#   nginx-light (the webs), unbound (the name server), wget2 (the crawler that the benchmark compares with), time (CPU of a process tree),
#   chromium (looks at report.html), strace (fails and delays system calls), gcc with the C library's headers (the layer under a process that takes away what was not synced).
# Quiet; the package lists are fetched only when a package is not found without. Run as root, or with sudo at hand.
#   scripts/install-debian.sh [PACKAGE…]      only these
set -eu

command_of() { # the program by which a package is known to be there, or a file of it
  case $1 in
    libc6-dev) echo /usr/include/stdio.h ;;
    nginx-light) echo nginx ;;
    time) echo /usr/bin/time ;;
    *) echo "$1" ;;
  esac
}

PATH=$PATH:/usr/sbin:/sbin
[ $# -gt 0 ] || set -- nginx-light unbound wget2 time chromium strace gcc libc6-dev
missing=
for package in "$@"; do
  place=$(command_of "$package")
  [ -e "$place" ] || command -v "$place" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
[ "$(id -u)" = 0 ] || root=sudo
log=$(mktemp)
# A package that starts a service on installation is told not to: the tests run their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
  $root chmod +x "$policy"
  trap '$root rm -f "$policy"' EXIT
fi
install() {
  # shellcheck disable=SC2086  # one word per package
  $root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $missing >"$log" 2>&1
}
install || { $root apt-get -o DPkg::Lock::Timeout=300 update -q >"$log" 2>&1 && install; } || {
  tail -n 20 "$log" >&2
  echo "install-debian.sh: could not install$missing" >&2
  exit 1
}
rm -f "$log"
