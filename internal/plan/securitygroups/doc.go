// Package securitygroups plans the managed security group of a stack with its rules, and the backend security group,
// which all load balancers of the cluster share.
//
// Each set of namespaces that listen on the same ports opens and closes them in the managed security group by a step of
// its own, so that a step that AWS refuses does not hold a change of other members.
package securitygroups
