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
	web  = model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	team = model.StackID{Kind: model.Ingress, Name: "team"}
	mail = model.StackID{Kind: model.Service, Namespace: "shop", Name: "mail"}
)

const (
	ingress        = "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {namespace: shop, name: web, finalizers: [ingress.k8s.aws/resources, service.k8s.aws/resources]}\n"
	service        = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [service.k8s.aws/resources, ingress.k8s.aws/resources]}\n"
	deletedService = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, deletionTimestamp: 2026-01-01T00:00:00Z, finalizers: [service.k8s.aws/resources]}\n"
	sharingService = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [group.service.k8s.aws/bank.public]}\n"
	speeding       = "kind: GlobalAccelerator\napiVersion: aga.k8s.aws/v1beta1\nmetadata: {namespace: shop, name: fast, finalizers: [" + naming.AcceleratorFinalizer + "]}\n"
	ofOthers       = "kind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail, finalizers: [service.kubernetes.io/load-balancer-cleanup]}\n"
)

func view(t *testing.T, docs string) *cluster.View {
	t.Helper()
	m, err := cluster.FromYAML(nil, []byte(docs))
	if err != nil {
		t.Fatal(err)
	}
	return cluster.NewView(m).WithMemberships(cluster.NewMemberships())
}

func TestFinalizersClaimStacksOfTheirKind(t *testing.T) {
	v := view(t, ingress+"---\n"+service)
	for ref, want := range map[cluster.Ref][]model.StackID{
		{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}:  {web},
		{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}: {mail},
	} {
		obj, ok := cluster.Get[cluster.Object](v, ref.Kind, ref.Namespace, ref.Name)
		if !ok {
			t.Fatal(ref)
		}
		if d := cmp.Diff(want, ownership.Claims(v, obj)); d != "" {
			t.Errorf("%s: %s", ref, d)
		}
	}
}

func TestLiveObjectsOfEveryKindRetainSharedResources(t *testing.T) {
	for name, c := range map[string]struct {
		docs string
		id   model.StackID
		want bool
	}{
		"the last Ingress beside a shared one": {ingress + "---\n" + sharingService, web, true},
		"the last of a shared one":             {sharingService, naming.SharedStack("bank", "public"), false},
		"the last Ingress beside a Service":    {ingress + "---\n" + service, web, true},
		"the last Service beside an Ingress":   {ingress + "---\n" + service, mail, true},
		"alone":                                {service, mail, false},
		"beside one that goes as well":         {ingress + "---\n" + deletedService, web, false},
		"beside a Service of others":           {ingress + "---\n" + ofOthers, web, false},
		"beside a GlobalAccelerator":           {ingress + "---\n" + speeding, web, false},
	} {
		v := view(t, c.docs)
		if got := ownership.HasOtherLiveObject(v, c.id); got != c.want || v.Err() != nil {
			t.Errorf("%s: %v (%v), want %v", name, got, v.Err(), c.want)
		}
	}
}

// If a user replaces a Service by a manifest without the finalizer, the load balancer of the Service remains in AWS.
// The shared resources are retained until this load balancer is deleted.
func TestServiceWithoutFinalizerRetainsSharedResources(t *testing.T) {
	load := func(docs string) *cluster.Memory {
		m, err := cluster.FromYAML(nil, []byte(docs))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	stripped := load(ingress + "---\nkind: Service\napiVersion: v1\nmetadata: {namespace: shop, name: mail}\n")
	ref := cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}
	get := func(m *cluster.Memory) cluster.Object {
		obj, err := m.Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	before, after := get(load(service)), get(stripped)
	kept := cluster.NewMemberships()
	kept.NoteChange(nil, before)
	kept.NoteChange(before, after)
	v := cluster.NewView(stripped).WithMemberships(kept)
	if !ownership.HasOtherLiveObject(v, web) || v.Err() != nil {
		t.Errorf("nothing else needs what is shared (%v)", v.Err())
	}
}

func TestStacksHaveLiveMembersOfTheirKind(t *testing.T) {
	for name, c := range map[string]struct {
		docs      string
		id        model.StackID
		namespace string
		want      bool
	}{
		"an Ingress":                  {ingress, web, "shop", true},
		"a Service":                   {service, mail, "shop", true},
		"one that is being deleted":   {deletedService, mail, "shop", false},
		"one that was never claimed":  {ofOthers, mail, "shop", false},
		"a binding elsewhere":         {service, mail, "other", false},
		"a shared load balancer":      {sharingService, naming.SharedStack("bank", "public"), "shop", true},
		"a group of which it is not":  {ingress, team, "shop", false},
		"a kind that is not read yet": {service, model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "mail"}, "shop", false},
	} {
		v := view(t, c.docs)
		if got := ownership.HasLiveMember(v, c.id, c.namespace); got != c.want || v.Err() != nil {
			t.Errorf("%s: %v (%v), want %v", name, got, v.Err(), c.want)
		}
	}
}
