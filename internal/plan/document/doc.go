// Package document describes the desired state of a stack as a document, for programs that compare stacks. The decisions,
// such as which subnets are used, are made before.
package document
