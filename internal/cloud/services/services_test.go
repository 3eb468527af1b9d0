package services_test

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// TestPartitions checks that the region determines the partition, and that Global Accelerator exists only in the partition
// aws.
func TestPartitions(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "aws", "us-east-1": "aws", "EU-WEST-1": "aws", "eu-isolde-1": "aws", "": "aws",
		"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "eusc-de-east-1": "aws-eusc", "EUSC-DE-EAST-1": "aws-eusc",
		"us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f",
	} {
		if got := services.Partition(region); got != want || services.HasAccelerators(got) != (want == "aws") {
			t.Errorf("%q is in %s, want %s", region, got, want)
		}
	}
}
