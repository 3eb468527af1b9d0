package emulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		emulator.New(emulator.Options{})
	}
}

func BenchmarkDescribeSubnets(b *testing.B) {
	c := ec2.NewFromConfig(clientConfig(emulator.New(emulator.Options{}), testAccessKey))
	for b.Loop() {
		if _, err := c.DescribeSubnets(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
