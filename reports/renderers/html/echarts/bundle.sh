#!/bin/sh
# Makes echarts.min.js from entry.js and the packages below, byte for byte the same each time. Needs
# curl, tar, openssl and x86-64 Linux; no Node.
#
#   bundle.sh                  writes echarts.min.js and the licences of what is in it, beside itself
#   bundle.sh --output FILE    writes only the bundle, to FILE
#   bundle.sh --check          rebuilds and compares with the committed files
#   ... --packages DIR         keeps the packages in DIR, or finds them there: no network needed then
set -eu

registry=https://registry.npmjs.org
here=$(cd "$(dirname "$0")" && pwd)
output=
check=
packages=

fail() {
  echo "bundle.sh: $1" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1 ;;
    --output) output=${2:?--output needs a file}; shift ;;
    --packages) packages=${2:?--packages needs a folder}; shift ;;
    *) fail "unknown option $1; known: --check, --output FILE, --packages DIR" ;;
  esac
  shift
done

[ "$(uname -sm)" = "Linux x86_64" ] || fail "needs x86-64 Linux, where the pinned esbuild runs"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
packages=${packages:-$scratch/packages}
mkdir -p "$packages"

# package NAME VERSION SHA512: downloads it unless it is there, checks it, unpacks it.
package() {
  file=${1##*/}-$2.tgz
  [ -f "$packages/$file" ] || {
    curl --fail --silent --show-error --location --proto '=https' --retry 3 --max-time 600 \
      --output "$packages/$file.part" "$registry/$1/-/$file" || fail "cannot download $1 $2"
    mv "$packages/$file.part" "$packages/$file"
  }
  sum=$(openssl dgst -sha512 -binary "$packages/$file" | openssl base64 -A)
  [ "$sum" = "$3" ] || fail "$packages/$file is not what it should be: sha512 is $sum"
  mkdir -p "$scratch/node_modules/$1"
  tar -xzf "$packages/$file" -C "$scratch/node_modules/$1" --strip-components=1 --no-same-owner
}

package echarts 6.1.0 \
  q0yaFPggC9FUdsWH4blavRWFmxdrIodbkoKNAjJudAI6CA9gNPxHtV2RcZNEepZVlk4yvBYkOkbk6HIVpIyHZA==
package zrender 6.1.0 \
  oEGMDB6pOP2S6OwRR4PdVv610zrjnA3Bh+JnSG12fYJlBKjtNAoEb5fSUoCOOINlH96I2fU38/A2UpRKs67xYQ==
package tslib 2.3.0 \
  N82ooyxVNm6h1riLCoyS9e3fuJ3AMG2zIZs2Gd1ATcSFjSA23Q0fzjjZeh0jbJvWVDZ0cJT8yaNNaaXHzueNjg==
package @esbuild/linux-x64 0.28.2 \
  4xTZr1FUmSoQW4XIWmit3tzQrUTZM+N3P0XV8xROKYF50XfI7xeO90+1bZvNwxIufQ9hDQVRJH5YhgPVF8A/HQ==

cp "$here/entry.js" "$scratch/entry.js"
notice='/*! Apache ECharts 6.1.0, Copyright 2017-2026 The Apache Software Foundation, Apache-2.0; with
zrender 6.1.0, Copyright 2017 Baidu Inc., BSD-3-Clause; parts of d3, Copyright 2010-2016 Mike
Bostock, BSD-3-Clause; and tslib 2.3.0, Copyright Microsoft Corporation, 0BSD. */'
(cd "$scratch" && node_modules/@esbuild/linux-x64/bin/esbuild entry.js --bundle --minify \
  --charset=ascii --format=iife --global-name=echarts --legal-comments=none --log-level=warning \
  --target=es2018 "--banner:js=$notice" '--define:process.env.NODE_ENV="production"' \
  --outfile=made/echarts.min.js) || fail "esbuild failed"
modules=$scratch/node_modules
cp "$modules/echarts/LICENSE" "$scratch/made/LICENSE"
cp "$modules/echarts/NOTICE" "$scratch/made/NOTICE"
cp "$modules/echarts/licenses/LICENSE-d3" "$scratch/made/LICENSE-d3"
cp "$modules/zrender/LICENSE" "$scratch/made/LICENSE-zrender"
cp "$modules/tslib/LICENSE.txt" "$scratch/made/LICENSE-tslib"

if [ -n "$check" ]; then
  for file in "$scratch"/made/*; do
    cmp "$file" "$here/${file##*/}" || fail "${file##*/} differs from what this script makes"
  done
  echo "echarts.min.js is what this script makes ($(wc -c < "$here/echarts.min.js") bytes)"
elif [ -n "$output" ]; then
  cp "$scratch/made/echarts.min.js" "$output"
else
  cp "$scratch"/made/* "$here/"
fi
