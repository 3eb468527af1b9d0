// Package goldentest runs golden tests in txtar archives: one file per case, with inputs, outputs and a comment. With
// -update the outputs are rewritten. The package does not depend on the tested packages.
package goldentest
