package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// leaseYAML returns the Lease of a controller in namespace "ingress". flags is the value of the annotation with the flags of
// the controller. If flags is empty, the Lease has no annotation.
func leaseYAML(flags string) string {
	annotations := "{}"
	if flags != "" {
		annotations = fmt.Sprintf("{fulcrum.dev/flags: %q}", flags)
	}
	return `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: aws-load-balancer-controller-leader, namespace: ingress, annotations: ` + annotations + `}
spec: {holderIdentity: fulcrum-0, renewTime: "2026-01-02T03:04:05.000000Z"}
`
}

func deploymentYAML(namespace, name string, args ...string) string {
	list, _ := json.Marshal(args)
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: ` + namespace + `, labels: {app.kubernetes.io/name: aws-load-balancer-controller}}
spec: {template: {spec: {containers: [{name: sidecar}, {name: aws-load-balancer-controller, args: ` + string(list) + `}]}}}
`
}

// TestCommandsUseFlagsOfController checks that plan uses the flags of the controller, which it reads from the Lease or the
// Deployment. Flags on the command line override them. A note names the flags in use, or says why none were found.
func TestCommandsUseFlagsOfController(t *testing.T) {
	const ip, instance = "type: ip", "type: instance"
	published := func(flags ...string) string {
		text, _ := json.Marshal(flags)
		return `{"holder":"fulcrum-0","flags":` + string(text) + `}`
	}
	cluster := "--cluster-name=" + harness.ClusterName
	for name, tc := range map[string]struct {
		server   []string // manifests
		denied   []string
		args     []string
		want     string // a part of the plan
		reported string // a part of the output about flags; empty if there is no such output
		fails    string
	}{
		"of the Lease": {server: []string{leaseYAML(published(cluster, "--default-target-type=ip")), deploymentYAML("ingress", "lb", "--cluster-name=other")},
			want: ip, reported: "# with the flags of the controller that holds Lease ingress/aws-load-balancer-controller-leader: " + cluster + " --default-target-type=ip\n"},
		"of the Lease that is renewed": {
			server: []string{leaseYAML(published(cluster, "--default-target-type=ip")), strings.NewReplacer("namespace: ingress", "namespace: before", "holderIdentity", "leaseDurationSeconds: 15, holderIdentity").Replace(leaseYAML(published(cluster)))},
			want:   ip, reported: "# with the flags of the controller that holds Lease ingress/aws-load-balancer-controller-leader: " + cluster + " --default-target-type=ip\n"},
		"of the Lease, and none": {server: []string{leaseYAML(published(cluster, "--default-target-type=ip"))}, args: []string{"--flags-from=none", cluster}, want: instance},
		"of the Lease, and given": {server: []string{leaseYAML(published(cluster, "--default-target-type=ip"))}, args: []string{"--default-target-type=instance"}, want: instance,
			reported: "has --default-target-type=ip; the values given here are used, so the controller may act differently\n"},
		"the same": {server: []string{leaseYAML(published(cluster))}, args: []string{cluster}, want: instance},
		"of a holder before": {server: []string{leaseYAML(`{"holder":"fulcrum-1","flags":["--default-target-type=ip"]}`), deploymentYAML("ingress", "lb", cluster, "--default-target-type", "ip", "--enable-waf=$(WAF)")},
			want: ip, reported: "# Deployment ingress/lb has flags that this version cannot read: --enable-waf; give them here if they matter\n"},
		"not of another namespace": {server: []string{leaseYAML(""), deploymentYAML("kube-system", "lb", cluster, "--default-target-type=ip"), deploymentYAML("ingress", "lb", cluster)},
			want: instance, reported: "# with the flags of Deployment ingress/lb: " + cluster + "\n"},
		"no Lease": {server: []string{deploymentYAML("kube-system", "aws-load-balancer-controller", cluster, "--default-target-type=ip")}, want: ip, reported: "# with the flags of Deployment kube-system/aws-load-balancer-controller: "},
		"several": {server: []string{deploymentYAML("a", "lb", "--default-target-type=ip"), deploymentYAML("b", "lb")}, args: []string{cluster}, want: instance,
			reported: "# the flags of the controller are not known: found several controllers: a/deployment/lb, b/deployment/lb; defaults and the flags given here are used."},
		"several, one named":  {server: []string{deploymentYAML("a", "lb", cluster, "--default-target-type=ip"), deploymentYAML("b", "lb")}, args: []string{"--flags-from=a/deployment/lb"}, want: ip, reported: "# with the flags of Deployment a/lb: "},
		"named, anywhere":     {server: []string{deploymentYAML("a", "lb", cluster, "--default-target-type=ip")}, args: []string{"--flags-from=deploy/lb"}, want: ip, reported: "# with the flags of Deployment a/lb: "},
		"named, and not":      {server: []string{deploymentYAML("a", "lb")}, args: []string{"--flags-from=a/deployment/bl"}, fails: `Error: --flags-from "a/deployment/bl": Deployment a/bl does not exist; set --flags-from=none and give the flags of the controller on the command line`},
		"named, no right":     {server: []string{deploymentYAML("a", "lb")}, denied: []string{"deployments"}, args: []string{"--flags-from=a/deployment/lb"}, fails: `you have no permission to read Deployment a/lb; set --flags-from=none and give the flags of the controller on the command line`},
		"anywhere, no right":  {server: []string{deploymentYAML("a", "lb")}, denied: []string{"deployments"}, args: []string{"--flags-from=deployment/lb"}, fails: `you have no permission to read Deployments of all namespaces; give the namespace of the Deployment, as in NAMESPACE/deployment/lb, or set --flags-from=none and give the flags`},
		"named, and nowhere":  {server: []string{deploymentYAML("a", "lb")}, args: []string{"--flags-from=deployment/bl"}, fails: `Error: --flags-from "deployment/bl": no Deployment "bl" exists in any namespace; correct the name, or set --flags-from=none and give the flags`},
		"no right to objects": {denied: []string{"ingresses"}, args: []string{"--flags-from=none", cluster}, fails: "a plan reads objects of all namespaces, because they can share load balancers: bind the rules of config/rbac"},
		"named, and no name":  {args: []string{"--flags-from=lb"}, fails: `Error: --flags-from "lb": write deployment/NAME or NAMESPACE/deployment/NAME, or none`},
		"nothing":             {server: []string{deploymentYAML("a", "lb")}, denied: []string{"deployments"}, args: []string{cluster}, want: instance, reported: `not known: no controller holds a Lease "aws-load-balancer-controller-leader", and you have no permission to read Deployments; defaults`},
		"no right":            {server: []string{leaseYAML(published("--default-target-type=ip")), deploymentYAML("a", "lb")}, denied: []string{"leases", "deployments"}, args: []string{cluster}, want: instance, reported: "not known: you have no permission to read Lease kube-system/aws-load-balancer-controller-leader, and you have no permission to read Deployments; defaults"},
		"to another address":  {server: []string{leaseYAML(published(cluster, "--aws-api-endpoints=EC2=http://127.0.0.1:1", "--kubeconfig=/none", "--default-target-type=ip"))}, want: ip, reported: "leader: " + cluster + " --default-target-type=ip\n"},
		"no cluster is named": {server: []string{leaseYAML(published())}, fails: "Error: --cluster-name is not set; set it to the name of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			_, flags := startEmulator(t)
			flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--cluster-name") })
			service := strings.Replace(serviceYAML, "ports: [{port: 80}]", "selector: {app: web}, ports: [{port: 80, nodePort: 30080}]", 1)
			server, config := serveCluster(t, strings.Join([]string{classYAML, service, ingressYAML}, "---\n"))
			for _, text := range tc.server {
				server.addManifest(t, text)
			}
			server.forbiddenResources = map[string]bool{}
			for _, kind := range tc.denied {
				server.forbiddenResources[kind] = true
			}
			code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"plan", "-o=json"}, tc.args, flags)...)
			if tc.fails != "" {
				if code != output.ExitFailed || !strings.Contains(stderr, tc.fails) {
					t.Errorf("exit %d: %s", code, stderr)
				}
				return
			}
			kind := `"to": "` + strings.TrimPrefix(tc.want, "type: ") + `"`
			if code != output.ExitChanges || !json.Valid([]byte(out)) || !strings.Contains(out, kind) {
				t.Errorf("exit %d, want %s: %s%s", code, kind, stderr, out)
			}
			if !strings.Contains(stderr, tc.reported) || (stderr == "") != (tc.reported == "") {
				t.Errorf("%q is not printed: %s", tc.reported, stderr)
			}
		})
	}
}

// TestEveryCommandUsesFlagsOfController checks that each command that reads a cluster and AWS reads the cluster name, the
// region and the VPC from the flags of the controller.
func TestEveryCommandUsesFlagsOfController(t *testing.T) {
	_, flags := startEmulator(t)
	var theirs, mine []string
	for _, f := range flags {
		if strings.HasPrefix(f, "--aws-api-endpoints") {
			mine = append(mine, f)
		} else {
			theirs = append(theirs, f)
		}
	}
	list, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	server.addManifest(t, leaseYAML(`{"holder":"fulcrum-0","flags":`+string(list)+`}`))
	for _, command := range [][]string{{"plan"}, {"tree"}, {"get"}, {"migrate", "status"}, {"orphans"}, {"doctor"}, {"explain", "ingress/web", "-n=shop"}, {"explain", "request", "http://x.example"}} {
		_, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append(slices.Concat(command, mine), "-o=json")...)
		if !strings.Contains(out, `"cluster": "`+harness.ClusterName+`"`) || !strings.HasPrefix(stderr, "# with the flags of the controller that holds Lease ingress/") {
			t.Errorf("%s: %s%s", command, stderr, out)
		}
		if command[0] == "doctor" && !strings.Contains(out, "has not renewed the Lease ingress/") {
			t.Error(out)
		}
	}
}

// TestChangedFlagsOfControllerAreReported checks that a command that reads the cluster repeatedly, such as the console,
// prints a note once when the flags of the controller have changed, because it goes on with those before.
func TestChangedFlagsOfControllerAreReported(t *testing.T) {
	server, config := serveCluster(t, classYAML)
	leases := schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
	var stderr strings.Builder
	d, cmd := &input.Source{Env: output.Environment{Getenv: func(string) string { return "" }, Stderr: &stderr}}, &cobra.Command{}
	d.Bind(cmd)
	if err := cmd.ParseFlags([]string{"--kubeconfig=" + config}); err != nil {
		t.Fatal(err)
	}
	for i, flags := range []string{`"--cluster-name=a"`, `"--cluster-name=a"`, `"--cluster-name=a","--default-target-type=ip"`, `"--cluster-name=a","--default-target-type=ip"`} {
		server.objects[leases]["leases"] = nil
		server.addManifest(t, leaseYAML(`{"holder":"fulcrum-0","flags":[`+flags+`]}`))
		stderr.Reset()
		if _, err := d.Objects(t.Context(), nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		const want = "# the flags of the controller that holds Lease ingress/aws-load-balancer-controller-leader have changed; what is shown is with those before; start the command again\n"
		if (stderr.String() == want) != (i == 2) || cmd.Flags().Lookup("default-target-type").Value.String() == "ip" {
			t.Errorf("look %d: %s", i, stderr.String())
		}
	}
}

// TestNotesOfAViewFollowRights checks that the console, which reads the cluster repeatedly, says which kinds it may not list
// only until it may, and which flags of the controller it uses as long as it runs.
func TestNotesOfAViewFollowRights(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	server.addManifest(t, leaseYAML(`{"holder":"fulcrum-0","flags":["--default-target-type=ip"]}`))
	server.forbiddenResources = map[string]bool{"gateways": true}
	cmd := &cobra.Command{}
	v := tree.NewView(cmd, output.Environment{Getenv: func(string) string { return "" }})
	if err := cmd.ParseFlags(append(flags, "--kubeconfig="+config, "-n=shop")); err != nil {
		t.Fatal(err)
	}
	for i, denied := range []bool{true, true, false} {
		server.forbiddenResources["gateways"] = denied
		_, got, err := v.Update(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.Notes, "you have no permission to list them: Gateway") != denied || !strings.Contains(got.Notes, "# with the flags of the controller") {
			t.Errorf("look %d: %s", i, got.Notes)
		}
	}
}
