// Package rules plans the changes of the rules of a listener. Between any two steps, every request gets its answer
// from before the change or the one from after it.
package rules
