package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// commandsTestedElsewhere lists the commands in the documentation that the tests of this package do not run. page is the
// file of the page, and begins is a prefix of the commands. why is the test that runs them, or the reason why no test runs
// them.
var commandsTestedElsewhere = []struct{ page, begins, why string }{
	{"CONTRIBUTING.md", "make ", "they run tests"},
	{"docs/migration.md", "kubectl annotate gateway NAME", "testdata/migrate-back.txtar does the same to a Gateway"},
	{"README.md", "make ", "they run tests, or build what all tests here are run with"},
	{"README.md", "bin/fulcrum-local up", "TestUp in local/up"},
	{"README.md", "kubectl apply -f examples/first", "TestUp in local/up"},
	{"README.md", "kubectl wait -n first", "TestUp in local/up"},
	{"README.md", "bin/fulcrum ", "TestUp in local/up"},
	{"README.md", "fulcrum --cluster-name=NAME --kubeconfig=FILE", "TestUp in local/up"},
	{"README.md", "fulcrum --cluster-name=NAME", "in an EKS cluster; the other form, with a kubeconfig, is run"},
	{"README.md", "fulcrum plan ingress/web", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"README.md", "fulcrum tree", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"README.md", "fulcrum explain", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"README.md", "fulcrum orphans", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"README.md", "fulcrum doctor", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/accelerators.md", "kubectl -n shop get globalaccelerator", "TestAcceleratorLifecycle in internal/test/harness reads the same fields"},
	{"docs/console.md", "fulcrum console", "TestConsoleShowsDocumentsOfCommands in internal/cli"},
	{"docs/accelerators.md", "fulcrum tree", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/acceptance.md", "make acceptance", "TestAcceptance in local/cmd/fulcrum-acceptance runs the same program"},
	{"docs/acceptance.md", "bin/fulcrum-aws compare", "TestAcceptance in local/cmd/fulcrum-acceptance compares its recording"},
	{"docs/commands.md", "fulcrum plan ingress/web", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/commands.md", "fulcrum plan -f manifests/ --offline", "TestPlanWorksOffline in internal/cli"},
	{"docs/commands.md", "fulcrum tree", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/commands.md", "fulcrum explain", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/commands.md", "fulcrum orphans", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/commands.md", "fulcrum doctor", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/commands.md", "fulcrum get", "TestGetListsLoadBalancers in internal/cli"},
	{"docs/conformance.md", "make conformance", "they run the conformance suite"},
	{"docs/drift.md", "aws ", "needs the AWS command line; TestDriftIsFoundWithinAQuarterOfAnHour in internal/test/harness makes the same change"},
	{"docs/emulator.md", "bin/fulcrum-local up -f examples/shop", "TestUp in local/up"},
	{"docs/emulator.md", "curl ", "TestExamplesOfEmulatorPageWork in internal/emulator/serve"},
	{"docs/image.md", "make image", "tools/release builds an image twice"},
	{"docs/releases.md", "make release VERSION=v0.9.0", "tools/release makes a release twice"},
	{"docs/releases.md", "crane push", "needs a registry"},
	{"docs/releases.md", "sha256sum", "TestTakeOverRehearsal runs it for docs/install.md"},
	{"docs/image.md", "crane push", "needs a registry"},
	{"docs/install.md", "kubectl -n kube-system logs", "pods of a local world have no kubelet that serves logs"},
	{"docs/migration.md", "fulcrum migrate -f shop.yaml --check", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/migration.md", "fulcrum migrate -f frontend.yaml --check", "TestExamplesInPagesMatchOutput in internal/cli/reference"},
	{"docs/migration.md", "fulcrum migrate --from-cluster --group edge", "testdata/migrate.txtar"},
	{"docs/metrics.md", "bin/fulcrum-local up -f examples/shop", "TestUp in local/up"},
	{"docs/metrics.md", "curl ", "TestUp in local/up"},
	{"docs/permissions.md", "aws ", "needs an account of AWS; the policies are tested by internal/test/harness"},
	{"docs/process.md", "kubectl -n kube-system port-forward", "pods of a local world have no kubelet that forwards ports"},
	{"docs/process.md", "curl ", "TestLogLevelIsChangedAtRunTime in internal/cli"},
	{"docs/process.md", "go tool pprof", "TestServeStops in internal/controller reads the same server"},
	{"docs/targets-only.md", "aws ", "needs an account of AWS; the policy is tested by internal/test/harness"},
	{"docs/targets-only.md", "kubectl apply -f -", "TestTargetsPolicyIsMinimalForBindings in internal/test/harness applies a binding"},
	{"docs/tls-secrets.md", "kubectl get deployment -A", "needs a Deployment of the chart; the commands that follow it are tested by internal/controller"},
	{"local/README.md", "make ", "it builds what all tests here are run with"},
	{"local/README.md", "bin/", "TestUp in local/up, and make demo"},
}

// commandPrograms are the first words of the commands that documentedCommands returns. A word that ends with a slash is a
// prefix of the first word.
var commandPrograms = []string{"aws", "bin/", "cp", "crane", "curl", "fulcrum", "go", "helm", "kubectl", "make", "sha256sum"}

var codeFence = regexp.MustCompile("^ *```(.*)$")

// documentedCommands returns the commands in the fenced blocks of a page, in order, without comments. It skips commands that
// do not begin with a word of commandPrograms. In a block with the prompt "$ ", lines without the prompt are output.
func documentedCommands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(worldtest.SourceRoot(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var out, block []string
	inside, language := false, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		m := codeFence.FindStringSubmatch(line)
		switch {
		case m != nil && !inside:
			inside, language, block = true, m[1], nil
		case m != nil:
			inside = false
			if slices.Contains([]string{"", "console", "sh", "bash", "shell"}, language) {
				out = append(out, commandsInBlock(strings.Join(block, "\n"))...)
			}
		case inside:
			block = append(block, strings.TrimSpace(line))
		}
	}
	return out
}

func commandsInBlock(block string) []string {
	block = strings.ReplaceAll(block, "\\\n", "")
	prompts := strings.HasPrefix(block, "$ ") || strings.Contains(block, "\n$ ")
	var out []string
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if prompts != ok || !slices.ContainsFunc(commandPrograms, func(p string) bool {
			return strings.HasPrefix(command, p+" ") || strings.HasSuffix(p, "/") && strings.HasPrefix(command, p)
		}) {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		out = append(out, strings.Join(strings.Fields(command), " "))
	}
	return out
}

// documentationPages returns the paths of the documentation pages, from the root of the source tree.
func documentationPages(t *testing.T) []string {
	t.Helper()
	root := worldtest.SourceRoot(t)
	out := []string{"README.md", "CONTRIBUTING.md", "local/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			page, err := filepath.Rel(root, p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, filepath.ToSlash(page))
		}
	}
	return out
}

// testedElsewhereIndex returns the index in commandsTestedElsewhere of the entry for a command of a page, or -1.
func testedElsewhereIndex(page, command string) int {
	return slices.IndexFunc(commandsTestedElsewhere, func(e struct{ page, begins, why string }) bool {
		return e.page == page && strings.HasPrefix(command, e.begins)
	})
}

// TestEachDocumentedCommandIsRun checks that each command in the documentation is either run by a test of this package or
// listed in commandsTestedElsewhere. It also checks that both lists have only commands that the documentation contains.
func TestEachDocumentedCommandIsRun(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	commands := 0
	for _, page := range documentationPages(t) {
		for _, command := range documentedCommands(t, page) {
			commands++
			why := testedElsewhereIndex(page, command)
			used[why] = true
			if !slices.Contains(orderedPages, page) && slices.Contains(otherCommandsOf(page), command) == (why >= 0) {
				t.Errorf("%s: %q must be in otherCommands or in commandsTestedElsewhere, and not in both", page, command)
			}
		}
	}
	for i, e := range commandsTestedElsewhere {
		if !used[i] {
			t.Errorf("%s has no command that begins with %q; remove the entry from commandsTestedElsewhere", e.page, e.begins)
		}
		for _, m := range testReferencePattern.FindAllStringSubmatch(e.why, -1) {
			if !hasTest(t, cmp.Or(m[2], "local/e2e"), m[1]) {
				t.Errorf("commandsTestedElsewhere refers to %s, which does not exist", m[0])
			}
		}
		if script := scriptReferencePattern.FindString(e.why); script != "" {
			if _, err := os.Stat(script); err != nil {
				t.Errorf("commandsTestedElsewhere refers to a script that does not exist: %v", err)
			}
		}
	}
	for _, p := range otherCommands {
		for _, command := range p.commands {
			if !slices.Contains(documentedCommands(t, p.page), command) {
				t.Errorf("%s has no command %q", p.page, command)
			}
		}
	}
	if commands < 60 {
		t.Errorf("only %d commands were found", commands)
	}
}

// testReferencePattern matches the name of a test, with its directory unless it is in this package.
var testReferencePattern = regexp.MustCompile(`\b(Test[A-Z]\w*)(?: in ([\w/-]+))?`)

var scriptReferencePattern = regexp.MustCompile(`testdata/\S+\.txtar`)

// hasTest reports whether a directory of the source tree contains the test function with this name.
func hasTest(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(worldtest.SourceRoot(t), dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		text, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(text), "func "+test+"(")
	})
}

// orderedPages are the pages of which TestTakeOverRehearsal runs all commands in order.
var orderedPages = []string{"docs/install.md", "docs/takeover.md"}

// otherCommands are the commands of pages other than orderedPages. TestTakeOverRehearsal runs them at its end, in this
// order.
var otherCommands = []struct {
	page     string
	commands []string
}{
	{"README.md", []string{
		"kubectl apply -f config/crd -f config/rbac", "fulcrum plan --cluster-name=NAME", "fulcrum plan --cluster-name=NAME -n shop",
		"fulcrum plan --cluster-name=NAME -f web.yaml",
	}},
	{"docs/commands.md", []string{"cp bin/fulcrum /usr/local/bin/kubectl-fulcrum", "kubectl fulcrum plan -n shop --cluster-name=NAME"}},
	{"docs/ingress-stuck.md", []string{
		"kubectl describe ingress -n shop web", "fulcrum explain AccessDenied", "fulcrum plan --cluster-name=NAME",
		"kubectl get events -A --field-selector type=Warning",
	}},
	{"docs/load-balancer-group.md", []string{"kubectl get service -n shop"}},
	{"docs/permissions.md", []string{
		"kubectl -n kube-system annotate serviceaccount fulcrum eks.amazonaws.com/role-arn=ROLE_ARN", "kubectl apply -f config/rbac",
	}},
	{"docs/troubleshooting.md", []string{"kubectl describe ingress -n shop web", "fulcrum explain CertificateNotFound"}},
	{"docs/upgrades.md", []string{"fulcrum plan --cluster-name=prod --all", "kubectl apply --server-side -f config/crd"}},
	{"docs/replacement.md", []string{
		"kubectl annotate ingress -n shop web alb.ingress.kubernetes.io/scheme=internet-facing --overwrite",
		"fulcrum plan --cluster-name=NAME", "kubectl get ingress -n shop web -w",
	}},
	// The webhooks that this command configures do not respond in the test, so it is the last command.
	{"docs/chart-values.md", []string{"helm upgrade --install aws-load-balancer-controller charts/fulcrum -n kube-system -f values.yaml"}},
}

// otherCommandsOf returns the commands of a page in otherCommands.
func otherCommandsOf(page string) (out []string) {
	for _, p := range otherCommands {
		if p.page == page {
			out = append(out, p.commands...)
		}
	}
	return out
}

// adaptToLocalWorld replaces names in a command of the documentation with those of the local world with the recorded
// cases: the cluster name, the namespace "shop", the platform, and the directories of programs. It ends a watch after
// two seconds.
func (s *shell) adaptToLocalWorld(command string) string {
	command = regexp.MustCompile(`(cluster-?[nN]ame=)(shop|prod|NAME)`).ReplaceAllString(command, "${1}"+harness.ClusterName)
	command = strings.ReplaceAll(command, "-n shop", "-n ingress-minimal")
	command = strings.ReplaceAll(command, "_linux_amd64.", "_"+runtime.GOOS+"_"+runtime.GOARCH+".")
	command = strings.ReplaceAll(command, "bin/fulcrum ", filepath.Join(s.bin, "fulcrum")+" ")
	command = strings.ReplaceAll(command, "/usr/local/bin/", s.bin+"/")
	// kubectl never ends a watch; the exit code of a timeout is 124.
	return regexp.MustCompile(`^(kubectl get .*) -w$`).ReplaceAllString(command, "timeout 2 $1 -w || [ $$? = 124 ]")
}

// followPage runs the commands of a page in order, except those in commandsTestedElsewhere. After a command that begins with
// a key of after, it calls the function of that key. A command that fails ends the test.
func (s *shell) followPage(page string, after map[string]func(command, output string)) {
	s.t.Helper()
	called := map[string]bool{}
	for _, command := range documentedCommands(s.t, page) {
		if testedElsewhereIndex(page, command) >= 0 {
			continue
		}
		output, code := s.tryCommand(s.adaptToLocalWorld(command))
		refused := strings.Contains(command, "clustername=") // the page shows that Helm rejects this typo
		if (code != 0) != refused {
			s.t.Fatalf("%s: exit code %d of %q:\n%s", page, code, command, output)
		}
		for begins, do := range after {
			if strings.HasPrefix(command, begins) {
				called[begins] = true
				do(command, output)
			}
		}
	}
	for begins := range after {
		if !called[begins] {
			s.t.Errorf("%s has no command that begins with %q", page, begins)
		}
	}
}

// runOtherCommands runs the commands in otherCommands. A command that is on several pages runs only once, and once more
// after "kubectl annotate", which changes objects. A plan may have changes.
func (s *shell) runOtherCommands() {
	s.t.Helper()
	done := map[string]bool{}
	for _, p := range otherCommands {
		for _, command := range p.commands {
			if strings.HasPrefix(command, "kubectl annotate") {
				clear(done)
			}
			if done[s.adaptToLocalWorld(command)] {
				continue
			}
			done[s.adaptToLocalWorld(command)] = true
			output, code := s.tryCommand(s.adaptToLocalWorld(command))
			if planned := code == 2 && strings.Contains(command, "fulcrum plan"); code != 0 && !planned {
				s.t.Errorf("%s: exit code %d of %q:\n%s", p.page, code, command, output)
			}
		}
	}
}
