package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/explain"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), output.Environment{Args: args, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	tests := map[string]struct {
		args   []string
		code   int
		stderr string // a part of the output
	}{
		"unknown flag":           {[]string{"--aws-vpc-cache-ttl=1m"}, 2, "unknown flag: --aws-vpc-cache-ttl"},
		"mistyped flag":          {[]string{"--clustername=c"}, 2, `unknown flag: --clustername; did you mean "--cluster-name"? run "fulcrum --help"`},
		"mistyped, of a command": {[]string{"plan", "--file-only"}, 1, `did you mean "--files-only"? run "fulcrum plan --help"`},
		"no such short flag":     {[]string{"plan", "-x", "shop"}, 1, `unknown shorthand flag: 'x' in -x; run "fulcrum plan --help"`},
		"unparsable value":       {[]string{"--sync-period=soon"}, 2, "invalid argument"},
		"unknown gate":           {[]string{"--feature-gates=Nothing=true"}, 2, "not known"},
		"help":                   {[]string{"--help"}, 0, ""},
		"invalid configuration":  {nil, 1, "--cluster-name is not set; set it to the name of the cluster"},
		"mistyped command":       {[]string{"paln", "--cluster-name=c"}, 1, `unknown command "paln"; the controller is not started; did you mean "plan"? run "fulcrum --help"`},
		"mistyped, with flags":   {[]string{"paln", "-f", "x", "-o", "json"}, 1, `did you mean "plan"?`},
		"mistyped after flags":   {[]string{"--cluster-name=c", "tre"}, 1, `did you mean "tree"?`},
		"no such command":        {[]string{"what", "ever"}, 1, `unknown command "what"; the controller is not started; run "fulcrum --help"`},
		"boolean with a space":   {[]string{"--cluster-name=c", "--enable-waf", "false"}, 1, "write a boolean flag as --flag=false"},
		"argument of a command":  {[]string{"orphans", "web.yaml"}, 1, `"fulcrum orphans" takes no argument, not "web.yaml"`},
		"no object":              {[]string{"plan", "web.yaml"}, 1, `"web.yaml" does not name an object; write KIND/NAME, for example ingress/web`},
		"mistyped kind":          {[]string{"tree", "ingres/web"}, 1, `kind "ingres" is not known (did you mean "ingress"?)`},
		"two scopes":             {[]string{"plan", "-A", "-n", "shop"}, 1, "[all-namespaces namespace]"},
		"help of a mistake":      {[]string{"help", "paln"}, 1, `unknown command "paln"; did you mean "plan"?`},
		"help of a command":      {[]string{"help", "plan"}, 0, ""},
		"unknown output":         {[]string{"plan", "-o", "xml"}, 1, `--output "xml" is not supported; use text, json or yaml; run "fulcrum plan --help"`},
		"bad throttle table":     {[]string{"--cluster-name=c", "--aws-api-throttle=x"}, 1, "--aws-api-throttle"},
		"no cluster to reach":    {[]string{"--cluster-name=c"}, 1, "no cluster"},
		"no such kubeconfig":     {[]string{"--cluster-name=c", "--kubeconfig=/nonexistent"}, 1, "/nonexistent"},
		"version":                {[]string{"version"}, 0, ""},
		"version flag":           {[]string{"--version"}, 0, ""},
		"flags of a command":     {[]string{"plan", "--bogus"}, 1, `unknown flag: --bogus; run "fulcrum plan --help"`},
		"plan of nothing":        {[]string{"plan", "--cluster-name=c"}, 1, "give objects with -f or a cluster"},
		"plan of a missing file": {[]string{"plan", "--cluster-name=c", "-f", "/nonexistent"}, 1, "/nonexistent"},
		"explain nonsense":       {[]string{"explain", "Nonsense"}, 1, "unknown reason \"Nonsense\""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit %d, want %d; stderr: %s", code, tc.code, stderr)
			}
			if lines := strings.Count(stderr, "\n"); strings.HasPrefix(stderr, "Error:") && lines != 1 {
				t.Errorf("%d lines", lines)
			}
		})
	}
}

func TestUnsupportedSettingsAreLogged(t *testing.T) {
	_, _, stderr := run(t, "--cluster-name=c", "--aws-vpc-tag-key=X", "--aws-vpc-tags=a=b", "--aws-api-endpoints=ec2=http://x,EC2=http://y", "--kubeconfig=/nonexistent")
	for _, want := range []string{"--aws-vpc-tag-key=X", "--aws-api-endpoints=ec2=http://x"} {
		if !strings.Contains(stderr, `"setting":"`+want+`"`) {
			t.Errorf("%s is not logged: %s", want, stderr)
		}
	}
}

func TestExplainListsEveryReason(t *testing.T) {
	_, list, _ := run(t, "explain")
	for _, s := range finding.Subjects {
		if !strings.Contains("\n\n"+list, "\n\n"+s.Name+"\n  "+string(s.Reasons[0])) {
			t.Errorf("%s is no heading of its reasons", s.Name)
		}
	}
	for _, r := range finding.Reasons {
		if !strings.Contains(list, string(r.Reason)) {
			t.Errorf("%s is not listed", r.Reason)
		}
		code, out, _ := run(t, "explain", strings.ToLower(string(r.Reason)))
		if code != 0 || !strings.Contains(out, r.Remedy) {
			t.Errorf("explain %s: exit %d, %s", r.Reason, code, out)
		}
	}
}

// TestExplainAcceptsSharedReasons checks that explain accepts each reason of events and conditions that several
// findings share, with text, JSON and YAML output.
func TestExplainAcceptsSharedReasons(t *testing.T) {
	for word, means := range explain.SharedReasons {
		for _, form := range []string{"-o=text", "-o=json", "-o=yaml"} {
			code, out, stderr := run(t, "explain", word, form)
			if code != 0 || !strings.Contains(out, means[:40]) || stderr != "" {
				t.Errorf("explain %s %s: exit %d, %s%s", word, form, code, out, stderr)
			}
		}
	}
}

// TestClusterNameIsReadFromEnvironment checks that the command plan reads the cluster name from FULCRUM_CLUSTER_NAME if
// --cluster-name is not set. The controller does not read the variable.
func TestClusterNameIsReadFromEnvironment(t *testing.T) {
	_, flags := startEmulator(t)
	flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.HasPrefix(f, "--cluster-name") })
	args := slices.Concat([]string{"plan", "-o=json", "-f=-"}, flags)
	text := classYAML + "---\n" + serviceYAML + "---\n" + ingressYAML
	code, out, stderr := runWithInput(t, text, map[string]string{"FULCRUM_CLUSTER_NAME": "prod"}, args...)
	if code != 2 || !strings.Contains(out, `"cluster": "prod"`) {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
	code, _, stderr = runWithInput(t, text, nil, args...)
	if want := "--cluster-name is not set; set it to the name of the cluster, as in the flags of the controller, or set FULCRUM_CLUSTER_NAME"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr = runWithInput(t, "", map[string]string{"FULCRUM_CLUSTER_NAME": "prod"}); code != 1 || !strings.Contains(stderr, "--cluster-name is not set; set it to the name of the cluster") {
		t.Errorf("the controller: exit %d: %s", code, stderr)
	}
}

// TestVersionFlagEqualsVersionCommand checks that the flag --version prints the same as the command "version".
func TestVersionFlagEqualsVersionCommand(t *testing.T) {
	_, command, _ := run(t, "version")
	code, flag, stderr := run(t, "--version")
	if code != 0 || flag != command || !strings.HasPrefix(flag, "fulcrum ") {
		t.Errorf("exit %d: %s%s, want %s", code, flag, stderr, command)
	}
}

// TestHelpShowsDefaultsOfCommands checks that the help of plan shows its defaults for --kubeconfig and --cluster-name. The
// controller has other defaults, so its help does not show them.
func TestHelpShowsDefaultsOfCommands(t *testing.T) {
	_, of, _ := run(t, "plan", "--help")
	_, controller, _ := run(t, "--help")
	for _, want := range []string{"then ~/.kube/config", "FULCRUM_CLUSTER_NAME"} {
		if !strings.Contains(of, want) || strings.Contains(controller, want) {
			t.Errorf("%q: %s", want, of)
		}
	}
}

// fullDisk is an io.Writer that fails.
type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestCommandsFailIfOutputCannotBeWritten checks that no command ends as if it had shown its result if standard output is
// closed or full, and that each says so once.
func TestCommandsFailIfOutputCannotBeWritten(t *testing.T) {
	_, flags := startEmulator(t)
	_, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	for _, args := range []string{"plan", "plan -o=json", "tree", "tree -o=dot", "get", "orphans", "doctor", "explain ingress/web -n=shop", "explain request http://web.example.com", "migrate status", "explain", "explain BackendNotFound", "version"} {
		words := strings.Fields(args)
		if args != "version" {
			words = append(words, flags...)
		}
		var stderr bytes.Buffer
		code := Run(t.Context(), output.Environment{Args: words, Stdin: strings.NewReader(""), Stdout: fullDisk{}, Stderr: &stderr, Getenv: func(k string) string { return map[string]string{"KUBECONFIG": config}[k] }})
		if want := "Error: the output was not written: no space left on device\n"; code != output.ExitFailed || strings.Count(stderr.String(), want) != 1 {
			t.Errorf("%s: exit %d: %s", args, code, stderr.String())
		}
	}
}
