// Package wire implements the protocols of AWS: awsQuery, ec2Query, awsJson1_1 and restXml. By reflection, it decodes
// requests to the input structures of the SDK, and encodes output structures and errors as responses.
//
// It rejects request members that the SDK does not have, or that the operation does not handle. The error names the member.
// The package does not depend on the operations.
package wire
