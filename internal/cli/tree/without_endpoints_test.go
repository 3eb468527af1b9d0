package tree

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestNoEndpointsReasonIsShownOnlyForASingleBinding checks that the reason for missing endpoints is shown for a target group
// with one TargetGroupBinding, but not for one with two. The reason contains no control characters.
func TestNoEndpointsReasonIsShownOnlyForASingleBinding(t *testing.T) {
	const of = `
apiVersion: v1
kind: Service
metadata: {namespace: NS, name: "web"}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: NS, name: web-1, labels: {kubernetes.io/service-name: "web"}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: READY}}]
ports: [{port: 8080}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: NS, name: p, labels: {app: web}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: NS, name: b}
spec: {targetGroupARN: arn/1, targetType: ip, serviceRef: {name: "web", port: 80}}
`
	read := func(docs ...string) map[string]string {
		store, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			loaded, err := cluster.LoadYAML([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Put(loaded.Objects...); err != nil {
				t.Fatal(err)
			}
		}
		return noEndpointsReasons(store)
	}
	fill := func(namespace, ready string) string {
		return strings.NewReplacer("NS", namespace, "READY", ready).Replace(of)
	}
	if got := read(fill("shop", "false")); !strings.Contains(got["arn/1"], "none is ready") {
		t.Errorf("one binding: %q", got)
	}
	if got := read(fill("shop", "true"), fill("evil", "false")); len(got) > 0 {
		t.Errorf("two bindings: %q", got)
	}
	if got := read(strings.ReplaceAll(fill("shop", "false"), `"web"`, `"web\e[2J"`)); strings.Contains(got["arn/1"], "\x1b") || got["arn/1"] == "" {
		t.Errorf("not printable: %q", got)
	}
}
