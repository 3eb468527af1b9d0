package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestCommandsWorkWithRightsInOneNamespace checks that a user who may read only one namespace gets the output for this
// namespace, and notes about what could not be read.
func TestCommandsWorkWithRightsInOneNamespace(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, replaceNames(serviceYAML+"---\n"+ingressYAML, "bank", "pay"), nlbYAML}, "---\n"))
	server.onlyNamespace = "bank"
	run := func(args ...string) (int, string, string) {
		return runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(args, []string{"--flags-from=none"}, flags)...)
	}
	reported := []string{
		`# only objects of namespace "bank" were read, as you have no permission to list these kinds in all namespaces:`, "so they may be reported as not existing", "may be shown as deleted, although the controller does not delete it",
		"# not read, as you have no permission to list them:", "IngressClass", `# assumed: IngressClass "alb" exists, belongs to this controller and has no parameters`,
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
	server.onlyNamespace = ""
	if _, out, stderr := run("plan", "-n", "bank"); strings.Contains(out+stderr, "not read") || strings.Contains(out+stderr, "were read") {
		t.Errorf("with all rights: %s%s", stderr, out)
	}
}

// TestMigrateReportsKindsThatMayNotBeListed checks that migrate reports which kinds the user may not list, and that an
// IngressGroup may have members in namespaces that the user may not read.
func TestMigrateReportsKindsThatMayNotBeListed(t *testing.T) {
	grouped := strings.Replace(replaceNames(ingressYAML, "bank", "pay"), "metadata: {", "metadata: {annotations: {alb.ingress.kubernetes.io/group.name: edge}, ", 1)
	for name, tt := range map[string]struct{ ingress, want string }{
		"alone":      {replaceNames(ingressYAML, "bank", "pay"), "you have no permission to list IngressClass, IngressClassParams, Namespace, so the settings in these objects are missing here"},
		"in a group": {grouped, `you may list Ingresses only in namespace "bank", and the IngressGroup may have members in other namespaces`},
	} {
		server, config := serveCluster(t, strings.Join([]string{classYAML, replaceNames(serviceYAML, "bank", "pay"), tt.ingress}, "---\n"))
		server.onlyNamespace = "bank"
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, "migrate", "--from-cluster", "-n", "bank", "--check", "--flags-from=none")
		if code != 2 || !strings.Contains(out, tt.want) {
			t.Errorf("%s: exit %d: %s%s", name, code, stderr, out)
		}
	}
}

// TestErrorsDistinguishUnreadableFromMissingObjects checks the error about a named object. It distinguishes objects that do
// not exist, objects that the user may not read, and objects in namespaces that the controller does not watch.
func TestErrorsDistinguishUnreadableFromMissingObjects(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, replaceNames(serviceYAML, "bank", "pay")}, "---\n"))
	run := func(args ...string) (int, string, string) {
		return runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(args, []string{"--flags-from=none"}, flags)...)
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
	server.forbiddenResources = map[string]bool{"ingresses": true}
	for _, command := range []string{"plan", "tree", "get", "explain"} {
		code, _, stderr := run(command, "ingress/web", "-n", "shop")
		if want := `Ingress shop/web does not exist or cannot be read, as you have no permission to list objects of kind Ingress in namespace "shop"`; code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s, want %q", command, code, stderr, want)
		}
	}
}

// TestCommandsShowOnlyWatchedNamespace checks that, with --watch-namespace, commands show only objects in that namespace,
// from a cluster and from files. They refuse another namespace.
func TestCommandsShowOnlyWatchedNamespace(t *testing.T) {
	_, flags := startEmulator(t)
	flags = append(flags, "--flags-from=none", "--watch-namespace=bank")
	const (
		alone  = `as the controller watches namespace "bank" alone (--watch-namespace); it does not act on objects of other namespaces`
		reader = `# only namespace "bank" was read, as the controller watches it alone (--watch-namespace)`
		spaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: bank}\n"
	)
	pay := replaceNames(serviceYAML+"---\n"+ingressYAML, "bank", "pay")
	_, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, pay, spaces}, "---\n"))
	run := func(stdin string, args ...string) (int, string) {
		code, out, stderr := runWithInput(t, stdin, map[string]string{"KUBECONFIG": config}, slices.Concat(args, flags)...)
		return code, out + stderr
	}
	for _, args := range []string{"plan -n shop", "tree -n shop", "get -n shop", "orphans -n shop", "explain request http://web.example.com/ -n shop"} {
		if code, out := run("", strings.Fields(args)...); code != 1 || !strings.Contains(out, `Error: namespace "shop" was not read, `+alone) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
	for _, args := range []string{"plan", "tree", "get -A", "orphans", "explain request http://web.example.com/"} {
		if code, out := run("", strings.Fields(args)...); code == 1 || !strings.Contains(out, reader) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
	for _, args := range []string{"plan -f -", "tree -f -", "plan -f - --files-only"} {
		if code, out := run(ingressYAML, strings.Fields(args)...); code != 1 || !strings.Contains(out, "Error: Ingress shop/web was not read, "+alone) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
		code, out := run(classYAML+"---\n"+pay+"---\n"+ingressYAML, strings.Fields(args)...)
		if code == 1 || !strings.Contains(out, "# Ingress shop/web was not read, "+alone) || !strings.Contains(out, "Ingress bank/pay\n") || strings.Contains(out, "Ingress shop/web\n") {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
}

// TestOrphansRequiresRightToListOwners checks that orphans fails if the user may not list Ingresses, Services or Gateways.
// It would otherwise report their load balancers as orphans.
func TestOrphansRequiresRightToListOwners(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	for _, kind := range []string{"ingresses", "services", "gateways"} {
		server.forbiddenResources = map[string]bool{kind: true}
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"orphans", "-n=shop", "--flags-from=none"}, flags)...)
		if code != 1 || !strings.Contains(stderr, `in namespace "shop", whose load balancers would seem to be orphans; bind the rules of config/rbac`) {
			t.Errorf("%s: exit %d: %s%s", kind, code, stderr, out)
		}
	}
}

// TestDoctorReportsNoOrphansOfUnavailableObjects checks that doctor does not report the load balancer of an Ingress as an orphan
// if the Ingress was not read, because the user may not list Ingresses or because only files are read. orphans does the same.
func TestDoctorReportsNoOrphansOfUnavailableObjects(t *testing.T) {
	em, flags := startEmulator(t)
	createOwnedLoadBalancer(t, em, "own", model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"})
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	server.addHealthyCluster(t)
	server.forbiddenResources = map[string]bool{"ingresses": true}
	_, out := runDoctor(t, config, flags, "-n=shop")
	if !strings.Contains(out, `error   orphans      you have no permission to list objects of kind Ingress in namespace "shop", whose load balancers would seem to be orphans`) || strings.Contains(out, "no object needs") {
		t.Errorf("without the right: %s", out)
	}
	server.forbiddenResources = nil
	file := filepath.Join(writeTempFiles(t, map[string]string{"class.yaml": classYAML}), "class.yaml")
	for _, more := range [][]string{{"--files-only", "--filename=" + file}, {"--filename=" + file}} {
		if _, out := runDoctor(t, config, flags, more...); !strings.Contains(out, "so other resources would look like orphans") || strings.Contains(out, "no object needs") {
			t.Errorf("%s: %s", more, out)
		}
	}
}

// TestDoctorReportsNoClassesThatItAssumes checks that doctor reports that it has not checked classes if the user may not
// list them. It does not report classes that are only assumed to exist.
func TestDoctorReportsNoClassesThatItAssumes(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, strings.Replace(ingressYAML, "ingressClassName: alb", "ingressClassName: gone", 1)}, "---\n"))
	server.addHealthyCluster(t)
	if _, out := runDoctor(t, config, flags, "-n=shop"); !strings.Contains(out, "these Ingresses name classes that do not exist; their resources in AWS stay, and no new ones are created: Ingress shop/web (gone)") {
		t.Errorf("with all rights: %s", out)
	}
	server.forbiddenResources = map[string]bool{"ingressclasses": true}
	_, out := runDoctor(t, config, flags, "-n=shop")
	if want := "warning classes      classes were not checked, as you have no permission to list these kinds: IngressClass; "; !strings.Contains(out, want) || strings.Contains(out, "gone") {
		t.Errorf("want %q in %s", want, out)
	}
}

// TestOnlyUnavailableClassesAreAssumed checks that an Ingress whose class does not exist gets no load balancer in a plan if the
// user may list classes, whatever else the user may not list.
func TestOnlyUnavailableClassesAreAssumed(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, strings.Replace(ingressYAML, "ingressClassName: alb", "ingressClassName: gone", 1)}, "---\n"))
	for kind, assumed := range map[string]bool{"nodes": false, "namespaces": false, "ingressclasses": true} {
		server.forbiddenResources = map[string]bool{kind: true}
		_, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "-n=shop", "--flags-from=none"}, flags)...)
		if strings.Contains(out, `# assumed: IngressClass "gone" exists`) != assumed || strings.Contains(out, "create load-balancer") != assumed {
			t.Errorf("without the right to list %s: %s%s", kind, stderr, out)
		}
	}
}

// TestUnavailableObjectsAreNotReportedAsMissing checks that commands say that they have not read the Gateway of a route or the
// IngressClasses, instead of that none exists, if the user may not list them or the controller does not watch them.
func TestUnavailableObjectsAreNotReportedAsMissing(t *testing.T) {
	const routeYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec: {parentRefs: [{name: edge, namespace: infra}], hostnames: [pay.example.com]}
`
	const gateway = `spec.parentRefs[0]: Gateway infra/edge was not read, as `
	const class = `spec.ingressClassName: no class is named, and it is not known whether a class of this controller is the default, as you have no permission to list objects of kind IngressClass;`
	classless := strings.Replace(ingressYAML, "  ingressClassName: alb\n", "", 1)
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, classless, strings.Replace(replaceNames(classless, "shop", "annotated"), "metadata: {", "metadata: {annotations: {alb.ingress.kubernetes.io/scheme: internal}, ", 1), routeYAML}, "---\n"))
	run := func(args string) string {
		_, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(strings.Fields(args), []string{"--flags-from=none"}, flags)...)
		return out + stderr
	}
	server.onlyNamespace = "shop"
	for args, want := range map[string]string{
		"explain httproute/pay -n shop":                        gateway + `you have no permission to list objects of kind Gateway in namespace "infra"; bind`,
		"plan httproute/pay -n shop":                           gateway + `you have no permission to list objects of kind Gateway in namespace "infra"; bind`,
		"explain request http://pay.example.com -n shop":       gateway + `you have no permission to list objects of kind Gateway in namespace "infra"; bind`,
		"explain ingress/web -n shop":                          class,
		"explain ingress/annotated -n shop":                    class,
		"get -n shop":                                          "no object that was read belongs to a load balancer of this controller",
		"explain httproute/pay -n shop --watch-namespace=shop": gateway + `the controller watches namespace "shop" alone`,
	} {
		if out := run(args); !strings.Contains(out, want) || strings.Contains(out, "infra/edge does not exist") {
			t.Errorf("%s: %s", args, out)
		}
	}
	server.onlyNamespace = ""
	if out := run("explain httproute/pay -n shop"); !strings.Contains(out, "Gateway infra/edge does not exist; correct its name and namespace, or create it") {
		t.Errorf("with all rights: %s", out)
	}
}

// TestErrorAboutSecretDoesNotSayThatItIsMissing checks the error about a Secret on the command line. Commands do not list
// Secrets, so they do not know whether it exists.
func TestErrorAboutSecretDoesNotSayThatItIsMissing(t *testing.T) {
	_, flags := startEmulator(t)
	_, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, oidcSecretYAML}, "---\n"))
	code, _, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "secret/sign-in", "-n=shop", "--flags-from=none"}, flags)...)
	if want := "Secret shop/sign-in was not looked up, as commands read only the Secrets that other objects name; name one of these objects"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
