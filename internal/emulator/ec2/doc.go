// Package ec2 implements the part of EC2 that load balancing needs: VPCs, subnets, route tables, internet gateways, security
// groups, ENIs, elastic addresses, prefix lists, instances and their tags.
//
// Instances run no programs and send no packets; they only have a state and addresses.
package ec2
