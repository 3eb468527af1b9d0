package gateway

import (
	"maps"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// sourceWithoutKinds is a cluster.Source that does not serve some kinds, as if their CRDs had been removed.
type sourceWithoutKinds struct {
	*cluster.Memory
	kinds []cluster.Kind
}

func (w sourceWithoutKinds) Installed(kind cluster.Kind) bool { return !slices.Contains(w.kinds, kind) }

func (w sourceWithoutKinds) List(q cluster.Query) ([]cluster.Object, error) {
	if slices.Contains(w.kinds, q.Kind) {
		return nil, nil
	}
	return w.Memory.List(q)
}

const rightsObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: u, finalizers: [gateway.k8s.aws/alb]}
spec:
  gatewayClassName: alb
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
status: {attachedListenerSets: 1}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  rules: [{backendRefs: [{name: web, namespace: bank, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: bank}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
`

// liveStackWithHost returns the observed state of a load balancer whose listener on port 80 has a rule for a host. The rule
// forwards to the target group with resource id id.
func liveStackWithHost(host, id string, bindings ...observed.Binding) observed.Stack {
	return observed.Stack{
		LoadBalancers: []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Type: "application", Listeners: []observed.Listener{{
			ARN: "listener", Port: 80, Rules: []observed.Rule{{
				ARN: "rule", Conditions: []model.Condition{model.HostHeader{Values: []string{host}}},
				Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "tg"}}}}},
			}},
		}}}},
		TargetGroups: []observed.TargetGroup{{ARN: "tg", ResourceID: id}},
		Bindings:     bindings,
	}
}

// TestAMissingKindWithdrawsNothing checks that permissions that depend on a kind are not withdrawn if the API server no
// longer serves the kind, while other permissions are withdrawn.
func TestAMissingKindWithdrawsNothing(t *testing.T) {
	ref := func(kind, namespace, name string) finding.Ref {
		return finding.Ref{Kind: kind, Namespace: namespace, Name: name}
	}
	id := naming.GatewayTargetGroupID(ref("Gateway", "shop", "edge"), ref("HTTPRoute", "team", "r"), ref("Service", "bank", "web"), "8080")
	for name, c := range map[string]struct {
		missing    []cluster.Kind
		everything bool // whether the whole stack is held
		groups     []string
	}{
		"all kinds are read":      {groups: []string{"tg"}},
		"without ReferenceGrants": {missing: []cluster.Kind{cluster.KindReferenceGrant}},
		"without ListenerSets":    {missing: []cluster.Kind{cluster.KindListenerSet}, everything: true, groups: []string{"tg"}},
		"without HTTPRoutes":      {missing: []cluster.Kind{cluster.KindHTTPRoute}, everything: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := cluster.MemoryFromYAML(nil, []byte(rightsObjects))
			if err != nil {
				t.Fatal(err)
			}
			stack := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
			f := New(model.ALBGateway, Options{ListenerSets: true})
			v := cluster.NewView(sourceWithoutKinds{m, c.missing})
			want, found := f.Translate(v, stack, nil)
			if want.Held.AllResources != c.everything {
				t.Errorf("everything is held: %v, want %v: %v", want.Held.AllResources, c.everything, found)
			}
			if slices.Equal(c.missing, []cluster.Kind{cluster.KindReferenceGrant}) {
				if rules := want.LoadBalancer.Listeners[0].Rules; len(rules) != 1 || rules[0].Held != model.HeldInvalid {
					t.Errorf("the rule is not held: %+v", rules)
				}
			}
			out, _ := f.WithdrawnResources(v, stack, liveStackWithHost("a.example.com", id))
			if got := slices.Sorted(maps.Keys(out.TargetGroups)); !slices.Equal(got, c.groups) || len(out.Rules) > 0 {
				t.Errorf("withdrawn: %+v", out)
			}
		})
	}
}

// TestOwnerOfATargetGroupDoesNotDependOnHyphens checks that the route and the backend of a target group are determined
// correctly, although the id of the target group joins names with hyphens. A permission is also withdrawn if the name of one
// namespace is the beginning of another name, and if a name is very long.
func TestOwnerOfATargetGroupDoesNotDependOnHyphens(t *testing.T) {
	ref := func(kind, namespace, name string) finding.Ref {
		return finding.Ref{Kind: kind, Namespace: namespace, Name: name}
	}
	long := func() string {
		out := make([]byte, 240)
		for i := range out {
			out[i] = 'x'
		}
		return string(out)
	}()
	for name, c := range map[string]struct {
		route, backend finding.Ref
		bound          string // namespace of the TargetGroupBinding; "" if there is none
		withdrawn      bool
	}{
		"a backend of its own":                         {ref("HTTPRoute", "team", "r"), ref("Service", "team", "web"), "team", false},
		"of another namespace":                         {ref("HTTPRoute", "team", "r"), ref("Service", "bank", "web"), "bank", true},
		"whose name begins as its own, with a binding": {ref("HTTPRoute", "team", "r"), ref("Service", "team-b", "web"), "team-b", true},
		"its own with a hyphen, with a binding":        {ref("HTTPRoute", "team", "r"), ref("Service", "team", "b-web"), "team", false},
		"its own with a hyphen":                        {ref("HTTPRoute", "team", "r"), ref("Service", "team", "b-web"), "", false},
		"its own, with a binding of another tenant":    {ref("HTTPRoute", "team", "r"), ref("Service", "team", "web"), "evil", false},
		"a long name and another namespace":            {ref("HTTPRoute", "team", long), ref("Service", "bank", "web"), "bank", true},
		"a long name and its own":                      {ref("HTTPRoute", "team", long), ref("Service", "team", "web"), "team", false},
	} {
		t.Run(name, func(t *testing.T) {
			docs := rightsObjects + `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ` + c.route.Name + `, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
---
`
			m, err := cluster.MemoryFromYAML(nil, []byte(docs))
			if err != nil {
				t.Fatal(err)
			}
			id := naming.GatewayTargetGroupID(ref("Gateway", "shop", "edge"), c.route, c.backend, "8080")
			var bindings []observed.Binding
			if c.bound != "" {
				bindings = []observed.Binding{{Namespace: c.bound, Name: "b", ARN: "tg", Service: model.Binding{Service: c.backend.Name}}}
			}
			f := New(model.ALBGateway, Options{ListenerSets: true})
			out, _ := f.WithdrawnResources(cluster.NewView(m), model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}, liveStackWithHost("a.example.com", id, bindings...))
			if _, got := out.TargetGroups["tg"]; got != c.withdrawn {
				t.Errorf("withdrawn: %v, want %v: %+v", got, c.withdrawn, out)
			}
		})
	}
}
