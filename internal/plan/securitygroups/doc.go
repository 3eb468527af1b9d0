// Package securitygroups plans the managed security group of a stack with its rules, and the backend security group,
// which all load balancers of the cluster share.
//
// There is a separate step for each set of namespaces that listen on the same ports, which opens and closes these ports in
// the managed security group. If AWS refuses such a step, the changes of other members are still made.
package securitygroups
