package harness

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
)

// TestAWrongClusterNameIsLogged checks that a controller logs once if its cluster name matches none of the cluster
// tags on its subnets.
func TestAWrongClusterNameIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tags []string
		want bool
	}{
		"subnets of others":         {[]string{"rigg", "elsewhere"}, true},
		"subnets of others and its": {[]string{"elsewhere", "rig"}, false},
		"no tags of clusters":       {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var lines []string
				log := funcr.New(func(_, args string) {
					mu.Lock()
					defer mu.Unlock()
					if strings.Contains(args, "cluster name matches no subnet tag") {
						lines = append(lines, args)
					}
				}, funcr.Options{})
				r := shopWith(t, Options{Workers: 1, Log: log})
				retagSubnets(r, c.tags)
				r.Apply(shop, webIngress("", "/=web"))
				r.advanceTime(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if c.want != (len(lines) == 1) || len(lines) > 1 || c.want && !strings.Contains(lines[0], `"similarName"="rigg"`) {
					t.Errorf("%q", lines)
				}
			})
		})
	}
}

// retagSubnets replaces the cluster tags of all subnets by tags for the given clusters.
func retagSubnets(r *Harness, clusters []string) {
	const prefix = "kubernetes.io/cluster/"
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for id := range p.Subnets {
		for key := range p.Tags[id] {
			if strings.HasPrefix(key, prefix) {
				delete(p.Tags[id], key)
			}
		}
		if p.Tags[id] == nil {
			p.Tags[id] = map[string]string{}
		}
		for _, c := range clusters {
			p.Tags[id][prefix+c] = "shared"
		}
	}
}
