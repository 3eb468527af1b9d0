// Package securitygroups plans the managed security group of a stack with its rules, and the backend security group,
// which all load balancers of the cluster share.
//
// Each set of namespaces that listen on the same ports has its own step, which opens and closes these ports in the managed
// security group. If AWS refuses this step, the steps of other namespaces are still made.
package securitygroups
