// Package owners determines which members own existing listener rules and target groups. It also records which existing
// target group is used for which desired target group.
package owners
