package cli

import (
	"slices"
	"strings"
	"testing"
)

// A user with rights in one namespace gets the answer about it, and learns what it lacks.
func TestRightsInOneNamespaceAreEnough(t *testing.T) {
	_, flags := aws(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, namespaced(serviceYAML+"---\n"+ingressYAML, "bank", "pay"), nlbYAML}, "---\n"))
	server.only = "bank"
	run := func(args ...string) (int, string, string) {
		return with(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(args, []string{"--flags-from=none"}, flags)...)
	}
	reported := []string{
		`# only those of namespace "bank" were read, as you may not list them in all namespaces:`, "may be shown as deleted, which the controller does not do",
		"# not read, as you may not list them:", "IngressClass", `# assumed: IngressClass "alb" exists, is of this controller and has no parameters`,
	}
	for args, want := range map[string]string{
		"plan -n bank":                 "create load-balancer/LoadBalancer",
		"tree -n bank":                 "Ingress bank/pay",
		"get -n bank":                  "Ingress bank/pay",
		"explain ingress/pay -n bank":  "load balancer of Ingress bank/pay",
		"plan -n bank -o json":         `"id": "bank/pay"`,
		"plan service/pay -n bank":     "# Ingress bank/pay",
		"explain service/pay -n bank ": "load balancer of Ingress bank/pay",
	} {
		code, out, stderr := run(strings.Fields(args)...)
		if code == 1 || !strings.Contains(out, want) || strings.Contains(out, "shop") {
			t.Errorf("%s: exit %d: %s%s", args, code, stderr, out)
		}
		for _, note := range reported {
			if !strings.Contains(out+stderr, note) {
				t.Errorf("%s does not report %q: %s%s", args, note, stderr, out)
			}
		}
	}
	for args, want := range map[string]string{
		"plan":         "look at one namespace by -n",
		"plan -n shop": `you may read nothing in namespace "shop" either`,
		"plan -A":      "a plan reads objects of all namespaces",
	} {
		if code, _, stderr := run(strings.Fields(args)...); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
		}
	}
	server.only = ""
	if _, out, stderr := run("plan", "-n", "bank"); strings.Contains(out+stderr, "not read") || strings.Contains(out+stderr, "were read") {
		t.Errorf("with all rights: %s%s", stderr, out)
	}
}

// What may not be read is not called missing, nor is what the controller does not look at.
func TestWhatMayNotBeReadIsNotCalledMissing(t *testing.T) {
	_, flags := aws(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, namespaced(serviceYAML, "bank", "pay")}, "---\n"))
	run := func(args ...string) (int, string, string) {
		return with(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(args, []string{"--flags-from=none"}, flags)...)
	}
	for args, want := range map[string]string{
		"plan ingress/web -n shop --watch-namespace=bank": `was not read, as the controller watches namespace "bank" alone (--watch-namespace)`,
		"tree -n shop --watch-namespace=bank":             `namespace "shop" was not read, as the controller watches namespace "bank" alone`,
		"get ingress/lost -n shop":                        "Ingress shop/lost does not exist; check its name",
	} {
		if code, _, stderr := run(strings.Fields(args)...); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s, want %q", args, code, stderr, want)
		}
	}
	server.denied = map[string]bool{"ingresses": true}
	for _, command := range []string{"plan", "tree", "get", "explain"} {
		code, _, stderr := run(command, "ingress/web", "-n", "shop")
		if want := `Ingress shop/web does not exist or may not be read, as you may not list objects of kind Ingress in namespace "shop"`; code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s, want %q", command, code, stderr, want)
		}
	}
}
