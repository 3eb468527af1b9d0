// Package wire implements AWS's protocols: awsQuery, ec2Query, awsJson1_1 and restXml.
// It turns requests into the SDK's input structures and output structures into
// responses, by reflection, and owns the form of errors.
//
// A request member that the SDK does not have is rejected by name, and so is one that
// the operation has not declared: nothing is ignored. This package does not depend on
// what the operations do.
package wire
