#!/usr/bin/env bash
# Builds programs of a module, ".", "local" or "charts": build.sh MODULE OUT [PACKAGE…]. OUT is a file, or a
# directory if it ends with a slash. Each takes minutes the first time, and "local" contains Kubernetes, so
# each build says what it builds, and every 20 seconds how far it is.
set -euo pipefail
module=$1 out=$(realpath -m "$2")
[[ $2 == */ ]] && out+=/
shift 2
[ $# -gt 0 ] || set -- ./cmd/...
cd "$(dirname "$0")/../$module"

what="Fulcrum" first="about 3 minutes"
ldflags=()
if [ "$module" = . ] && git rev-parse HEAD >/dev/null 2>&1; then
	# What --version prints. Sources without git, such as an archive, are a development version. The programs of the local
	# world are linked for half a minute, so that they are the same for all commits that leave them alone.
	at=github.com/fulcrum-lb/fulcrum/internal/version
	ldflags=(-ldflags="-s -w -X $at.gitVersion=$(git describe --tags --always --dirty) -X $at.gitCommit=$(git rev-parse HEAD) -X $at.buildDate=$(git log -1 --format=%cI)")
fi
if [ "$module" = charts ]; then
	what="helm, kubectl and krew" first="about 1 minute"
	ldflags=(-ldflags="-s -w")
fi
if [ "$module" = local ]; then
	version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
	what="Kubernetes $version and the local cluster" first="about 6 minutes"
	# Without a version kubectl refuses to talk about the API server.
	ldflags=(-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version")
fi

# progress counts the packages that are compiled instead of naming each of them, against those that Go has to compile.
# Everything else, such as errors and downloads, goes through.
progress() {
	local count=0 all= next=20 line got last= left
	while true; do
		got=0
		IFS= read -r -t 5 line || got=$?
		if [ $got = 0 ] && [[ -z $line || $line == *[[:space:]:]* ]]; then
			echo "$line"
		elif [ $got = 0 ]; then
			count=$((count + 1)) last=$line
		elif [ $got -le 128 ]; then # the end, no timeout
			return
		fi
		if [ $SECONDS -ge $next ]; then
			next=$((SECONDS + 20))
			[ -n "$all" ] || all=$((count + $(go list -trimpath -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$@" 2>/dev/null | wc -l)))
			if [[ $last == */cmd/* ]]; then
				echo "  $SECONDS s: linking"
			elif [ $count -gt 0 ] && [ "$all" -gt $count ]; then
				left=$((SECONDS * (all - count) / count))
				echo "  $SECONDS s: $((100 * count / all)) % of $all packages compiled, about $left s left"
			else
				echo "  $SECONDS s: $count packages compiled"
			fi
		fi
	done
}

# Go keeps linked programs only for "go run", so that a program is linked once for all clones, and "run" by a copy of it.
compile() {
	local program
	for program in "$@"; do
		[[ $out == */ ]] && mkdir -p "$out"
		go run -v -trimpath "${ldflags[@]}" -exec "install -m 755" "$program" "$out$([[ $out != */ ]] || basename "$program")"
	done
}

SECONDS=0
echo "Building $what ($first the first time on two cores, seconds later: Go keeps what it has built in $(go env GOCACHE))" >&2
mapfile -t programs < <(go list "$@")
[ ${#programs[@]} -gt 0 ] || exit 1
compile "${programs[@]}" 2>&1 | progress "${programs[@]}" >&2
echo "Built $what in $SECONDS s" >&2
