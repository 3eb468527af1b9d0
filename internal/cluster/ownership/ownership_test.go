package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

var (
	webStackID  = model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	teamStackID = model.StackID{Kind: model.Ingress, Name: "team"}
	mailStackID = model.StackID{Kind: model.Service, Namespace: "shop", Name: "mail"}
)

const (
	ingressDoc                = "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {namespace: shop, name: web, finalizers: [ingress.k8s.aws/resources, service.k8s.aws/resources]}\n"
	serviceDoc                = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [service.k8s.aws/resources, ingress.k8s.aws/resources]}\n"
	deletedServiceDoc         = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, deletionTimestamp: 2026-01-01T00:00:00Z, finalizers: [service.k8s.aws/resources]}\n"
	sharingServiceDoc         = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [group.service.k8s.aws/bank.public]}\n"
	acceleratorDoc            = "kind: GlobalAccelerator\napiVersion: aga.k8s.aws/v1beta1\nmetadata: {namespace: shop, name: fast, finalizers: [" + naming.AcceleratorFinalizer + "]}\n"
	otherControllerServiceDoc = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [service.kubernetes.io/load-balancer-cleanup]}\n"
)

func newView(t *testing.T, docs string) *cluster.View {
	t.Helper()
	m, err := cluster.MemoryFromYAML(nil, []byte(docs))
	if err != nil {
		t.Fatal(err)
	}
	return cluster.NewView(m).WithMemberships(cluster.NewMemberships())
}

func TestFinalizersClaimStacksOfTheirKind(t *testing.T) {
	v := newView(t, ingressDoc+"---\n"+serviceDoc)
	for ref, want := range map[cluster.Ref][]model.StackID{
		{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}:  {webStackID},
		{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}: {mailStackID},
	} {
		obj, ok := cluster.Get[cluster.Object](v, ref.Kind, ref.Namespace, ref.Name)
		if !ok {
			t.Fatal(ref)
		}
		if d := cmp.Diff(want, ownership.ClaimedStacks(v, obj)); d != "" {
			t.Errorf("%s: %s", ref, d)
		}
	}
}

func TestObjectsOfOtherStacksRetainSharedResources(t *testing.T) {
	for name, c := range map[string]struct {
		docs string
		id   model.StackID
		want bool
	}{
		"the last Ingress beside a shared one": {ingressDoc + "---\n" + sharingServiceDoc, webStackID, true},
		"the last of a shared one":             {sharingServiceDoc, naming.SharedStack("bank", "public"), false},
		"the last Ingress beside a Service":    {ingressDoc + "---\n" + serviceDoc, webStackID, true},
		"the last Service beside an Ingress":   {ingressDoc + "---\n" + serviceDoc, mailStackID, true},
		"alone":                                {serviceDoc, mailStackID, false},
		"beside one that goes as well":         {ingressDoc + "---\n" + deletedServiceDoc, webStackID, false},
		"beside a Service of others":           {ingressDoc + "---\n" + otherControllerServiceDoc, webStackID, false},
		"beside a GlobalAccelerator":           {ingressDoc + "---\n" + acceleratorDoc, webStackID, false},
	} {
		v := newView(t, c.docs)
		if got := ownership.HasObjectOfOtherStack(v, c.id); got != c.want || v.Err() != nil {
			t.Errorf("%s: %v (%v), want %v", name, got, v.Err(), c.want)
		}
	}
}

// TestServiceWithoutFinalizerRetainsSharedResources checks that if a user replaces a Service by a manifest without the
// finalizer, the load balancer of the Service remains in AWS. The shared resources are retained until this load balancer is
// deleted.
func TestServiceWithoutFinalizerRetainsSharedResources(t *testing.T) {
	load := func(docs string) *cluster.Memory {
		m, err := cluster.MemoryFromYAML(nil, []byte(docs))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	stripped := load(ingressDoc + "---\nkind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail}\n")
	ref := cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}
	get := func(m *cluster.Memory) cluster.Object {
		obj, err := m.Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	before, after := get(load(serviceDoc)), get(stripped)
	kept := cluster.NewMemberships()
	kept.RecordChange(nil, before)
	kept.RecordChange(before, after)
	v := cluster.NewView(stripped).WithMemberships(kept)
	if !ownership.HasObjectOfOtherStack(v, webStackID) || v.Err() != nil {
		t.Errorf("nothing else needs what is shared (%v)", v.Err())
	}
}

func TestHasMemberInNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		docs      string
		id        model.StackID
		namespace string
		want      bool
	}{
		"an Ingress":                  {ingressDoc, webStackID, "shop", true},
		"a Service":                   {serviceDoc, mailStackID, "shop", true},
		"one that is being deleted":   {deletedServiceDoc, mailStackID, "shop", false},
		"one that was never claimed":  {otherControllerServiceDoc, mailStackID, "shop", false},
		"a binding elsewhere":         {serviceDoc, mailStackID, "other", false},
		"a shared load balancer":      {sharingServiceDoc, naming.SharedStack("bank", "public"), "shop", true},
		"a group of which it is not":  {ingressDoc, teamStackID, "shop", false},
		"a kind that is not read yet": {serviceDoc, model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "mail"}, "shop", false},
	} {
		v := newView(t, c.docs)
		if got := ownership.HasMemberInNamespace(v, c.id, c.namespace); got != c.want || v.Err() != nil {
			t.Errorf("%s: %v (%v), want %v", name, got, v.Err(), c.want)
		}
	}
}

// TestTenantOfAnIngressGroupIsItsNamespaces checks that an IngressGroup whose members are all in one namespace counts for this
// namespace, and one with members of several namespaces for none of them.
func TestTenantOfAnIngressGroupIsItsNamespaces(t *testing.T) {
	member := func(namespace, name, group string) string {
		return "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {namespace: " + namespace + ", name: " + name + ", annotations: {alb.ingress.kubernetes.io/group.name: " + group + "}}\n---\n"
	}
	leaving := "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {namespace: bank, name: old, finalizers: [group.ingress.k8s.aws/left]}\n"
	v := newView(t, member("shop", "a", "own")+member("shop", "b", "own")+member("shop", "c", "shared")+member("bank", "d", "shared")+member("shop", "e", "left")+leaving)
	for want, id := range map[string]model.StackID{
		"shop":       {Kind: model.Ingress, Name: "own"},
		"bank,shop":  {Kind: model.Ingress, Name: "shared"},
		"group none": {Kind: model.Ingress, Name: "none"},
		"mail":       {Kind: model.Service, Namespace: "mail", Name: "web"},
	} {
		if got := ownership.Tenant(v, id); got != want {
			t.Errorf("%s: tenant %q, want %q", id, got, want)
		}
	}
	if got := ownership.Tenant(v, model.StackID{Kind: model.Ingress, Name: "left"}); got != "bank,shop" {
		t.Errorf("with a member that leaves: tenant %q", got)
	}
}
