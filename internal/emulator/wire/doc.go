// Package wire speaks AWS's protocols: awsQuery, ec2Query, awsJson1_1 and
// restXml. It turns requests into the SDK's input structures and output
// structures into responses, by reflection, and owns the form of errors.
//
// A request member that the SDK does not know is refused by name, and so is a
// known one that the operation has not declared: nothing is ignored. What the
// operations do is none of this package's business.
package wire
