// Package iam holds the rights in AWS that the controller needs, as IAM policies. It grants
// nothing itself.
package iam

import _ "embed"

// Policy is what the controller needs with default settings.
//
//go:embed policy.json
var Policy []byte

// Optional is what single features need besides; each statement is named after its feature.
//
//go:embed optional.json
var Optional []byte
