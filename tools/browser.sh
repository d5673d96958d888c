#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make sure that the browser tests find a Chromium: one that is here, else Debian's package where it can be installed.
set -eu
for name in "${MURMURATE_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -n "$name" ] && command -v "$name" > /dev/null; then exit 0; fi
done
if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing Debian's chromium for the browser tests"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null
    exit 0
fi
echo "the browser tests need Chromium: install it (apt-get install chromium), or set MURMURATE_CHROMIUM to its path" >&2
exit 1
