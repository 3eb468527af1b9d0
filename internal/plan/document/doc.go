// Package document describes the desired state of a stack as a document, for programs that compare stacks. All decisions,
// such as the choice of subnets, must be made before the document is created.
package document
