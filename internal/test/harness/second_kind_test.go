package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// testServiceClass is the load balancer class of the Services that serviceALBFrontend translates.
const testServiceClass = "test/alb"

// serviceALBFrontend is an engine.Frontend for tests with several kinds of stacks. It translates each Service of
// testServiceClass to an ALB that serves the first port of the Service on port 80. It implements only translation and status.
type serviceALBFrontend struct{}

// requestsLoadBalancer reports whether a Service has class testServiceClass and is not being deleted.
func requestsLoadBalancer(svc *corev1.Service) bool {
	return svc.DeletionTimestamp == nil && svc.Spec.LoadBalancerClass != nil && *svc.Spec.LoadBalancerClass == testServiceClass
}

func (serviceALBFrontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	out := ownership.ClaimedStacks(v, svc)
	if id := (model.StackID{Kind: model.Service, Namespace: svc.Namespace, Name: svc.Name}); requestsLoadBalancer(svc) && !slices.Contains(out, id) {
		out = append(out, id)
	}
	return out
}

func (serviceALBFrontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	b := assemble.Builder{
		Translation: members.Translation{ID: id, Live: live},
		Options:     assemble.Options{Cluster: ClusterName, DefaultScheme: model.Internal},
	}
	b.Stack = model.Stack{ID: id, Leaving: ownership.DeletedMembers(v, id), BackendSecurityGroup: model.BackendSecurityGroupUse{MayBeNeededByOthers: true}}
	svc, there := cluster.Get[*corev1.Service](v, cluster.KindService, id.Namespace, id.Name)
	if !there || !requestsLoadBalancer(svc) {
		b.Stack.BackendSecurityGroup.MayBeNeededByOthers = ownership.HasObjectOfOtherStack(v, id)
		if there && ownership.ClaimOn(v, svc, id).HasOrHadFinalizer {
			b.Stack.Leaving = append(b.Stack.Leaving, ownership.NewMember(v, svc, id))
		}
		return b.Stack, b.Found
	}
	ref := cluster.RefOf(svc)
	set := settings.ParseIngress(svc.Annotations, ref)
	m := &members.Member{
		Ref: ref, Set: set.Shared, OwnTags: set.Tags, Faults: set.MemberFaults(), Blocked: len(set.MemberFaults()) > 0,
		Ports: []settings.ListenPort{{Port: 80}},
	}
	b.Members, b.OwnerUID = []*members.Member{m}, string(svc.UID)
	b.SetMemberTags(m)
	b.MergePorts()
	lb := b.BuildLoadBalancer()
	b.ReportMemberFaults()
	b.Stack.LoadBalancer = lb
	at := finding.Origin{Object: ref, Field: "spec.ports[0]"}
	port := intstr.FromInt32(svc.Spec.Ports[0].Port)
	g, found := assemble.NewTargetGroup(assemble.TargetGroupRequest{
		Kind: id.Kind, Service: svc, Port: port, DefaultType: model.IPTargets, LoadBalancerAddressType: lb.AddressType, Origin: at,
	})
	b.Found.Add(found...)
	g.ID = naming.ServiceTargetGroupID(svc.Namespace, svc.Name, port.IntVal)
	g.Name = naming.ServiceTargetGroup{
		Cluster: ClusterName, BaseUID: string(svc.UID), Backend: ref, BackendUID: string(svc.UID), Port: g.Port,
		ServicePort: port.IntVal, Type: g.Type, Protocol: g.Protocol,
	}.Name()
	g.Tags, g.Members = b.WithDefaultTags(m.Tags), []finding.Ref{ref}
	g.Binding = assemble.NewBinding(assemble.BindingRequest{TargetGroup: g, Namespace: svc.Namespace, Service: svc.Name, Port: port, Peer: b.Peer})
	b.Stack.TargetGroups = []model.TargetGroup{g.TargetGroup}
	for _, p := range b.Ports {
		l := model.Listener{Port: p.Number, Tags: b.ListenerTags(p), Members: []finding.Ref{ref}, DefaultOf: at}
		l.Attributes, l.AttributesOf = b.ListenerAttributes(p)
		l.Default = []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: g.ID}}}}}
		lb.Listeners = append(lb.Listeners, l)
	}
	of := ownership.NewMember(v, svc, id)
	of.Blocked = m.Blocked
	b.Stack.Members = []model.Member{of}
	b.Stack.Held.AllResources = m.Blocked || b.Found.LargestReach() == finding.BlocksStack
	return b.Stack, b.Found.Sorted()
}

func (serviceALBFrontend) WithdrawnResources(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}

func (serviceALBFrontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	return report.Patches(v, o, serviceALBFrontend{})
}

// Status implements report.StatusReporter.
func (serviceALBFrontend) Status(_ *cluster.View, _ model.Member, n report.StatusLoadBalancer) any {
	return corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: n.LoadBalancer}}}}
}

// ShowsLoadBalancer implements report.StatusReporter.
func (serviceALBFrontend) ShowsLoadBalancer(v *cluster.View, m model.Member) bool {
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, m.Ref.Namespace, m.Ref.Name)
	return ok && len(svc.Status.LoadBalancer.Ingress) > 0
}

// mailService returns YAML of Service "shop/mail" of class testServiceClass. annotations is a YAML list without brackets.
func mailService(annotations string) string {
	return `
apiVersion: v1
kind: Service
metadata: {name: mail, namespace: shop, uid: 11111111-0000-4000-8000-000000000009, annotations: {` + annotations + `}}
spec: {type: LoadBalancer, loadBalancerClass: ` + testServiceClass + `, selector: {app: mail}, ports: [{port: 80, targetPort: 8080, nodePort: 30089}]}
`
}

// taggedLines returns the lines of State that have the stack tag of a kind of stacks.
func taggedLines(r *Harness, kind model.Kind) (out []string) {
	for _, line := range r.State() {
		if strings.Contains(line, kind.TagPrefix()+"/stack") {
			out = append(out, line)
		}
	}
	return out
}

func countBackendSecurityGroups(r *Harness) (n int) {
	for _, line := range r.State() {
		if strings.HasPrefix(line, "security-group ") && strings.Contains(line, model.BackendSecurityGroupID) {
			n++
		}
	}
	return n
}

// TestTwoKindsRunInOneController checks that two kinds of stacks work in one process. An edit or the deletion of a
// stack does not affect the stack of the other kind. Both share the backend security group, which is deleted with the
// last stack.
func TestTwoKindsRunInOneController(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lastGone cluster.Kind
		opt      Options
	}{
		"the Service goes last":          {cluster.KindService, Options{}},
		"the Ingress goes last":          {cluster.KindIngress, Options{}},
		"in the controller's own queues": {cluster.KindService, Options{Workers: 3, Checkpoints: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ran := map[string]int{}
				c.opt.Frontends = map[model.Kind]engine.Frontend{model.Service: serviceALBFrontend{}}
				c.opt.AfterRun = func(what string, _ error) { ran[what]++ }
				r := shopWith(t, c.opt)
				before := r.State()
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("mail", podAddresses[3:]...), webIngress("", "/=web"), mailService(""))
				r.advanceTime(8 * time.Minute)
				for kind, wantFinalizer := range map[cluster.Kind]string{cluster.KindIngress: naming.ImplicitFinalizer, cluster.KindService: naming.ServiceFinalizer} {
					name := map[cluster.Kind]string{cluster.KindIngress: "web", cluster.KindService: "mail"}[kind]
					obj, err := r.Store.Get(cluster.Ref{Kind: kind, Namespace: "shop", Name: name})
					if err != nil || obj == nil {
						t.Fatal(name, err)
					}
					if d := cmp.Diff([]string{wantFinalizer}, obj.GetFinalizers()); d != "" {
						t.Errorf("%s: %s", name, d)
					}
					if host := statusHostname(obj); host == "" {
						t.Errorf("%s shows no load balancer", name)
					}
				}
				if n := countBackendSecurityGroups(r); n != 1 {
					t.Errorf("there are %d backend security groups, want one:\n%s", n, strings.Join(r.State(), "\n"))
				}

				ingresses, services := taggedLines(r, model.Ingress), taggedLines(r, model.Service)
				clear(ran)
				r.Apply(mailService(`alb.ingress.kubernetes.io/tags: "of=mail"`))
				r.advanceTime(time.Minute)
				if c.opt.Workers == 0 && ran["Service shop/mail"] == 0 || ran["Ingress shop/web"] > 0 {
					t.Errorf("an edit of the Service runs %v", ran)
				}
				if d := cmp.Diff(ingresses, taggedLines(r, model.Ingress)); d != "" {
					t.Errorf("an edit of the Service changes the resources of the Ingress: %s", d)
				}
				if slices.Equal(services, taggedLines(r, model.Service)) {
					t.Error("an edit of the Service changes nothing")
				}
				// A deleted binding whose targets are in use is created again, and its targets stay registered.
				for _, b := range r.Store.All(cluster.KindBinding) {
					r.deleteObject(cluster.KindBinding, b.GetNamespace(), b.GetName())
				}
				if c.opt.Workers == 0 {
					r.Settle(0)
				}
				served := func(kind model.Kind, want int) {
					t.Helper()
					n := 0
					for _, line := range taggedLines(r, kind) {
						if strings.HasPrefix(line, "target-group ") {
							n += strings.Count(line, ":8080")
						}
					}
					if n != want {
						t.Errorf("%d targets of the %s are registered, want %d", n, kind, want)
					}
				}
				served(model.Ingress, 3)
				served(model.Service, 3)
				r.advanceTime(8 * time.Minute)

				first, rest := model.Ingress, model.Service
				if c.lastGone == cluster.KindIngress {
					first, rest = rest, first
				}
				remove := func(kind model.Kind) {
					r.deleteObject(ownership.RootKind(kind), "shop", map[model.Kind]string{model.Ingress: "web", model.Service: "mail"}[kind])
					r.advanceTime(20 * time.Minute)
				}
				remains := taggedLines(r, rest)
				remove(first)
				if d := cmp.Diff([]string(nil), taggedLines(r, first)); d != "" {
					t.Errorf("the %s leaves behind: %s", first, d)
				}
				if d := cmp.Diff(remains, taggedLines(r, rest)); d != "" {
					t.Errorf("the deletion of the %s changes the resources of the %s: %s", first, rest, d)
				}
				if n := countBackendSecurityGroups(r); n != 1 {
					t.Errorf("there are %d backend security groups beside the last stack, want one", n)
				}
				served(rest, 3)
				remove(rest)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
			})
		})
	}
}

// statusHostname returns the first hostname in the status of a Service or an Ingress, or "".
func statusHostname(obj cluster.Object) string {
	switch o := obj.(type) {
	case *corev1.Service:
		for _, lb := range o.Status.LoadBalancer.Ingress {
			return lb.Hostname
		}
	case *networkingv1.Ingress:
		for _, lb := range o.Status.LoadBalancer.Ingress {
			return lb.Hostname
		}
	}
	return ""
}
