// Package iam holds the rights in AWS that the controller needs, as IAM policies. They are generated from
// the table in config/rights. It grants nothing itself.
package iam

import "embed"

//go:embed *.json
var files embed.FS

// Policy is what the controller needs with default settings.
//
//go:embed policy.json
var Policy []byte

// Optional is what single features need besides; each statement is named after its feature.
//
//go:embed optional.json
var Optional []byte

// Targets is what an installation needs that makes no load balancers, and only registers targets in target groups that
// TargetGroupBindings name.
//
//go:embed targets.json
var Targets []byte

// Accelerators is what GlobalAccelerators need besides, in the one partition that has the service.
//
//go:embed accelerators.json
var Accelerators []byte

// PolicyOf is Policy in an AWS partition.
func PolicyOf(partition string) ([]byte, error) {
	if partition == "aws" {
		return Policy, nil
	}
	return files.ReadFile("policy-" + partition + ".json")
}
