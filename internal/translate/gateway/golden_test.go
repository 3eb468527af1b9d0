package gateway_test

import (
	"embed"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

func TestTranslate(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		opt := enginetest.CaseOptions(t, c, gateway.Options{Options: assemble.Options{Cluster: "rig"}, ListenerSets: true})
		var models, findings, plans, statuses strings.Builder
		for _, kind := range []model.Kind{model.ALBGateway, model.NLBGateway} {
			src := enginetest.LoadObjects(t, c.Text("cluster.yaml")) // a new copy, because the run for the other kind of load balancer has changed its copy
			f := gateway.New(kind, opt)
			ids := enginetest.StacksOfKind(t, f, src, cluster.KindGateway)
			ids = slices.DeleteFunc(ids, func(id model.StackID) bool { return id.Kind != kind })
			if len(ids) == 0 {
				continue
			}
			for _, id := range ids {
				stack, found := enginetest.Translate(t, f, src, id, nil)
				models.WriteString("--- # stack " + id.String() + " of kind " + string(kind) + "\n" + goldentest.Dump(stack))
				for _, x := range found {
					findings.WriteString(x.String() + " (blocks " + x.Blocks.String() + ")\n")
					if usual := enginetest.DefaultReach(x.Reason); x.Blocks > max(usual, finding.BlocksRule) {
						t.Errorf("%s blocks %s, and its page says %s", x.Reason, x.Blocks, usual)
					}
				}
			}
			p, status := enginetest.RunStacks(t, src, f, ids, plan.Options{Cluster: opt.Cluster, ImportCertificates: opt.ImportCertificates, StrictGroups: opt.StrictGroups})
			plans.WriteString(p)
			statuses.WriteString(status)
		}
		return []goldentest.File{
			{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "plan.txt", Text: plans.String()}, {Name: "status.yaml", Text: statuses.String()},
		}
	})
}
