package harness

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// SecondRegion is the AWS region of a harness with Options.SharesAWSWith.
const SecondRegion = "eu-west-1"

// regionOf returns the AWS region of the cluster of a harness.
func regionOf(r *Harness) string {
	if r.opt.SharesAWSWith != nil {
		return SecondRegion
	}
	return RegionOf(r.Emulator)
}

// seedSecondRegion creates the network and the nodes of a second cluster in SecondRegion, without the other resources
// of Seed.
func seedSecondRegion(ctx context.Context, em *emulator.Emulator) (Seeded, error) {
	cfg := AWSConfig(em)
	cfg.Region = SecondRegion
	s := seeder{cfg: cfg, ec2: ec2.NewFromConfig(cfg), out: Seeded{Certs: map[string]string{}, TargetGroups: map[string]string{}}}
	err := runSeedSteps(ctx, []seedStep{
		{"VPC", s.createVPC}, {"subnets", s.createSubnets}, {"internet gateway", s.createInternetGateway}, {"security group of nodes", s.createNodeSecurityGroup}, {"instances", s.createInstances},
	})
	return s.out, err
}

// shippedPolicies returns all IAM policies of config/iam for the partition of the emulator.
func shippedPolicies(t testing.TB, em *emulator.Emulator) [][]byte {
	t.Helper()
	policy, err := iam.PolicyForPartition(em.Store().AWSPartition().Name)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{policy, iam.OptionalPolicy, iam.AcceleratorsPolicy}
}
