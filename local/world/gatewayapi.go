package world

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

// gatewayChannels are the release channels of the Gateway API.
var gatewayChannels = []string{"standard", "experimental"}

// GatewayAPICRDs returns the CRDs of a release channel of the Gateway API, "standard" or "experimental", for tests that
// install them after the start of a local world.
func GatewayAPICRDs(channel string) ([]*unstructured.Unstructured, error) {
	return readGatewayAPICRDs(channel)
}

// readGatewayAPICRDs returns the CRDs of a release channel of the Gateway API, or none if channel is empty. It reads them
// from the Go module of the Gateway API, in the version that this program is built with.
func readGatewayAPICRDs(channel string) ([]*unstructured.Unstructured, error) {
	if channel == "" {
		return nil, nil
	}
	if !slices.Contains(gatewayChannels, channel) {
		return nil, fmt.Errorf("world: Gateway API has no channel %q, only %s", channel, strings.Join(gatewayChannels, " and "))
	}
	module := "sigs.k8s.io/gateway-api@" + consts.BundleVersion
	dir := filepath.Join(moduleCache(), filepath.FromSlash(module), "config", "crd", channel)
	files, err := filepath.Glob(filepath.Join(dir, "gateway.networking.*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("world: the CRDs of the Gateway API are not in %s; run `go mod download %s`: %w", dir, module, fs.ErrNotExist)
	}
	slices.Sort(files)
	return manifest.Load(files...)
}

// moduleCache returns the directory of downloaded Go modules.
func moduleCache() string {
	if out, err := exec.Command("go", "env", "GOMODCACHE").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	home, _ := os.UserHomeDir()
	return cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")), "pkg", "mod"))
}
