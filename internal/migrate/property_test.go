package migrate_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/ingressgen"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// TestRandomIngressGroupsRouteAlikeAfterMigration translates random IngressGroups. It checks that the Gateways answer each
// request as the Ingresses do and have the same settings, unless a note or a finding reports a setting that is lost. It also
// checks that the names of the new objects are valid and unique.
func TestRandomIngressGroupsRouteAlikeAfterMigration(t *testing.T) {
	t.Parallel()
	n := 400
	if testing.Short() {
		n = 50
	}
	alike, inFront, requests, failed := 0, 0, 0, 0
	untranslated := map[string]int{}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		manifests := ingressgen.IngressGroup(r)
		if seed%3 == 0 {
			manifests = ingressgen.WithFrontendNLB(r, manifests)
		}
		store := enginetest.LoadObjects(t, manifests)
		opt := defaultOptions(assemble.Options{}, "alb")
		res, err := migrate.Translate(store, opt)
		if err != nil {
			t.Fatal(err)
		}
		names := map[cluster.Ref]bool{}
		for _, o := range res.Objects() {
			ref := cluster.RefOf(o.Object)
			if faults := validation.IsDNS1123Subdomain(ref.Name); len(faults) > 0 || names[ref] {
				t.Errorf("seed %d: %s: %v, twice: %t", seed, ref, faults, names[ref])
			}
			names[ref] = true
		}
		stacks, found, err := migrate.Compile(store, res, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range res.IngressGroups {
			port := migrate.PortOf(store)
			got := g.Compare(stacks, port)
			requests += got.Requests
			faulted := slices.ContainsFunc(slices.Concat(found[g.Gateway], found[g.FrontendGateway]), func(f finding.Finding) bool { return f.Severity == finding.Error })
			switch {
			case faulted:
			case g.WorstSeverity() == migrate.Lost:
				for _, note := range g.Notes {
					if note.Severity == migrate.Lost {
						untranslated[note.Field+": "+note.Message]++
					}
				}
			case len(got.Differences) > 0:
				if failed++; failed > 3 {
					t.FailNow()
				}
				for _, d := range got.Differences[:min(len(got.Differences), 5)] {
					t.Errorf("seed %d: %s", seed, d.Text())
				}
				t.Logf("%v\n%s", found[g.Gateway], manifests)
			default:
				if alike++; !g.FrontendGateway.IsZero() {
					inFront++
				}
			}
		}
	}
	t.Logf("%d of %d groups alike, %d with a frontend NLB, %d requests; lost: %v", alike, n, inFront, requests, untranslated)
	if alike < n/2 || inFront < n/10 {
		t.Errorf("only %d of %d groups are compared, %d with a frontend NLB", alike, n, inFront)
	}
}
