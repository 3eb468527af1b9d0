package service_test

import (
	"embed"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

func TestTranslate(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		src := enginetest.LoadObjects(t, c.Text("cluster.yaml"))
		opt := enginetest.CaseOptions(t, c, service.Options{Options: assemble.Options{Cluster: "rig"}})
		f := service.New(opt)
		ids := enginetest.StacksOfKind(t, f, src, cluster.KindService)
		var models, findings strings.Builder
		for _, id := range ids {
			stack, found := enginetest.Translate(t, f, src, id, nil)
			models.WriteString("--- # stack " + id.String() + "\n" + goldentest.Dump(stack))
			for _, x := range found {
				findings.WriteString(x.String() + " (blocks " + x.Blocks.String() + ")\n")
				// An NLB has no rules, so a finding that usually blocks a rule blocks the whole listener.
				if usual := enginetest.DefaultReach(x.Reason); x.Blocks > max(usual, finding.BlocksListener) || usual == finding.BlocksNothing && x.Blocks > usual {
					t.Errorf("%s blocks %s, and its page says %s", x.Reason, x.Blocks, usual)
				}
			}
		}
		plans, status := enginetest.RunStacks(t, src, f, ids, plan.Options{Cluster: opt.Cluster, StrictGroups: opt.StrictGroups})
		return []goldentest.File{
			{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "plan.txt", Text: plans}, {Name: "status.yaml", Text: status},
		}
	})
}
