package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// targetGroups creates, updates and deletes the target groups of a deployment.
type targetGroups struct{ *deployment }

type targetGroupSpec struct {
	Name, TargetType, Protocol, ProtocolVersion string
	IPAddressType                               string
	Port                                        int32
	TargetControlPort                           *int32
	HealthCheckConfig                           healthCheck
	TargetGroupAttributes                       []attribute
	Tags                                        map[string]string
}

type healthCheck struct {
	Port                                           *intstr.IntOrString
	Protocol, Path                                 string
	Matcher                                        *struct{ HTTPCode, GRPCCode string }
	IntervalSeconds, TimeoutSeconds                int32
	HealthyThresholdCount, UnhealthyThresholdCount int32
}

// nonZero returns a pointer to a value, or nil for the zero value.
func nonZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func (h healthCheck) port() *string {
	if h.Port == nil {
		return nil
	}
	return aws.String(h.Port.String())
}

func (h healthCheck) matcher() *elbtypes.Matcher {
	if h.Matcher == nil {
		return nil
	}
	return &elbtypes.Matcher{HttpCode: nonZero(h.Matcher.HTTPCode), GrpcCode: nonZero(h.Matcher.GRPCCode)}
}

// differs reports whether the health check of target group g differs from h. Fields that h does not set are not compared,
// except the protocol.
func (h healthCheck) differs(g elbtypes.TargetGroup) bool {
	number := func(want int32, have *int32) bool { return want != 0 && want != aws.ToInt32(have) }
	if m := h.Matcher; m != nil && (g.Matcher == nil || m.HTTPCode != stringValue(g.Matcher.HttpCode) || m.GRPCCode != stringValue(g.Matcher.GrpcCode)) {
		return true
	}
	return h.Port != nil && stringValue(h.port()) != stringValue(g.HealthCheckPort) || h.Protocol != string(g.HealthCheckProtocol) ||
		h.Path != "" && h.Path != stringValue(g.HealthCheckPath) || number(h.IntervalSeconds, g.HealthCheckIntervalSeconds) ||
		number(h.TimeoutSeconds, g.HealthCheckTimeoutSeconds) || number(h.HealthyThresholdCount, g.HealthyThresholdCount) ||
		number(h.UnhealthyThresholdCount, g.UnhealthyThresholdCount)
}

// stackTargetGroups returns the target groups in the VPC with the tags of the stack.
func (d targetGroups) stackTargetGroups() (out []taggedResource[elbtypes.TargetGroup], err error) {
	var all []elbtypes.TargetGroup
	var arns []string
	pages := elb.NewDescribeTargetGroupsPaginator(d.elb, &elb.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.TargetGroups {
			if stringValue(g.VpcId) == d.VPC {
				all, arns = append(all, g), append(arns, stringValue(g.TargetGroupArn))
			}
		}
	}
	tags, err := d.tagsOf(arns)
	if err != nil {
		return nil, err
	}
	for i, g := range all {
		if d.hasStackTags(tags[arns[i]]) {
			out = append(out, taggedResource[elbtypes.TargetGroup]{arns[i], g, tags[arns[i]]})
		}
	}
	return out, nil
}

// synthesize creates missing target groups and updates existing ones. It adds the deletion of target groups that are not
// desired to finalDeletions. It matches target groups by tags, not by name or port.
func (d targetGroups) synthesize() error {
	have, err := d.stackTargetGroups()
	if err != nil {
		return err
	}
	m, err := matchResources(d.deployment, document.TypeTargetGroup, wrapTagged(have), func(id string, h taggedResource[elbtypes.TargetGroup]) (bool, error) {
		var want targetGroupSpec
		err := d.decodeSpec(document.TypeTargetGroup, id, &want)
		g := h.resource
		return want.TargetType != string(g.TargetType) || want.Protocol != string(g.Protocol) ||
			want.ProtocolVersion != "" && want.ProtocolVersion != stringValue(g.ProtocolVersion) ||
			aws.ToInt32(want.TargetControlPort) != aws.ToInt32(g.TargetControlPort), err
	})
	if err != nil {
		return err
	}
	for _, id := range m.create {
		if err := d.createTargetGroup(id); err != nil {
			return fmt.Errorf("target group %s: %w", id, err)
		}
	}
	for _, u := range m.update {
		if err := d.updateTargetGroup(u.id, u.existing); err != nil {
			return fmt.Errorf("target group %s: %w", u.id, err)
		}
	}
	d.finalDeletions = append(d.finalDeletions, func() error {
		for _, g := range m.remove {
			if err := d.retry("ResourceInUse", 2*time.Second, 20*time.Second, func() error {
				d.announceChange("DeleteTargetGroup", g.id)
				_, err := d.elb.DeleteTargetGroup(d.ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: aws.String(g.id)})
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

func (d targetGroups) createTargetGroup(id string) error {
	var want targetGroupSpec
	if err := d.decodeSpec(document.TypeTargetGroup, id, &want); err != nil {
		return err
	}
	check := want.HealthCheckConfig
	in := &elb.CreateTargetGroupInput{
		Name: aws.String(want.Name), TargetType: elbtypes.TargetTypeEnum(want.TargetType), Port: aws.Int32(want.Port), VpcId: aws.String(d.VPC),
		Protocol: elbtypes.ProtocolEnum(want.Protocol), ProtocolVersion: nonZero(want.ProtocolVersion), TargetControlPort: want.TargetControlPort,
		HealthCheckEnabled: aws.Bool(true), HealthCheckPort: check.port(), HealthCheckProtocol: elbtypes.ProtocolEnum(check.Protocol), HealthCheckPath: nonZero(check.Path),
		Matcher: check.matcher(), HealthCheckIntervalSeconds: nonZero(check.IntervalSeconds), HealthCheckTimeoutSeconds: nonZero(check.TimeoutSeconds),
		HealthyThresholdCount: nonZero(check.HealthyThresholdCount), UnhealthyThresholdCount: nonZero(check.UnhealthyThresholdCount), Tags: elbTags(d.desiredTags(id, want.Tags)),
	}
	if want.IPAddressType != "ipv4" {
		in.IpAddressType = elbtypes.TargetGroupIpAddressTypeEnum(want.IPAddressType)
	}
	d.announceChange("CreateTargetGroup", want.Name)
	out, err := d.elb.CreateTargetGroup(d.ctx, in)
	if err != nil {
		return err
	}
	arn := stringValue(out.TargetGroups[0].TargetGroupArn)
	d.setReference(document.TypeTargetGroup, id, "targetGroupARN", arn)
	return d.updateAttributes(arn, want)
}

func (d targetGroups) updateTargetGroup(id string, g taggedResource[elbtypes.TargetGroup]) error {
	var want targetGroupSpec
	if err := d.decodeSpec(document.TypeTargetGroup, id, &want); err != nil {
		return err
	}
	if err := d.retag(g.id, d.desiredTags(id, want.Tags), g.tags); err != nil {
		return err
	}
	if check := want.HealthCheckConfig; check.differs(g.resource) {
		d.announceChange("ModifyTargetGroup", g.id)
		if _, err := d.elb.ModifyTargetGroup(d.ctx, &elb.ModifyTargetGroupInput{
			TargetGroupArn: aws.String(g.id), HealthCheckEnabled: aws.Bool(true), HealthCheckPort: check.port(), HealthCheckProtocol: elbtypes.ProtocolEnum(check.Protocol),
			HealthCheckPath: nonZero(check.Path), Matcher: check.matcher(), HealthCheckIntervalSeconds: nonZero(check.IntervalSeconds),
			HealthCheckTimeoutSeconds: nonZero(check.TimeoutSeconds), HealthyThresholdCount: nonZero(check.HealthyThresholdCount), UnhealthyThresholdCount: nonZero(check.UnhealthyThresholdCount),
		}); err != nil {
			return err
		}
	}
	d.setReference(document.TypeTargetGroup, id, "targetGroupARN", g.id)
	return d.updateAttributes(g.id, want)
}

func (d targetGroups) updateAttributes(arn string, want targetGroupSpec) error {
	out, err := d.elb.DescribeTargetGroupAttributes(d.ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(arn)})
	if err != nil {
		return err
	}
	change, err := changedAttributes[elbtypes.TargetGroupAttribute](want.TargetGroupAttributes, out.Attributes)
	if err != nil || len(change) == 0 {
		return err
	}
	d.announceChange("ModifyTargetGroupAttributes", arn)
	_, err = d.elb.ModifyTargetGroupAttributes(d.ctx, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(arn), Attributes: change})
	return err
}

// changedAttributes returns the attributes of want that are missing in have or have another value in have.
func changedAttributes[T any](want []attribute, have []T) (change []T, err error) {
	var live []attribute
	if err := convert(have, &live); err != nil {
		return nil, err
	}
	differ := slices.DeleteFunc(slices.Clone(want), func(a attribute) bool { return slices.Contains(live, a) })
	return change, convert(differ, &change)
}

// convert copies a value into a value of another type with the same field names. into is a pointer.
func convert(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
