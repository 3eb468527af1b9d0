// Package goldentest runs golden tests kept in txtar archives: one file per case, with what goes
// in, what comes out, and a comment that says what the case shows. With -update the outputs are
// rewritten. It knows nothing of what is tested.
package goldentest
