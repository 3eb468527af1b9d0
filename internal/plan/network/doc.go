// Package network chooses subnets and security groups from facts that were read before: which subnets a load balancer gets and
// why it does not get the others, which rules of a security group are to be added and removed, and which security group of an
// ENI gets the rules for an endpoint. It calls neither AWS nor Kubernetes.
package network
