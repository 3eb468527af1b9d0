// Package network chooses subnets and security groups from facts: which subnets a load balancer gets and why other subnets
// are refused, which rules are added to and removed from a security group, and which security group of an ENI gets the rules
// for an endpoint. It calls neither AWS nor Kubernetes.
package network
