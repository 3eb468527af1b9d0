// Package securitygroups plans the managed security group of a stack with its rules, and the backend security group,
// which all load balancers of the cluster share.
package securitygroups
