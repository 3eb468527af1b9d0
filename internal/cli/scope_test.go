package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

// replaceNames replaces namespace "shop" and name "web" in a manifest.
func replaceNames(text, namespace, name string) string {
	return strings.NewReplacer("namespace: shop", "namespace: "+namespace, "name: web", "name: "+name, "{name: web,", "{name: "+name+",").Replace(text)
}

// plannedStacks returns the kind and the ID of each stack in the JSON output of plan.
func plannedStacks(t *testing.T, out string) []string {
	t.Helper()
	var doc PlanDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ids := []string{}
	for _, s := range doc.Stacks {
		ids = append(ids, s.Kind+" "+s.ID)
	}
	return ids
}

const nlbYAML = `apiVersion: v1
kind: Service
metadata: {name: dns, namespace: infra}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [{port: 53}]}
`

const namespaceYAML = `apiVersion: v1
kind: Namespace
metadata: {name: none}
`

// TestANamespaceThatDoesNotExistIsAnError checks that commands fail if the namespace of -n does not exist.
func TestANamespaceThatDoesNotExistIsAnError(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, namespaceYAML}, "---\n"))
	files := writeTempFiles(t, map[string]string{"shop.yaml": serviceYAML + "---\n" + ingressYAML})
	look := func(args string) (int, string) {
		code, _, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat(strings.Fields(args), []string{"--flags-from=none"}, flags)...)
		return code, stderr
	}
	for _, command := range []string{"plan", "plan -o json", "tree", "get", "explain request http://shop.example.com/", "plan -f " + files} {
		for namespace, want := range map[string]string{
			"shop": "", "none": "",
			"nome": `namespace "nome" does not exist (did you mean "none"?); check -n`,
			"xxxx": `namespace "xxxx" does not exist; check -n`,
		} {
			code, stderr := look(command + " -n " + namespace)
			if want == "" && strings.Contains(stderr, "namespace") || want != "" && (code != 1 || !strings.Contains(stderr, want)) {
				t.Errorf("%s -n %s: exit %d: %s", command, namespace, code, stderr)
			}
		}
	}
	if code, stderr := look("plan --offline -f " + files + " -n xxxx"); code != 1 || !strings.Contains(stderr, `no object of the files is in namespace "xxxx"; check -n`) {
		t.Errorf("without a cluster: exit %d: %s", code, stderr)
	}
	server.onlyNamespace = "none"
	if code, stderr := look("plan -n none"); code == 1 {
		t.Errorf("with rights in one namespace: exit %d: %s", code, stderr)
	}
}

// TestPlanIsLimitedToRequestedObjects checks that a plan has only the stacks of the selected namespace or objects. If files
// are given, it has only the stacks that the files affect, unless -A is set.
func TestPlanIsLimitedToRequestedObjects(t *testing.T) {
	_, flags := startEmulator(t)
	a, b := serviceYAML+"---\n"+ingressYAML, replaceNames(serviceYAML+"---\n"+ingressYAML, "bank", "pay")
	_, config := serveCluster(t, strings.Join([]string{classYAML, a, b, nlbYAML, namespaceYAML}, "---\n"))
	dir := writeTempFiles(t, map[string]string{
		"edit.yaml":    strings.Replace(replaceNames(ingressYAML, "bank", "pay"), "spec:", "spec: # edited", 1),
		"service.yaml": serviceYAML, "class.yaml": classYAML,
		"new.yaml":  replaceNames(ingressYAML, "bank", "new"),
		"none.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: alone, namespace: shop}\nspec: {ports: [{port: 1}]}\n",
	})
	file := func(n string) string { return "-f=" + filepath.Join(dir, n) }
	bank, shop, dns := "Ingress bank/pay", "Ingress shop/web", "Service infra/dns"
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"everything":                     {nil, []string{bank, shop, dns}},
		"all, said":                      {[]string{"-A"}, []string{bank, shop, dns}},
		"all, as plan has it":            {[]string{"--all"}, []string{bank, shop, dns}},
		"a namespace":                    {[]string{"-n", "bank"}, []string{bank}},
		"an empty namespace":             {[]string{"-n", "none"}, []string{}},
		"an object of the context":       {[]string{"ingress/web", "--context=shop"}, []string{shop}},
		"an object of a namespace":       {[]string{"ing/pay", "-n", "bank"}, []string{bank}},
		"kind and name apart":            {[]string{"ingresses", "pay", "-n", "bank"}, []string{bank}},
		"a backend":                      {[]string{"svc/pay", "-n", "bank"}, []string{bank}},
		"a Service":                      {[]string{"services/dns", "-n", "infra"}, []string{dns}},
		"a class":                        {[]string{"ingressclass/alb"}, []string{bank, shop}},
		"a file":                         {[]string{file("edit.yaml")}, []string{bank}},
		"a new object":                   {[]string{file("new.yaml")}, []string{"Ingress bank/new"}},
		"a backend in a file":            {[]string{file("service.yaml")}, []string{shop}},
		"a class in a file":              {[]string{file("class.yaml")}, []string{bank, shop}},
		"what no load balancer asks for": {[]string{file("none.yaml")}, []string{}},
		"a file and everything":          {[]string{file("new.yaml"), "-A"}, []string{"Ingress bank/new", bank, shop, dns}},
		"files of one namespace":         {[]string{file("new.yaml"), file("service.yaml"), "-n", "shop"}, []string{shop}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "-o", "json"}, tc.args, flags)...)
			if d := cmp.Diff(tc.want, plannedStacks(t, out)); d != "" || code != output.ExitChanges && len(tc.want) > 0 || code != 0 && len(tc.want) == 0 {
				t.Errorf("exit %d: %s%s", code, stderr, d)
			}
		})
	}
	for args, want := range map[string]string{
		"ingress/none -n shop":       "Ingress shop/none does not exist; check its name, and its namespace with -n",
		"ingress/web --context=shpo": `has no context "shpo" (did you mean "shop"?)`,
		"--context=other":            "does not answer",
	} {
		code, _, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "--flags-from=none"}, strings.Fields(args), flags)...)
		if code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
		}
	}
}

// TestYAMLAndJSONOutputAreEqual checks that the JSON and the YAML output of plan and tree have the same content.
func TestYAMLAndJSONOutputAreEqual(t *testing.T) {
	_, flags := startEmulator(t)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	for _, command := range []string{"plan", "tree"} {
		_, asJSON, _ := runWithInput(t, text, nil, slices.Concat([]string{command, "-o=json", "-f=-"}, flags)...)
		_, asYAML, _ := runWithInput(t, text, nil, slices.Concat([]string{command, "-o=yaml", "-f=-"}, flags)...)
		converted, err := yaml.YAMLToJSON([]byte(asYAML))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal([]byte(asJSON), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(converted, &b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, b); d != "" || strings.HasPrefix(asYAML, "{") {
			t.Error(command, d)
		}
	}
}

// TestOnlyTerminalsGetColours checks that text output is coloured only on a terminal, and not if NO_COLOR is set or TERM is
// "dumb". Colours do not change the text.
func TestOnlyTerminalsGetColours(t *testing.T) {
	_, flags := startEmulator(t)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	var plain string
	for _, tc := range []struct {
		terminal bool
		env      map[string]string
		output   string
		coloured bool
	}{
		{false, nil, "text", false}, {true, nil, "text", true}, {true, map[string]string{"NO_COLOR": "1"}, "text", false},
		{true, map[string]string{"TERM": "dumb"}, "text", false}, {true, nil, "json", false},
	} {
		var out, errs bytes.Buffer
		Run(t.Context(), output.Environment{
			Args: slices.Concat([]string{"plan", "-f=-", "-o", tc.output}, flags), Stdin: strings.NewReader(text), Stdout: &out, Stderr: &errs,
			IsTerminal: tc.terminal, Getenv: func(k string) string { return tc.env[k] },
		})
		if got := strings.Contains(out.String(), "\x1b["); got != tc.coloured || out.Len() == 0 {
			t.Errorf("%+v: colours %v: %s%s", tc, got, errs.String(), out.String())
		}
		bare := out.String()
		for _, c := range []string{"\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[90m"} {
			bare = strings.ReplaceAll(bare, c, "")
		}
		if plain == "" {
			plain = bare
		}
		if tc.output == "text" && bare != plain {
			t.Errorf("colours change the text: %s", cmp.Diff(plain, bare))
		}
	}
}

// TestProgramRunsAsKubectlPlugin checks that a program with the name of the kubectl plugin prints its help instead of
// starting the controller. Help and errors name the command "kubectl fulcrum".
func TestProgramRunsAsKubectlPlugin(t *testing.T) {
	plugged := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Run(t.Context(), output.Environment{Args: args, Program: "/usr/local/bin/kubectl-fulcrum", Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
		return code, out.String(), errs.String()
	}
	if code, out, _ := plugged(); code != 0 || !strings.Contains(out, "kubectl fulcrum [command]") || strings.Contains(out, "--leader-election-id") {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, out, _ := plugged("plan", "--help"); !strings.Contains(out, "kubectl fulcrum plan [KIND/NAME ...] [flags]") {
		t.Error(out)
	}
	if code, _, stderr := plugged("paln"); code != 1 || !strings.Contains(stderr, `did you mean "plan"? run "kubectl fulcrum --help"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestShellCompletionWorks checks shell completion of kinds, object names, namespaces, contexts, output formats and reasons.
func TestShellCompletionWorks(t *testing.T) {
	_, config := serveCluster(t, strings.Join([]string{classYAML, ingressYAML, replaceNames(ingressYAML, "bank", "pay"),
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", "apiVersion: v1\nkind: Namespace\nmetadata: {name: bank}\n"}, "---\n"))
	for args, want := range map[string]string{
		"plan|":                         "gateway/ globalaccelerator/ grpcroute/ httproute/ ingress/ listenerset/ service/ targetgroupbinding/ tcproute/ tlsroute/ udproute/",
		"tree|ing":                      "ingress/",
		"plan|--context=shop|ingress/":  "ingress/web",
		"plan|-n=bank|ing/":             "ing/pay",
		"plan|-n=bank|ing/x":            "",
		"plan|-A|ing/":                  "ing/pay ing/web",
		"plan|-n|":                      "bank shop",
		"plan|--namespace|s":            "shop",
		"plan|--context|":               "c other shop",
		"plan|--context=other|ingress/": "",
		"plan|-o|":                      "json text yaml",
		"explain|certificaten":          "CertificateNotFound CertificateNotOwned",
		"plan|--kubeconfig=/nonexistent|ingress/": "",
	} {
		t.Run(args, func(t *testing.T) {
			code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append([]string{"__complete"}, strings.Split(args, "|")...)...)
			var got []string
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, ":") {
					got = append(got, line)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want || code != 0 {
				t.Errorf("exit %d: %q: %s", code, got, stderr)
			}
		})
	}
}

// TestLinesAreWrappedAtTheWidthOfTheTerminal checks that lines are wrapped at spaces on a terminal, and that words do not
// change. Output to a pipe is not wrapped.
func TestLinesAreWrappedAtTheWidthOfTheTerminal(t *testing.T) {
	_, flags := startEmulator(t)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	show := func(terminal bool, width int) string {
		var out, errs bytes.Buffer
		Run(t.Context(), output.Environment{
			Args: slices.Concat([]string{"plan", "-f=-"}, flags), Stdin: strings.NewReader(text), Stdout: &out, Stderr: &errs,
			IsTerminal: terminal, Width: func() int { return width }, Getenv: func(k string) string { return map[string]string{"NO_COLOR": "1"}[k] },
		})
		return out.String()
	}
	piped := show(false, 60)
	if show(true, 0) != piped || show(true, 10000) != piped {
		t.Error("lines are wrapped without need")
	}
	narrow := show(true, 60)
	if narrow == piped || strings.Join(strings.Fields(narrow), " ") != strings.Join(strings.Fields(piped), " ") {
		t.Errorf("other words: %s", cmp.Diff(piped, narrow))
	}
	for line := range strings.Lines(narrow) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > 60 && strings.Contains(strings.TrimLeft(line, " +#~-."), " ") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// TestSharedResourcesArePlannedOnce checks that plan shows the steps for a resource that several load balancers share once.
// For other load balancers, it refers to these steps.
func TestSharedResourcesArePlannedOnce(t *testing.T) {
	_, flags := startEmulator(t)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML, strings.Replace(ingressYAML, "{name: web,", "{name: other,", 1)}, "---\n")
	code, out, stderr := runWithInput(t, text, nil, slices.Concat([]string{"plan", "-f=-"}, flags)...)
	if code != output.ExitChanges || strings.Count(out, "+ create backend-security-group/") != 1 || strings.Count(out, "# create backend-security-group/backend-sg is shown above, because several load balancers share it\n") != 1 {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
}
