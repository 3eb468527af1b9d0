// Package loadbalancers chooses subnets, addresses and security groups of load balancers, and plans to create, change
// and delete load balancers.
package loadbalancers
