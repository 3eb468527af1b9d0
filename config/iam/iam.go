// Package iam has the IAM policies with the controller's permissions as files, which are generated from
// the table in config/rights.
package iam

import "embed"

//go:embed *.json
var files embed.FS

// Policy has the permissions that every installation in the AWS partition "aws" needs.
//
//go:embed policy.json
var Policy []byte

// OptionalPolicy has the additional permissions that optional features need. Each statement is named after its feature.
//
//go:embed optional.json
var OptionalPolicy []byte

// TargetsPolicy has the permissions for an installation that creates no load balancers, and only registers targets in the
// target groups of TargetGroupBindings.
//
//go:embed targets.json
var TargetsPolicy []byte

// AcceleratorsPolicy has the additional permissions for GlobalAccelerators in partition "aws", the only partition with AWS
// Global Accelerator.
//
//go:embed accelerators.json
var AcceleratorsPolicy []byte

// PolicyForPartition returns the policy that every installation in an AWS partition needs, or an error for an unknown
// partition.
func PolicyForPartition(partition string) ([]byte, error) {
	if partition == "aws" {
		return Policy, nil
	}
	return files.ReadFile("policy-" + partition + ".json")
}
