package accelerator_test

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

const (
	region  = "eu-west-1"
	account = "123456789012"
)

// fakeFrontend is a frontend in which each object has its own stack. Exceptions are an Ingress with group.name, which
// has the stack of its IngressGroup, and a Service with a load balancer class, which has no stack.
type fakeFrontend struct{ engine.Frontend }

// Stacks implements engine.Frontend.
func (fakeFrontend) Stacks(_ *cluster.View, obj cluster.Object) []model.StackID {
	id := model.StackID{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		if id.Kind = model.Ingress; o.Annotations["alb.ingress.kubernetes.io/group.name"] != "" {
			return []model.StackID{{Kind: model.Ingress, Name: o.Annotations["alb.ingress.kubernetes.io/group.name"]}}
		}
	case *corev1.Service:
		if id.Kind = model.Service; o.Spec.LoadBalancerClass != nil {
			return nil
		}
	case *gwv1.Gateway:
		id.Kind = model.ALBGateway
	}
	return []model.StackID{id}
}

// fakeAWS answers questions. Its content is in file aws.json of a golden test.
type fakeAWS struct {
	LoadBalancers []observed.EndpointLoadBalancer
	Accelerators  []observed.Accelerator
	// Shared is the accelerator of another owner.
	Shared   *observed.Accelerator
	Recorded observed.RecordedAccelerator
}

func (a fakeAWS) answer(questions []model.Question) observed.Stack {
	out := observed.Stack{Accelerators: a.Accelerators, Facts: observed.Facts{Region: region, Account: account, RecordedAccelerator: a.Recorded, Endpoints: map[string][]observed.EndpointLoadBalancer{}}}
	for _, q := range questions {
		if q, ok := q.(model.AskSharedAccelerator); ok && a.Shared != nil && a.Shared.ARN == q.ARN {
			out.SharedAccelerator = a.Shared
		}
		q, ok := q.(model.AskLoadBalancers)
		if !ok {
			continue
		}
		for _, lb := range a.LoadBalancers {
			if q.ARN == lb.ARN || slices.Contains(lb.Addresses, q.ARN) || q.DNSName != "" && strings.EqualFold(q.DNSName, lb.DNSName) || q.ARN == "" && q.DNSName == "" && lb.Cluster && lb.Stack == q.Of {
				out.Facts.Endpoints[q.Key()] = append(out.Facts.Endpoints[q.Key()], lb)
			}
		}
	}
	return out
}

func TestTranslate(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		src := enginetest.LoadObjects(t, c.Text("cluster.yaml"))
		opt := enginetest.CaseOptions(t, c, accelerator.Options{Cluster: "rig"})
		opt.Frontends = engine.Frontends{model.Ingress: fakeFrontend{}}
		var of fakeAWS
		if raw := c.Text("aws.json"); raw != "" {
			d := json.NewDecoder(strings.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&of); err != nil {
				t.Fatal(err)
			}
		}
		f := accelerator.New(opt)
		var models, findings, plans strings.Builder
		for _, id := range enginetest.StacksOfKind(t, f, src, cluster.KindGlobalAccelerator) {
			stack, found := enginetest.Translate(t, f, src, id, nil)
			have := of.answer(stack.Questions())
			for range 4 { // enough to answer all questions of the golden tests
				stack, found = enginetest.Translate(t, f, src, id, &have)
				have = of.answer(stack.Questions())
			}
			p, more := planner.Make(stack, have, plan.Options{Cluster: "rig"}, plan.Memory{})
			found = slices.Concat(found, more).Sorted()
			asked := stack.Compare
			stack.Compare, stack.Members = nil, nil
			if stack.Accelerator != nil {
				stack.Accelerator.Origins = nil
			}
			models.WriteString("--- # stack " + id.String() + "\n" + goldentest.Dump(stack))
			for _, q := range asked {
				models.WriteString("# asks " + q.Key() + "\n")
			}
			for _, x := range found {
				findings.WriteString(x.String() + "\n")
				if x.Blocks > finding.BlocksNothing && x.Blocks > enginetest.DefaultReach(x.Reason) {
					t.Errorf("%s blocks %s", x.Reason, x.Blocks)
				}
			}
			plans.WriteString("--- # stack " + id.String() + "\n" + p.Text())
		}
		return []goldentest.File{{Name: "model.yaml", Text: models.String()}, {Name: "findings.txt", Text: findings.String()}, {Name: "plan.txt", Text: plans.String()}}
	})
}
