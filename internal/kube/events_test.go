package kube

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func TestLongMessagesAreCutBetweenLetters(t *testing.T) {
	obj := &networkingv1.Ingress{}
	obj.Namespace, obj.Name = "shop", "web"
	for n := range 4 {
		long := strings.Repeat("x", n) + strings.Repeat("ж", maxEventMessage)
		ev := cluster.Event{Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, Warning: true, Reason: "R", Message: long}
		got := eventFor(obj, ev, time.Unix(0, 0), 1).Message
		if len(got) > maxEventMessage || !utf8.ValidString(got) || !strings.HasSuffix(got, "ж…") {
			t.Errorf("offset %d: %d bytes, valid %t: …%s", n, len(got), utf8.ValidString(got), got[len(got)-8:])
		}
	}
}

func TestEventsOfLongNamesHaveValidNames(t *testing.T) {
	for _, n := range []int{1, 220, 221, 253} {
		ing := ingress()
		ing.Name = strings.Repeat("a.", 126)[:n-1] + "b"
		e := eventFor(ing, cluster.Event{Ref: cluster.RefOf(ing), Reason: "x"}, time.Unix(1<<32, 0), 1<<63)
		if bad := validation.IsDNS1123Subdomain(e.Name); len(bad) > 0 || e.InvolvedObject.Name != ing.Name {
			t.Errorf("%d characters: %q: %v", n, e.Name, bad)
		}
	}
}
