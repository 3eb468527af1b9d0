// Package securitygroups makes the security group of a stack and the shared one of the cluster, with their rules.
package securitygroups
