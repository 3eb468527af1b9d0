package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
)

// secondBinding returns a TargetGroupBinding "bad" for Service "web", with more lines in its spec. bindingTo returns the
// first TargetGroupBinding of that Service.
func secondBinding(lines ...string) string {
	return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: bad, namespace: shop}
spec:
  serviceRef: {name: web, port: 80}
  %s
`, strings.Join(lines, "\n  "))
}

// classWith returns an IngressClass "bad", its IngressClassParams with a spec, and an Ingress "bad" of this class.
func classWith(spec string) string {
	return `
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: bad}
spec: ` + spec + `
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: bad}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: bad}}
---` + strings.NewReplacer("ingressClassName: alb", "ingressClassName: bad", "name: web\n", "name: bad\n").Replace(webIngress("", "/bad=web"))
}

// badIngress returns an Ingress "bad" with annotations. It replaces the text old in the manifest by new.
func badIngress(old, new string, annotations string) string {
	return strings.NewReplacer("name: web\n", "name: bad\n", old, new).Replace(webIngress(annotations, "/bad=web"))
}

// TestInvalidObjectsAreReportedWithoutWebhooks checks that each object that the webhooks would reject gets a Warning
// event or a condition with a fix, and that older valid objects are still served. The harness runs no webhooks, so
// invalid objects are stored.
func TestInvalidObjectsAreReportedWithoutWebhooks(t *testing.T) {
	t.Parallel()
	const resource = "backend: {resource: {apiGroup: example.com, kind: Bucket, name: b}}"
	for name, c := range map[string]struct{ doc, reason string }{
		"no target group":         {secondBinding("targetType: ip"), "TargetGroupNotFound"},
		"target group is missing": {secondBinding("targetGroupName: nothing", "targetType: ip"), "TargetGroupNotFound"},
		"selector for pods":       {secondBinding("targetGroupARN: SPARE", "targetType: ip", "nodeSelector: {}"), "Unsupported"},
		"bound already":           {secondBinding("targetGroupARN: ARN", "targetType: ip"), "TargetGroupShared"},
		"not a VPC":               {secondBinding("targetGroupARN: SPARE", "targetType: ip", "vpcID: vpc-123"), "TargetGroupDiffers"},
		"QUIC to nodes":           {secondBinding("targetGroupARN: SPARE", "targetType: instance", "targetGroupProtocol: QUIC"), "Unsupported"},
		"a role for nodes":        {secondBinding("targetGroupARN: SPARE", "targetType: instance", "iamRoleArnToAssume: arn:aws:iam::123456789012:role/r"), "Unsupported"},
		"ranges that are none":    {classWith("{inboundCIDRs: [10.0.0.1]}"), "inboundCIDRs"},
		"subnets of nothing":      {classWith("{subnets: {}}"), "subnets"},
		"subnets twice over":      {classWith("{subnets: {ids: [subnet-1], tags: {a: [b]}}}"), "subnets"},
		"no tags of subnets":      {classWith("{subnets: {tags: {}}}"), "subnets"},
		"not admitted":            {classWith("{namespaceSelector: {matchLabels: {a: b}}}"), "does not match namespace"},
		"unreadable conditions":   {badIngress("", "", `, alb.ingress.kubernetes.io/conditions.web: '[{"field":"moon"}]'`), "unknown field"},
		"no Service":              {badIngress("backend: {service: {name: web, port: {number: 80}}}", resource, ""), "BackendUnsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				arn := r.Seeded.TargetGroups["external"]
				r.Apply(shop, readyPods("web", podAddresses[0]), bindingTo(arn), webIngress("", "/=web"))
				r.Settle(time.Minute)
				served := func() string { return activeTargetsWithZones(t, r, arn) + ", / answers " + r.servicesOfPath("/") }
				want := served()
				time.Sleep(time.Minute) // the valid TargetGroupBinding must be older
				r.Apply(strings.NewReplacer("targetGroupARN: ARN", "targetGroupARN: "+arn, "SPARE", createTargetGroup(t, r)).Replace(c.doc))
				r.Settle(5 * time.Minute)
				if reported := warningsOfBad(r); !strings.Contains(reported, c.reason) || !strings.Contains(reported, ";") {
					t.Errorf("reported: %q", reported)
				}
				expectEqual(t, "what is served", want, served())
			})
		})
	}
}

// createTargetGroup creates a target group "spare" with target type "ip" in AWS, and returns its ARN.
func createTargetGroup(t *testing.T, r *Harness) string {
	t.Helper()
	made, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("spare"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), TargetType: elbtypes.TargetTypeEnumIp, VpcId: &r.Seeded.VPC,
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(made.TargetGroups[0].TargetGroupArn)
}

// warningsOfBad returns the Warning events about objects with the name "bad", and the condition messages of
// TargetGroupBinding "bad", one per line.
func warningsOfBad(r *Harness) string {
	var out []string
	for _, o := range r.Store.All("Event") {
		if e := o.(*corev1.Event); e.InvolvedObject.Name == "bad" && e.Type == corev1.EventTypeWarning {
			out = append(out, e.Reason+" "+e.Message)
		}
	}
	for _, b := range bindingsOf(r, "shop") {
		if b.Name == "bad" {
			for _, c := range b.Status.Conditions {
				out = append(out, c.Message)
			}
		}
	}
	return strings.Join(out, "\n")
}
