package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// otherClassYAML has an IngressClass of another controller, and an Ingress with this class.
const otherClassYAML = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: theirs, namespace: shop}
spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}}
`

// brokenObjectsYAML returns objects of namespace "bank" that have no load balancer any more or cannot get one: an Ingress
// whose class does not exist, an Ingress whose class is of another controller, an Ingress without a class, a Service that is
// not of type LoadBalancer any more, and three Ingresses of a class that another controller serves now.
func brokenObjectsYAML() string {
	claimed := func(text string) string {
		return strings.Replace(text, "namespace: bank", "namespace: bank, finalizers: [ingress.k8s.aws/resources]", 1)
	}
	out := []string{
		strings.Replace(replaceNames(ingressYAML, "bank", "badclass"), "ingressClassName: alb", "ingressClassName: ablb", 1),
		claimed(strings.Replace(replaceNames(ingressYAML, "bank", "given-up"), "ingressClassName: alb", "ingressClassName: nginx", 1)),
		claimed(strings.Replace(replaceNames(ingressYAML, "bank", "classless"), "  ingressClassName: alb\n", "", 1)),
		"apiVersion: v1\nkind: Service\nmetadata: {name: left, namespace: bank, finalizers: [service.k8s.aws/resources]}\nspec: {ports: [{port: 80}]}\n",
		"apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: taken}\nspec: {controller: example.com/other}\n",
	}
	for i := range 3 {
		out = append(out, claimed(strings.Replace(replaceNames(ingressYAML, "bank", fmt.Sprintf("taken-%d", i)), "ingressClassName: alb", "ingressClassName: taken", 1)))
	}
	return strings.Join(out, "---\n")
}

// TestBrokenObjectsOutsideScopeAreIgnored checks that plan, tree and explain show an object of brokenObjectsYAML only if the
// object is selected.
func TestBrokenObjectsOutsideScopeAreIgnored(t *testing.T) {
	_, flags := startEmulator(t)
	own := strings.Replace(replaceNames(ingressYAML, "shop", "moved"), "ingressClassName: alb", "ingressClassName: taken", 1)
	_, config := serveCluster(t, strings.Join([]string{classYAML, otherClassYAML, serviceYAML, ingressYAML, own, brokenObjectsYAML(), nlbYAML,
		strings.Replace(replaceNames(classYAML, "", "second"), "name: alb", "name: second", 1)}, "---\n"))
	broken := []string{"Ingress bank/badclass", "Ingress bank/classless", "Ingress bank/given-up", "Ingress bank/taken-0", "Ingress bank/taken-1", "Ingress bank/taken-2", "Service bank/left"}
	for args, want := range map[string][]string{
		"-n shop":                   {"Ingress shop/web"},
		"-n infra":                  {"Service infra/dns"},
		"-n bank":                   broken,
		"ingress/web -n shop":       {"Ingress shop/web"},
		"ingress/theirs -n shop":    {},
		"ingress/moved -n shop":     {},
		"service/web -n shop":       {"Ingress shop/web"},
		"service/dns -n infra":      {"Service infra/dns"},
		"ingress/badclass -n bank":  broken[:1],
		"ingressclass/alb":          {"Ingress shop/web"},
		"ingressclass/second":       {},
		"ingressclass/taken":        broken[3:6],
		"ingressclass/nginx":        broken[2:3],
		"ingress/classless -n bank": broken[1:2],
	} {
		t.Run(args, func(t *testing.T) {
			code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "-o", "json"}, strings.Fields(args), flags)...)
			if d := cmp.Diff(want, plannedStacks(t, out)); d != "" {
				t.Errorf("exit %d: %s%s", code, stderr, d)
			}
			_, out, stderr = runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"tree"}, strings.Fields(args), flags)...)
			for _, id := range append(broken, "Ingress shop/web", "Service infra/dns") {
				if shown := strings.Contains("\n"+out, "\n"+id); shown != slices.Contains(want, id) {
					t.Errorf("tree shows %s: %v: %s%s", id, shown, out, stderr)
				}
			}
		})
	}
	for object, want := range map[string]string{
		"ingress/theirs": `IngressClass nginx has the controller "k8s.io/ingress-nginx", which is not this controller`,
		"ingress/moved":  `IngressClass taken has the controller "example.com/other", which is not this controller`,
	} {
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"explain", object, "-n=shop"}, flags)...)
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "bank") {
			t.Errorf("%s: exit %d: %s%s", object, code, stderr, out)
		}
	}
	_, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"explain", "ingress/web", "-n=shop"}, flags)...)
	if strings.Contains(out, "bank") || !strings.Contains(out, "load balancer of Ingress shop/web") {
		t.Error(out, stderr)
	}
}

// TestPlanShowsIngressesHeldByMassRemovalCheck checks that plan shows Ingresses as held if the controller of their class has
// changed and the Ingresses were not edited since then. The time of the last edit is in metadata.managedFields.
func TestPlanShowsIngressesHeldByMassRemovalCheck(t *testing.T) {
	_, flags := startEmulator(t)
	objects := []string{"apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb, creationTimestamp: \"2025-06-01T00:00:00Z\"}\nspec: {controller: example.com/other}\n"}
	for i := range 3 {
		objects = append(objects, strings.Replace(replaceNames(ingressYAML, "shop", fmt.Sprintf("web-%d", i)), "namespace: shop", `namespace: shop, creationTimestamp: "2025-07-01T00:00:00Z", finalizers: [ingress.k8s.aws/resources],
  managedFields: [{time: "2025-01-01T00:00:00Z", fieldsV1: {"f:spec": {"f:ingressClassName": {}}}}, {time: "2025-01-01T00:00:01Z", fieldsV1: {"f:metadata": {"f:finalizers": {}}}}]`, 1))
	}
	_, config := serveCluster(t, strings.Join(objects, "---\n"))
	_, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan"}, flags)...)
	if strings.Count(out, "# error RemovalNotTrusted") != 3 || strings.Contains(out, "release finalizer") {
		t.Error(stderr, out)
	}
}
