// Package wire implements AWS's protocols: awsQuery, ec2Query, awsJson1_1 and restXml.
// It decodes requests to the SDK's input structures and encodes output structures and
// errors as responses, by reflection.
//
// It rejects request members that the SDK does not have, or that the operation has not declared; the error contains
// the name of the member. It does not depend on the operations.
package wire
