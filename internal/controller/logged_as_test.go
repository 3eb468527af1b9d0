package controller

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestLogNamesTheControllerOfEachKind checks that log lines about Ingresses, Services, ALB Gateways and NLB Gateways
// have different controller names, although one queue reconciles all these load balancers.
func TestLogNamesTheControllerOfEachKind(t *testing.T) {
	var lines []string
	log := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	cl := kube.New(store, kube.MemoryAPI{Store: store}, clock.RealClock{})
	_, shadow, _ := NewShadow(engine.Config{Cluster: cl}, bindings.Config{Cluster: cl}, NewMetrics())
	for kind, want := range map[model.Kind]string{
		model.Ingress: "ingress", model.Service: "service", model.ALBGateway: "gateway.k8s.aws/alb", model.NLBGateway: "gateway.k8s.aws/nlb",
	} {
		id := model.StackID{Kind: kind, Namespace: "shop", Name: "web"}
		for _, l := range []queue.Controller[model.StackID]{StackController(engine.Config{}, cl, NewMetrics(), log), shadow} {
			lines = nil
			l.Logger(log, &id).Info("applied plan")
			got := strings.Join(lines, "\n")
			if !strings.HasPrefix(got, want+" ") || !strings.Contains(got, `"controller"="`+want+`"`) || strings.Count(got, `"controller"`) != 1 {
				t.Errorf("%s: %s", kind, got)
			}
		}
	}
}
