#!/usr/bin/env bash
# Installs a Chromium for the tests of the console, where there is none and it can be done: as root, with apt-get.
# Without one these tests are left out, but in CI.
set -euo pipefail
[ -z "${FULCRUM_CHROMIUM:-}" ] || exit 0
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "no Chromium was found, so that the tests of the console in a browser are left out" >&2
	exit 0
fi
echo "Installing Chromium for the tests of the console" >&2
apt-get update -qq >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
