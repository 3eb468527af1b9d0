#!/usr/bin/env bash
# Builds programs of a module, "." or "local": build.sh MODULE OUT [PACKAGE…]. OUT is a file, or a directory
# if it ends with a slash. Both modules take minutes the first time, and "local" contains Kubernetes, so
# progress is shown while there is much to compile.
set -euo pipefail
module=$1 out=$(realpath -m "$2")
[[ $2 == */ ]] && out+=/
shift 2
[ $# -gt 0 ] || set -- ./cmd/...
cd "$(dirname "$0")/../$module"

what="Fulcrum and its libraries"
ldflags=()
if [ "$module" = local ]; then
	version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
	what="Kubernetes $version and the local world"
	# Without a version kubectl refuses to talk about the API server.
	ldflags=(-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version")
fi

# progress shows a line now and then instead of the name of each package that is compiled. Everything
# else, such as errors, goes through.
progress() {
	local count=0 all=0 line
	while IFS= read -r line; do
		if [[ -z $line || $line == *[[:space:]:]* ]]; then
			echo "$line"
			continue
		fi
		count=$((count + 1))
		if [ $count = 100 ]; then
			all=$(go list -deps "$@" | wc -l)
			echo "compiling $what from source; this takes minutes once, later builds use Go's build cache in $(go env GOCACHE)"
		fi
		if [ $((count % 100)) = 0 ]; then
			echo "  $count of at most $all packages"
		fi
		if [[ $line == */cmd/fulcrum-local ]]; then
			echo "linking fulcrum-local"
		fi
	done
}

go build -v "${ldflags[@]}" -o "$out" "$@" 2>&1 | progress "$@" >&2
