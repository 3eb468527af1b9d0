// Package loadbalancers chooses subnets, addresses and security groups of load balancers, and changes their settings.
package loadbalancers
