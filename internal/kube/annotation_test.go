package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// staleSource is a source whose Get always returns obj, like a cache that does not have the latest writes.
type staleSource struct {
	cluster.Source
	obj cluster.Object
}

func (s staleSource) Get(cluster.Ref) (cluster.Object, error) { return s.obj, nil }

func TestAnnotationsAreMergedIntoTheLiveObject(t *testing.T) {
	const key = "example.com/plan"
	large := strings.Repeat("x", maxAnnotationBytes-len("other")-len(key)-3)
	tests := map[string]struct {
		cached, live map[string]string
		write        cluster.Annotation
		want         map[string]string
		writes       bool
		reported     bool
	}{
		"new":                           {nil, nil, cluster.Annotation{Value: "a"}, map[string]string{key: "a"}, true, false},
		"beside others":                 {map[string]string{"other": "x"}, map[string]string{"other": "y"}, cluster.Annotation{Value: "a"}, map[string]string{"other": "y", key: "a"}, true, false},
		"there already":                 {map[string]string{key: "a"}, map[string]string{key: "a"}, cluster.Annotation{Value: "a"}, map[string]string{key: "a"}, false, false},
		"there, and not seen yet":       {nil, map[string]string{key: "a"}, cluster.Annotation{Value: "a"}, map[string]string{key: "a"}, false, false},
		"removed":                       {map[string]string{key: "a"}, map[string]string{key: "a"}, cluster.Annotation{}, nil, true, false},
		"removed before":                {nil, nil, cluster.Annotation{}, nil, false, false},
		"removed where it is the old":   {map[string]string{key: "a"}, map[string]string{key: "a"}, cluster.Annotation{OldValue: "a"}, nil, true, false},
		"another one has been written":  {map[string]string{key: "a"}, map[string]string{key: "b"}, cluster.Annotation{OldValue: "a"}, map[string]string{key: "b"}, false, false},
		"as large as can be":            {nil, map[string]string{"other": large}, cluster.Annotation{Value: "abc"}, map[string]string{"other": large, key: "abc"}, true, false},
		"too large":                     {nil, map[string]string{"other": large}, cluster.Annotation{Value: "abcd"}, map[string]string{"other": large}, false, true},
		"too large in place of another": {map[string]string{key: "a"}, map[string]string{"other": large, key: "a"}, cluster.Annotation{Value: "abcd"}, map[string]string{"other": large}, true, true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			live := newIngress()
			live.Annotations = c.live
			cl, m := newTestCluster(t, live)
			before := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web")
			stale := before.DeepCopy()
			stale.Annotations = c.cached
			cl.source = staleSource{m, stale}
			c.write.Ref, c.write.Key = cluster.RefOf(live), key
			c.write.TooLarge = cluster.Event{Ref: c.write.Ref, Warning: true, Reason: "TooLarge", Message: "m"}
			for range 2 {
				if err := cl.Write(t.Context(), []cluster.Patch{c.write}); err != nil {
					t.Fatal(err)
				}
			}
			after := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web")
			if diff := cmp.Diff(c.want, after.Annotations, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if changed := before.ResourceVersion != after.ResourceVersion; changed != c.writes {
				t.Errorf("written: %t", changed)
			}
			if reported := len(m.All("Event")) == 1; reported != c.reported {
				t.Errorf("events: %v", m.All("Event"))
			}
		})
	}
}
