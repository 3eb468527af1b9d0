package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cli/explain"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestExplainShowsRefusedSubnets checks that explain shows the reason why a subnet was not chosen.
func TestExplainShowsRefusedSubnets(t *testing.T) {
	em, flags := startEmulator(t)
	client := ec2.NewFromConfig(harness.AWSConfig(em))
	vpcs, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: awssdk.String("tag:Name"), Values: []string{harness.ClusterName}}}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
		VpcId: vpcs.Vpcs[0].VpcId, AvailabilityZone: awssdk.String(harness.Region + "a"), CidrBlock: awssdk.String("10.0.96.0/20"),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSubnet, Tags: []ec2types.Tag{
			{Key: awssdk.String("kubernetes.io/role/internal-elb"), Value: awssdk.String("1")},
			{Key: awssdk.String("kubernetes.io/cluster/other"), Value: awssdk.String("shared")},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	em.Calls().Reset()
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	code, out, stderr := runWithInput(t, text, nil, slices.Concat([]string{"explain", "ingress/web", "-n=shop", "-f=-"}, flags)...)
	if want := "      not " + *made.Subnet.SubnetId + " us-west-2a: it is tagged for other clusters only\n"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
	code, out, stderr = runWithInput(t, text, nil, slices.Concat([]string{"explain", "ingress/web", "-n=shop", "-f=-", "-o=json"}, flags)...)
	var doc explain.Document
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	subnets := doc.Stacks[0].LoadBalancers[0].Subnets
	if len(subnets.Refused) != 1 || subnets.Refused[0].ID != *made.Subnet.SubnetId || len(subnets.Chosen) != 3 || subnets.How != "discovered" {
		t.Errorf("%+v", subnets)
	}
	if n := em.Calls().CountMutating(); n > 0 {
		t.Errorf("%d calls that change something", n)
	}
}

// TestExplainShowsWarningsOfController checks that explain shows the warnings in the events and conditions of an object,
// newest first.
func TestExplainShowsWarningsOfController(t *testing.T) {
	_, flags := startEmulator(t)
	server, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: edge, sectionName: http}, {name: edge, namespace: infra, port: 443}, {name: set, kind: ListenerSet}]}
status:
  parents:
  - {controllerName: c, parentRef: {name: edge, sectionName: http}, conditions: [{type: Accepted, status: "False", reason: NoMatchingParent, message: "no listener", lastTransitionTime: "2026-01-02T03:04:08Z"}]}
  - {controllerName: c, parentRef: {name: edge, namespace: infra, port: 443}, conditions: [{type: Accepted, status: "False", reason: NotAllowedByListeners, message: "not admitted", lastTransitionTime: "2026-01-02T03:04:07Z"}]}
  - {controllerName: c, parentRef: {name: set, kind: ListenerSet}, conditions: [{type: ResolvedRefs, status: "False", reason: BackendNotFound, message: "no Service", lastTransitionTime: "2026-01-02T03:04:06Z"}]}
`, strings.ReplaceAll(`apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: web, namespace: shop}
spec: {targetGroupARN: "@", targetType: ip, serviceRef: {name: web, port: 80}}
status: {conditions: [{type: Ready, status: "False", reason: AccessDenied, message: "AWS denies elasticloadbalancing:RegisterTargets", lastTransitionTime: "2026-01-02T03:04:05Z"}]}
`, "@", "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/web/1")}, "---\n"))
	server.addEvent("shop", "Ingress", "web", "Warning", "AccessDenied", "AccessDenied: AWS denies elasticloadbalancing:CreateRule", "2026-01-02T03:04:05Z", 7)
	server.addEvent("shop", "Ingress", "web", "Warning", "QuotaExceeded", "QuotaExceeded: no more rules", "2026-01-02T03:00:00Z", 1)
	server.addEvent("shop", "Ingress", "web", "Normal", "SuccessfullyReconciled", "done", "2026-01-02T04:04:05Z", 1)
	server.addEvent("shop", "Ingress", "other", "Warning", "AccessDenied", "another one", "2026-01-02T04:04:05Z", 1)
	for object, want := range map[string]string{
		"ingress/web": "\nwarnings about the object, newest first\n" +
			"  2026-01-02T03:04:05Z event AccessDenied (7 times): AccessDenied: AWS denies elasticloadbalancing:CreateRule\n" +
			"  2026-01-02T03:00:00Z event QuotaExceeded: QuotaExceeded: no more rules\n",
		"httproute/web": "  2026-01-02T03:04:08Z parent Gateway shop/edge listener \"http\" condition Accepted NoMatchingParent: no listener\n" +
			"  2026-01-02T03:04:07Z parent Gateway infra/edge port 443 condition Accepted NotAllowedByListeners: not admitted\n" +
			"  2026-01-02T03:04:06Z parent ListenerSet shop/set condition ResolvedRefs BackendNotFound: no Service\n",
		"tgb/web": "  2026-01-02T03:04:05Z condition Ready AccessDenied: AWS denies elasticloadbalancing:RegisterTargets\n",
	} {
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"explain", object, "-n=shop"}, flags)...)
		if code != 0 || !strings.HasSuffix(out, want) {
			t.Errorf("exit %d: %s%s", code, stderr, out)
		}
	}
}
