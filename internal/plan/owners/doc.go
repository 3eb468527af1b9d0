// Package owners determines which members own live listener rules and target groups, and which live target group becomes
// which desired one.
package owners
