// Package ec2 emulates the part of EC2 that load balancing needs: VPCs, subnets, route tables, internet gateways, security
// groups, ENIs, Elastic IP addresses, prefix lists, address pools, instances and tags.
//
// Instances run no programs and send no packets. They only have a state and addresses.
package ec2
