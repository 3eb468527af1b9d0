// Package document describes the desired state of a stack as a document, for programs that compare stacks. It makes no
// decisions.
package document
