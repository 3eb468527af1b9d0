package cli

import (
	"slices"
	"strings"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestOrphansRefusesFiles checks that orphans refuses --filename and --observed. Files may have only a part of the cluster,
// so all other load balancers would be reported as orphans.
func TestOrphansRefusesFiles(t *testing.T) {
	_, flags := startEmulator(t)
	for _, more := range []string{"--filename=/nonexistent", "--observed=/nonexistent"} {
		var out, errs strings.Builder
		code := Run(t.Context(), output.Environment{Args: append([]string{"orphans", more}, flags...), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
		if code == 0 || !strings.Contains(errs.String(), "would look like orphans") || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", more, code, out.String(), errs.String())
		}
	}
}

// createOwnedLoadBalancer creates a load balancer with the tags of a stack of the cluster.
func createOwnedLoadBalancer(t *testing.T, em *emulator.Emulator, name string, id model.StackID) {
	t.Helper()
	var tags []elbtypes.Tag
	for k, v := range naming.ResourceTags(harness.ClusterName, id, model.LoadBalancerID, nil) {
		tags = append(tags, elbtypes.Tag{Key: new(k), Value: new(v)})
	}
	in := &elb.CreateLoadBalancerInput{Name: new(name), Subnets: privateSubnetIDs(t, em)[:2], Tags: tags, Scheme: elbtypes.LoadBalancerSchemeEnumInternal}
	if _, err := elb.NewFromConfig(harness.AWSConfig(em)).CreateLoadBalancer(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// TestOrphansListsOnlyOrphansOfNamespace checks that orphans -n lists only load balancers whose tags name an object of that
// namespace. It lists no load balancers of IngressGroups, because their members may be in other namespaces.
func TestOrphansListsOnlyOrphansOfNamespace(t *testing.T) {
	em, flags := startEmulator(t)
	for name, id := range map[string]model.StackID{
		"own": {Kind: model.Ingress, Namespace: "shop", Name: "web"}, "other": {Kind: model.Ingress, Namespace: "team", Name: "web"}, "group": {Kind: model.Ingress, Name: "edge"},
	} {
		createOwnedLoadBalancer(t, em, name, id)
	}
	namespaces := ""
	for _, name := range []string{"shop", "team", "empty"} {
		namespaces += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"
	}
	_, config := serveCluster(t, classYAML+namespaces)
	for namespace, want := range map[string][]string{"": {"edge", "shop/web", "team/web"}, "shop": {"shop/web"}, "team": {"team/web"}, "empty": nil} {
		args := append([]string{"orphans"}, flags...)
		if namespace != "" {
			args = append(args, "-n="+namespace)
		}
		code, out, errs := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, args...)
		var got []string
		for line := range strings.Lines(out) {
			if id, ok := strings.CutPrefix(line, "Ingress "); ok {
				got = append(got, strings.TrimSpace(id))
			}
		}
		if code != 0 || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("of namespace %q: exit %d, %q, want %q\n%s%s", namespace, code, got, want, out, errs)
		}
	}
}

// TestOrphansOmitsObjectWithLongName checks that the load balancer of an Ingress is no orphan if the stack tag has only the
// beginning of the name of the Ingress.
func TestOrphansOmitsObjectWithLongName(t *testing.T) {
	em, flags := startEmulator(t)
	namespace := strings.Repeat("n", 63)
	name := func(first string) string { return first + strings.Repeat("a", 240) }
	for _, first := range []string{"kept", "gone"} {
		createOwnedLoadBalancer(t, em, first, model.StackID{Kind: model.Ingress, Namespace: namespace, Name: name(first)})
	}
	kept := "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {namespace: " + namespace + ", name: " + name("kept") + ", finalizers: [ingress.k8s.aws/resources]}\nspec: {ingressClassName: alb}\n"
	_, config := serveCluster(t, classYAML+"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n"+kept)
	code, out, errs := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append([]string{"orphans"}, flags...)...)
	if code != 0 || strings.Contains(out, "/kept/") || !strings.Contains(out, "/gone/") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestOrphansFailsIfSecurityGroupsCannotBeRead checks that orphans and doctor do not say that every resource belongs to an
// object if AWS refuses to list security groups.
func TestOrphansFailsIfSecurityGroupsCannotBeRead(t *testing.T) {
	em, flags := startEmulator(t)
	_, config := serveCluster(t, classYAML)
	em.Faults().Add(fault.Rule{Operation: "DescribeSecurityGroups", Action: fault.Action{Deny: true}})
	for command, want := range map[string]string{"orphans": `AWS refuses the call "EC2 DescribeSecurityGroups"`, "doctor": `warning orphans      not checked in full, as the right to call "EC2 DescribeSecurityGroups" is missing, see "permissions"`} {
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{command, "--flags-from=none"}, flags)...)
		if code != output.ExitFailed || !strings.Contains(out+stderr, want) || strings.Contains(out, "belongs to an object") {
			t.Errorf("%s: exit %d: %s%s", command, code, stderr, out)
		}
	}
}
