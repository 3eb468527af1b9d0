package ingress_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// options are those of the case: options.json laid over a plain controller.
func options(t *testing.T, c goldentest.Case) ingress.Options {
	t.Helper()
	opt := ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}
	if raw := c.Text("options.json"); raw != "" {
		d := json.NewDecoder(strings.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&opt); err != nil {
			t.Fatalf("options.json: %v", err)
		}
	}
	return opt
}

// stacks are all stacks that the Ingresses of a source belong to.
func stacks(t *testing.T, f *ingress.Frontend, src cluster.Source) []model.StackID {
	t.Helper()
	return enginetest.Stacks(t, f, src, cluster.KindIngress)
}

func translate(t *testing.T, f *ingress.Frontend, src cluster.Source, id model.StackID) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(&cluster.Reduced{Source: src})
	stack, found := f.Translate(v, id, nil)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	return stack, found
}

func load(t *testing.T, yaml string) *cluster.Memory {
	t.Helper()
	m, err := cluster.FromYAML(nil, []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// usualReach is what the page of findings says of a reason.
func usualReach(r finding.Reason) finding.Reach {
	for _, e := range finding.Reasons {
		if e.Reason == r {
			return e.Reaches
		}
	}
	return finding.BlocksNothing
}

func TestTranslate(t *testing.T) {
	goldentest.Run(t, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		src := load(t, c.Text("cluster.yaml"))
		f := ingress.New(options(t, c))
		var models, findings strings.Builder
		for _, id := range stacks(t, f, src) {
			stack, found := translate(t, f, src, id)
			models.WriteString("--- # stack " + id.String() + "\n" + goldentest.Dump(stack))
			for _, x := range found {
				findings.WriteString(x.String() + " (blocks " + x.Blocks.String() + ")\n")
				if usual := usualReach(x.Reason); x.Blocks > usual {
					t.Errorf("%s blocks %s, and its page says %s", x.Reason, x.Blocks, usual)
				}
			}
		}
		opt := options(t, c)
		plans, status := enginetest.RunLine(t, src, f, stacks(t, f, src), plan.Options{Cluster: opt.Cluster, StrictGroups: opt.StrictGroups, ManageCertificates: opt.ManageCertificates, ImportCertificates: opt.ImportCertificates})
		return []goldentest.File{
			{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "plan.txt", Text: plans}, {Name: "status.yaml", Text: status},
		}
	})
}
