// Package network decides questions of subnets, security groups and address ranges from facts
// that were read before: which subnets a load balancer gets and why the others were rejected,
// which rules of a security group are to be added and removed, and which security group of an
// ENI carries the rules of an endpoint. It makes no calls.
package network
