package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

const finalizerOfGroupA = "group.ingress.k8s.aws/a"

var webRef = cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}

func ingressWithFinalizers(finalizers ...string) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: finalizers}}
}

func deletingIngress(finalizers ...string) *networkingv1.Ingress {
	ing := ingressWithFinalizers(finalizers...)
	ing.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return ing
}

func TestObjectsThatLeftAStack(t *testing.T) {
	cases := map[string]struct {
		do   func(m *cluster.Memberships)
		left bool
	}{
		"nothing happened": {func(m *cluster.Memberships) { m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA)) }, false},
		"replaced without finalizers": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
		}, true},
		"claimed again": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.EndClaim(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers(finalizerOfGroupA))
		}, false},
		"claimed, and replaced before the event came": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers())
			m.EndClaim(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers())
		}, true},
		"claimed, and taken off before the answer came": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.EndClaim(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(), nil)
		}, true},
		"claimed again, and taken off before the answer came": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.EndClaim(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(), nil)
		}, true},
		"claimed, and another event before the answer": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers())
			m.EndClaim(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(), ingressWithFinalizers(finalizerOfGroupA))
		}, false},
		"a claim that failed": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.EndClaim(webRef, finalizerOfGroupA, false)
			m.RecordChange(ingressWithFinalizers(), nil)
		}, false},
		"a claim that failed, of one that had left": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.EndClaim(webRef, finalizerOfGroupA, false)
			m.RecordChange(ingressWithFinalizers(), nil)
		}, true},
		"one that had left goes during a claim": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.BeginClaim(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(), nil)
			m.EndClaim(webRef, finalizerOfGroupA, false)
		}, true},
		"released by this process": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.BeginRelease(webRef, finalizerOfGroupA)
			m.EndRelease(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
		}, false},
		"released, and the event came first": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.BeginRelease(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.EndRelease(webRef, finalizerOfGroupA, true)
		}, false},
		"a release that failed, and then an edit": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.BeginRelease(webRef, finalizerOfGroupA)
			m.EndRelease(webRef, finalizerOfGroupA, false)
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
		}, true},
		"another event during a release": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.BeginRelease(webRef, finalizerOfGroupA)
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers(finalizerOfGroupA))
			m.EndRelease(webRef, finalizerOfGroupA, true)
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
		}, false},
		"gone after the finalizer": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.RecordChange(ingressWithFinalizers(), nil)
		}, true},
		"the finalizer was taken off during deletion": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), deletingIngress(finalizerOfGroupA))
			m.RecordChange(deletingIngress(finalizerOfGroupA), nil)
		}, true},
		"gone without a trace": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), nil)
		}, false},
		"nothing is left of the stack": {func(m *cluster.Memberships) {
			m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
			m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
			m.BeginRelease(webRef, finalizerOfGroupA)
			m.EndRelease(webRef, finalizerOfGroupA, true)
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := cluster.NewMemberships()
			c.do(m)
			if got := len(m.ObjectsThatLeft(finalizerOfGroupA)) > 0; got != c.left {
				t.Errorf("left: %v, want %v", got, c.left)
			}
			if got := len(m.FinalizersLeftBy(webRef)) > 0; got != c.left {
				t.Errorf("left by the Ingress: %v, want %v", got, c.left)
			}
		})
	}
}

func TestMembershipsAreReadFromText(t *testing.T) {
	const stored = "shop/web " + finalizerOfGroupA + "\nshop/other ingress.k8s.aws/resources\nshop/gone ingress.k8s.aws/resources left\n" +
		"far/gone ingress.k8s.aws/resources left\nshop/web a finalizer kept\nLater:shop/web " + finalizerOfGroupA + "\n"
	m := cluster.NewMemberships()
	watched := func(ref cluster.Ref) bool { return ref.Namespace == "shop" }
	gone, leftOut := m.Restore(stored, watched, []cluster.Object{ingressWithFinalizers()})
	if leftOut != 2 {
		t.Errorf("%d lines were not read, want the last two", leftOut)
	}
	if diff := cmp.Diff([]cluster.Ref{{Kind: cluster.KindIngress, Namespace: "shop", Name: "gone"}}, gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.Ref{webRef}, m.ObjectsThatLeft(finalizerOfGroupA)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	text, news := m.Text()
	want := "shop/gone ingress.k8s.aws/resources left\nshop/web " + finalizerOfGroupA + " left\n"
	if text != want || !news || !m.HasUrgentChange() {
		t.Errorf("got %q, news %v, urgent %v, want %q", text, news, m.HasUrgentChange(), want)
	}
	m.RecordStored(text)
	if _, news := m.Text(); news || m.HasUrgentChange() {
		t.Error("what was stored is to be stored again")
	}
}

func TestMembershipsFitIntoOneObject(t *testing.T) {
	m := cluster.NewMemberships()
	ing := ingressWithFinalizers(finalizerOfGroupA)
	ing.Name = strings.Repeat("a", 250) // before "web" in the order of names
	for i := range 5000 {
		ing := ing.DeepCopy()
		ing.Name += string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/26/26))
		m.RecordChange(nil, ing)
	}
	m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
	m.RecordChange(ingressWithFinalizers(finalizerOfGroupA), ingressWithFinalizers())
	text, _ := m.Text()
	if len(text) > 1<<20 || !strings.HasPrefix(text, "shop/web ") {
		t.Errorf("%d bytes, beginning %.40q", len(text), text)
	}
}

func TestMembershipsOfOtherKindsSurviveARestart(t *testing.T) {
	mail := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mail", Finalizers: []string{"service.k8s.aws/resources"}}}
	gone := mail.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	m := cluster.NewMemberships()
	m.RecordChange(nil, ingressWithFinalizers(finalizerOfGroupA))
	m.RecordChange(nil, mail)
	m.RecordChange(mail, gone)
	m.RecordChange(gone, nil) // another user removed the finalizer

	text, _ := m.Text()
	next := cluster.NewMemberships()
	ref := cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}
	left, _ := next.Restore(text, func(cluster.Ref) bool { return true }, []cluster.Object{ingressWithFinalizers(finalizerOfGroupA)})
	if d := cmp.Diff([]cluster.Ref{ref}, left); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]cluster.Ref{ref}, next.ObjectsThatLeft("service.k8s.aws/resources")); d != "" {
		t.Error(d)
	}
	if !strings.Contains(text, "\nshop/web "+finalizerOfGroupA) && !strings.HasPrefix(text, "shop/web "+finalizerOfGroupA) {
		t.Errorf("Ingresses are not stored as processes before this one read them:\n%s", text)
	}
}
