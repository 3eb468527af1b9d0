// Package network decides questions of subnets, security groups and address ranges from facts
// that were read before: which subnets a load balancer gets and why the others were refused,
// which rules of a group are to be added and taken away, and which group of an interface carries
// the rules of an endpoint. It reads nothing itself.
package network
