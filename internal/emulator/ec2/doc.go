// Package ec2 is the part of EC2 that load balancing needs: VPCs, subnets, route
// tables, internet gateways, security groups, ENIs, elastic addresses, prefix lists,
// instances and their tags.
//
// Nothing runs and no packet flows: an instance is a state and addresses.
package ec2
