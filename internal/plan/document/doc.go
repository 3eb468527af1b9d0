// Package document describes what a stack becomes, as a document for tools that compare stacks. It chooses nothing.
package document
