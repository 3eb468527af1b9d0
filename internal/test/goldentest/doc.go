// Package goldentest runs golden tests kept in txtar archives: one file per case, with what goes
// in, what comes out, and a comment on what the case shows. With -update the outputs are
// rewritten. It does not depend on what is tested.
package goldentest
