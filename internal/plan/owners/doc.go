// Package owners determines which members own live listener rules and target groups, and which live target group is
// kept for each desired one.
package owners
