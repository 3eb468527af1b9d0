package ec2_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// harness is an emulator in memory, with an EC2 client of account 111122223333 in us-west-2.
type harness struct {
	*ec2.Client
	t  *testing.T
	em *emulator.Emulator
}

func newHarness(t *testing.T) harness {
	o := emulator.Options{Seed: 1}
	awsmodel.WatchAnswers(t, &o)
	em := emulator.New(o)
	return harness{t: t, em: em, Client: ec2.NewFromConfig(aws.Config{
		Region: "us-west-2", HTTPClient: em.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA111122223333", "secret", ""),
	})}
}

// withPartition calls f with the state of account 111122223333 in us-west-2. During the call the emulator state is locked.
func (c harness) withPartition(f func(p *store.Partition)) {
	c.em.Store().Lock()
	defer c.em.Store().Unlock()
	f(c.em.Store().Partition("111122223333", "us-west-2"))
}

func (c harness) createVPC(block string) string {
	c.t.Helper()
	out, err := c.CreateVpc(c.t.Context(), &ec2.CreateVpcInput{CidrBlock: &block, AmazonProvidedIpv6CidrBlock: aws.Bool(true)})
	return *must(c.t, out, err).Vpc.VpcId
}

func (c harness) createSubnet(vpc, block, zone string, tags ...string) string {
	c.t.Helper()
	out, err := c.CreateSubnet(c.t.Context(), &ec2.CreateSubnetInput{
		VpcId: &vpc, CidrBlock: &block, AvailabilityZone: &zone, TagSpecifications: tagSpecifications(types.ResourceTypeSubnet, tags...),
	})
	return *must(c.t, out, err).Subnet.SubnetId
}

func (c harness) createSecurityGroup(vpc, name string, tags ...string) string {
	c.t.Helper()
	out, err := c.CreateSecurityGroup(c.t.Context(), &ec2.CreateSecurityGroupInput{
		VpcId: &vpc, GroupName: &name, Description: aws.String("a group"), TagSpecifications: tagSpecifications(types.ResourceTypeSecurityGroup, tags...),
	})
	return *must(c.t, out, err).GroupId
}

func (c harness) launchInstances(subnet string, n int32, groups ...string) []types.Instance {
	c.t.Helper()
	out, err := c.RunInstances(c.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String("ami-1"), MinCount: &n, MaxCount: &n, InstanceType: types.InstanceTypeM5Large,
		SubnetId: &subnet, SecurityGroupIds: groups,
	})
	return must(c.t, out, err).Instances
}

// tagSpecifications returns the tags for a create request. tags contains keys and values in turn.
func tagSpecifications(kind types.ResourceType, tags ...string) []types.TagSpecification {
	if len(tags) == 0 {
		return nil
	}
	return []types.TagSpecification{{ResourceType: kind, Tags: tagList(tags...)}}
}

func tagList(tags ...string) []types.Tag {
	var list []types.Tag
	for i := 0; i < len(tags); i += 2 {
		list = append(list, types.Tag{Key: &tags[i], Value: &tags[i+1]})
	}
	return list
}

func newFilter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// errorCode returns the code of an AWS error, the text of any other error, or "" for nil.
func errorCode(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return err.Error()
}

// checkCode reports a test error if the error code of err is not want. If want is "", err must be nil.
func checkCode(t *testing.T, want string, err error) {
	t.Helper()
	if got := errorCode(err); got != want {
		t.Errorf("want %q, got %v", want, err)
	}
}
