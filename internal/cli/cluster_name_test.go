package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// tagSubnets adds the tag kubernetes.io/cluster/NAME of a cluster to each subnet of an emulator.
func tagSubnets(em *emulator.Emulator, cluster string) {
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(harness.Account, harness.Region)
	for id := range p.Subnets {
		if p.Tags[id] == nil {
			p.Tags[id] = map[string]string{}
		}
		p.Tags[id][network.ClusterTagPrefix+cluster] = "shared"
	}
}

// TestWrongClusterNameIsReported checks that commands print one warning about --cluster-name if no subnet has the tag of
// that cluster, and none otherwise.
func TestWrongClusterNameIsReported(t *testing.T) {
	em, flags := startEmulator(t)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	reported := func(command ...string) string {
		_, out, stderr := runWithInput(t, text, nil, slices.Concat(command, flags, []string{"--cluster-name=rog"})...)
		return out + stderr
	}
	const unknown = `--cluster-name "rog" matches no subnet tag in the VPC; these tags name `
	if _, out, stderr := runWithInput(t, text, nil, slices.Concat([]string{"plan", "-f=-"}, flags)...); strings.Contains(out+stderr, "matches no subnet tag") {
		t.Errorf("the name is right: %s%s", out, stderr)
	}
	tagSubnets(em, "elsewhere")
	for _, command := range [][]string{{"plan", "-f=-"}, {"tree", "-f=-"}, {"get", "-f=-"}} {
		if got := reported(command...); !strings.Contains(got, unknown+`elsewhere, rig (did you mean "rig"?)`) || strings.Count(got, unknown) != 1 {
			t.Errorf("%s: %s", command, got)
		}
	}
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	if _, out := runDoctor(t, config, append(flags, "--cluster-name=rog")); strings.Count(out, unknown) != 1 || !strings.Contains(out, "warning discovery") {
		t.Error(out)
	}
	tagSubnets(em, "rog")
	if got := reported("plan", "-f=-"); strings.Contains(got, unknown) {
		t.Error(got)
	}
}
