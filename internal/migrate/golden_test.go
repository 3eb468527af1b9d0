package migrate_test

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

// defaultOptions returns the options of a controller with default flags.
func defaultOptions(shared assemble.Options, class string) migrate.Options {
	shared.Cluster = "test"
	gateways := gateway.Options{Options: shared, ListenerSets: true}
	return migrate.Options{
		Ingress:    ingress.New(ingress.Options{Options: shared, Class: class}),
		ALBGateway: gateway.New(model.ALBGateway, gateways), NLBGateway: gateway.New(model.NLBGateway, gateways),
		DefaultTags: shared.DefaultTags, DefaultSSLPolicy: shared.WithDefaults().DefaultSSLPolicy, WithoutDryRun: true,
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		store := enginetest.LoadObjects(t, c.Text("cluster.yaml"))
		opt := defaultOptions(enginetest.CaseOptions(t, c, assemble.Options{}), "alb")
		r, err := migrate.Translate(store, opt)
		if err != nil {
			t.Fatal(err)
		}
		var manifests, notes strings.Builder
		if err := migrate.WriteYAML(&manifests, r.Objects()); err != nil {
			t.Fatal(err)
		}
		for _, ref := range r.ServedByOthers {
			fmt.Fprintf(&notes, "not ours: %s\n", ref)
		}
		for _, g := range r.IngressGroups {
			fmt.Fprintf(&notes, "%s -> %s\n", g.ID, g.Gateway)
			for _, n := range g.Notes {
				fmt.Fprintf(&notes, "  %s %s %s: %s; %s\n", n.Severity, n.Object, n.Field, n.Message, n.Fix)
			}
		}
		return []goldentest.File{
			{Name: "gateway.yaml", Text: manifests.String()}, {Name: "notes.txt", Text: notes.String()}, {Name: "differences.txt", Text: differences(t, store, r, opt)},
		}
	})
}

// differences returns the findings about the translated Gateways, and their differences from the Ingresses, as lines of
// text.
func differences(t *testing.T, store *cluster.Memory, r migrate.Result, opt migrate.Options) string {
	t.Helper()
	stacks, found, err := migrate.Compile(store, r, opt)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, g := range r.IngressGroups {
		if g.Gateway.IsZero() {
			continue
		}
		for _, f := range slices.Concat(found[g.Gateway], found[g.FrontendGateway]) {
			fmt.Fprintln(&out, f)
		}
		port := migrate.PortOf(store)
		res := g.Compare(stacks, port)
		for _, d := range res.Differences {
			fmt.Fprintln(&out, d.Text())
		}
		if len(res.Partial) > 0 {
			fmt.Fprintln(&out, "not all requests were tried")
		}
	}
	return out.String()
}
