package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// options are those of the case: options.json laid over a plain controller.
func options(t *testing.T, c goldentest.Case) gateway.Options {
	t.Helper()
	opt := gateway.Options{Options: assemble.Options{Cluster: "rig"}, ListenerSets: true}
	if raw := c.Text("options.json"); raw != "" {
		d := json.NewDecoder(strings.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&opt); err != nil {
			t.Fatalf("options.json: %v", err)
		}
	}
	return opt
}

func translate(t testing.TB, f *gateway.Frontend, src cluster.Source, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(&cluster.Reduced{Source: src})
	stack, found := f.Translate(v, id, live)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	return stack, found
}

func load(t testing.TB, yaml string) *cluster.Memory {
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
		opt := options(t, c)
		var models, findings, plans, statuses strings.Builder
		for _, kind := range []model.Kind{model.ALBGateway, model.NLBGateway} {
			src := load(t, c.Text("cluster.yaml")) // without what the other kind has written
			f := gateway.New(kind, opt)
			ids := enginetest.Stacks(t, f, src, cluster.KindGateway)
			ids = slices.DeleteFunc(ids, func(id model.StackID) bool { return id.Kind != kind })
			if len(ids) == 0 {
				continue
			}
			for _, id := range ids {
				stack, found := translate(t, f, src, id, nil)
				models.WriteString("--- # stack " + id.String() + " of kind " + string(kind) + "\n" + goldentest.Dump(stack))
				for _, x := range found {
					findings.WriteString(x.String() + " (blocks " + x.Blocks.String() + ")\n")
					if usual := usualReach(x.Reason); x.Blocks > max(usual, finding.BlocksRule) {
						t.Errorf("%s blocks %s, and its page says %s", x.Reason, x.Blocks, usual)
					}
				}
			}
			p, status := enginetest.RunLine(t, src, f, ids, plan.Options{Cluster: opt.Cluster, ImportCertificates: opt.ImportCertificates, StrictGroups: opt.StrictGroups})
			plans.WriteString(p)
			statuses.WriteString(status)
		}
		return []goldentest.File{
			{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "plan.txt", Text: plans.String()}, {Name: "status.yaml", Text: statuses.String()},
		}
	})
}
