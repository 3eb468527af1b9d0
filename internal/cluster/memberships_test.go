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

const groupA = "group.ingress.k8s.aws/a"

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
		"nothing happened": {func(m *cluster.Memberships) { m.NoteChange(nil, ingressWithFinalizers(groupA)) }, false},
		"replaced without finalizers": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
		}, true},
		"claimed again": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.EndClaim(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers(groupA))
		}, false},
		"claimed, and replaced before the event came": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers())
			m.EndClaim(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers())
		}, true},
		"claimed, and taken off before the answer came": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.EndClaim(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(), nil)
		}, true},
		"claimed again, and taken off before the answer came": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.EndClaim(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(), nil)
		}, true},
		"claimed, and another event before the answer": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers())
			m.EndClaim(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(), ingressWithFinalizers(groupA))
		}, false},
		"a claim that failed": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.EndClaim(webRef, groupA, false)
			m.NoteChange(ingressWithFinalizers(), nil)
		}, false},
		"a claim that failed, of one that had left": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.EndClaim(webRef, groupA, false)
			m.NoteChange(ingressWithFinalizers(), nil)
		}, true},
		"one that had left goes during a claim": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.BeginClaim(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(), nil)
			m.EndClaim(webRef, groupA, false)
		}, true},
		"released by this process": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.BeginRelease(webRef, groupA)
			m.EndRelease(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
		}, false},
		"released, and the event came first": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.BeginRelease(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.EndRelease(webRef, groupA, true)
		}, false},
		"a release that failed, and then an edit": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.BeginRelease(webRef, groupA)
			m.EndRelease(webRef, groupA, false)
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
		}, true},
		"another event during a release": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.BeginRelease(webRef, groupA)
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers(groupA))
			m.EndRelease(webRef, groupA, true)
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
		}, false},
		"gone after the finalizer": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.NoteChange(ingressWithFinalizers(), nil)
		}, true},
		"the finalizer was taken off during deletion": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), deletingIngress(groupA))
			m.NoteChange(deletingIngress(groupA), nil)
		}, true},
		"gone without a trace": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), nil)
		}, false},
		"nothing is left of the stack": {func(m *cluster.Memberships) {
			m.NoteChange(nil, ingressWithFinalizers(groupA))
			m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
			m.BeginRelease(webRef, groupA)
			m.EndRelease(webRef, groupA, true)
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := cluster.NewMemberships()
			c.do(m)
			if got := len(m.Left(groupA)) > 0; got != c.left {
				t.Errorf("left: %v, want %v", got, c.left)
			}
			if got := len(m.LeftBy(webRef)) > 0; got != c.left {
				t.Errorf("left by the Ingress: %v, want %v", got, c.left)
			}
		})
	}
}

func TestMembershipsAreReadFromText(t *testing.T) {
	const stored = "shop/web " + groupA + "\nshop/other ingress.k8s.aws/resources\nshop/gone ingress.k8s.aws/resources left\n" +
		"far/gone ingress.k8s.aws/resources left\nshop/web a finalizer kept\nLater:shop/web " + groupA + "\n"
	m := cluster.NewMemberships()
	watched := func(ref cluster.Ref) bool { return ref.Namespace == "shop" }
	gone, leftOut := m.Restore(stored, watched, []cluster.Object{ingressWithFinalizers()})
	if leftOut != 2 {
		t.Errorf("%d lines were not read, want the last two", leftOut)
	}
	if diff := cmp.Diff([]cluster.Ref{{Kind: cluster.KindIngress, Namespace: "shop", Name: "gone"}}, gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.Ref{webRef}, m.Left(groupA)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	text, news := m.Text()
	want := "shop/gone ingress.k8s.aws/resources left\nshop/web " + groupA + " left\n"
	if text != want || !news || !m.Urgent() {
		t.Errorf("got %q, news %v, urgent %v, want %q", text, news, m.Urgent(), want)
	}
	m.NoteStored(text)
	if _, news := m.Text(); news || m.Urgent() {
		t.Error("what was stored is to be stored again")
	}
}

func TestMembershipsFitIntoOneObject(t *testing.T) {
	m := cluster.NewMemberships()
	ing := ingressWithFinalizers(groupA)
	ing.Name = strings.Repeat("x", 250)
	for i := range 5000 {
		ing := ing.DeepCopy()
		ing.Name += string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/26/26))
		m.NoteChange(nil, ing)
	}
	m.NoteChange(nil, ingressWithFinalizers(groupA))
	m.NoteChange(ingressWithFinalizers(groupA), ingressWithFinalizers())
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
	m.NoteChange(nil, ingressWithFinalizers(groupA))
	m.NoteChange(nil, mail)
	m.NoteChange(mail, gone)
	m.NoteChange(gone, nil) // another user removed the finalizer

	text, _ := m.Text()
	next := cluster.NewMemberships()
	ref := cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}
	left, _ := next.Restore(text, func(cluster.Ref) bool { return true }, []cluster.Object{ingressWithFinalizers(groupA)})
	if d := cmp.Diff([]cluster.Ref{ref}, left); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]cluster.Ref{ref}, next.Left("service.k8s.aws/resources")); d != "" {
		t.Error(d)
	}
	if !strings.Contains(text, "\nshop/web "+groupA) && !strings.HasPrefix(text, "shop/web "+groupA) {
		t.Errorf("Ingresses are not stored as processes before this one read them:\n%s", text)
	}
}
