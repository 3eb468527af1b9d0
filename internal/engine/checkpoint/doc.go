// Package checkpoint remembers which desired state of each stack was last carried out in full, so
// that a process that starts need not look at all of AWS at once. It decides when a stack is looked
// at, never what is done with it: without its memory the same happens, sooner. It keeps nothing in
// clear and stores nothing itself.
package checkpoint
