// Package rules brings the rules of a listener from what is live to what is desired, so that every request gets its old or its new
// answer between any two steps.
package rules
