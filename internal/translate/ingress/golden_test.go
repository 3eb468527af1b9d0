package ingress_test

import (
	"embed"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

// stacksOf returns all stacks to which the Ingresses of a source belong.
func stacksOf(t *testing.T, f *ingress.Frontend, src cluster.Source) []model.StackID {
	t.Helper()
	return enginetest.StacksOfKind(t, f, src, cluster.KindIngress)
}

func TestTranslate(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		src := enginetest.LoadObjects(t, c.Text("cluster.yaml"))
		f := ingress.New(enginetest.CaseOptions(t, c, ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}))
		var models, findings strings.Builder
		for _, id := range stacksOf(t, f, src) {
			stack, found := enginetest.Translate(t, f, src, id, nil)
			models.WriteString("--- # stack " + id.String() + "\n" + goldentest.Dump(stack))
			for _, x := range found {
				findings.WriteString(x.String() + " (blocks " + x.Blocks.String() + ")\n")
				if usual := enginetest.DefaultReach(x.Reason); x.Blocks > usual {
					t.Errorf("%s blocks %s, and its page says %s", x.Reason, x.Blocks, usual)
				}
			}
		}
		opt := enginetest.CaseOptions(t, c, ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		plans, status := enginetest.RunStacks(t, src, f, stacksOf(t, f, src), plan.Options{Cluster: opt.Cluster, StrictGroups: opt.StrictGroups, ManageCertificates: opt.ManageCertificates, ImportCertificates: opt.ImportCertificates})
		return []goldentest.File{
			{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()},
			{Name: "plan.txt", Text: plans}, {Name: "status.yaml", Text: status},
		}
	})
}
