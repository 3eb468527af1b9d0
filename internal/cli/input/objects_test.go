package input

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

const appliedClass = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`

const appliedService = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, ports: [{port: 80}]}
`

const appliedIngress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: web, port: {number: 80}}}
`

// loadFileObjects returns the objects in a text as if they were read from a file.
func loadFileObjects(t *testing.T, text string) []fileObject {
	t.Helper()
	l, err := cluster.LoadYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []fileObject
	for _, o := range l.Objects {
		out = append(out, fileObject{o, "web.yaml"})
	}
	return out
}

// TestFilesReplaceObjectsOfCluster checks that an object of a file replaces the object of the cluster with the same name.
// Values that the API server and the controller wrote are preserved, such as UID, finalizers, status and node ports. Objects
// that are in no file do not change.
func TestFilesReplaceObjectsOfCluster(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	live, err := cluster.LoadYAML([]byte(appliedClass + "---\n" + `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: u-1}
spec: {type: NodePort, ports: [{port: 80, nodePort: 31234}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, uid: u-2, finalizers: [ingress.k8s.aws/resources], annotations: {old: "1"}}
spec: {ingressClassName: alb}
status: {loadBalancer: {ingress: [{hostname: lb.example.com}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(live.Objects...); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	edited := strings.Replace(appliedIngress, "namespace: shop}", "namespace: shop, uid: another, resourceVersion: \"1\", annotations: {new: \"2\"}}", 1)
	if _, err := applyFiles(store, loadFileObjects(t, appliedService+"---\n"+edited), &notes); err != nil {
		t.Fatal(err)
	}
	get := func(kind cluster.Kind) cluster.Object {
		o, err := store.Get(cluster.Ref{Kind: kind, Namespace: "shop", Name: "web"})
		if err != nil || o == nil {
			t.Fatalf("%s: %v", kind, err)
		}
		return o
	}
	ing := get(cluster.KindIngress).(*networkingv1.Ingress)
	if ing.UID != "u-2" || len(ing.Finalizers) != 1 || len(ing.Status.LoadBalancer.Ingress) != 1 || ing.Annotations["new"] != "2" || ing.Annotations["old"] != "" || ing.Spec.DefaultBackend == nil {
		t.Errorf("%+v", ing)
	}
	if svc := get(cluster.KindService).(*corev1.Service); svc.UID != "u-1" || svc.Spec.Ports[0].NodePort != 31234 {
		t.Errorf("%+v", svc)
	}
	if len(store.All(cluster.KindIngressClass)) != 1 || notes.Len() > 0 {
		t.Errorf("notes: %s", notes.String())
	}
}

// TestExampleNodePortsAreFree checks that a Service that does not exist yet gets node ports that are distinct and not in use
// in the cluster.
func TestExampleNodePortsAreFree(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	live, err := cluster.LoadYAML([]byte(`apiVersion: v1
kind: Service
metadata: {name: other, namespace: shop}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30001}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(live.Objects...); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	text := strings.Replace(appliedService, "{port: 80}", "{port: 80}, {name: b, port: 81}, {name: c, port: 82, nodePort: 30000}", 1)
	if _, err := applyFiles(store, loadFileObjects(t, text), &notes); err != nil {
		t.Fatal(err)
	}
	o, err := store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, p := range o.(*corev1.Service).Spec.Ports {
		got = append(got, p.NodePort)
	}
	if !slices.Equal(got, []int32{30002, 30003, 30000}) || !strings.Contains(notes.String(), "shop/web") {
		t.Errorf("%v, %s", got, notes.String())
	}
}
