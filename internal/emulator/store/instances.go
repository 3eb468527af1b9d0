package store

import "strings"

// States of an instance.
const (
	InstancePending      = "pending"
	InstanceRunning      = "running"
	InstanceShuttingDown = "shutting-down"
	InstanceTerminated   = "terminated"
	InstanceStopping     = "stopping"
	InstanceStopped      = "stopped"
)

// InstanceState returns the current state of an instance.
func (p *Partition) InstanceState(i *Instance) string {
	if i.Next != "" && p.now().Sub(i.Since) >= p.store.Config.Delays.Instance {
		return i.Next
	}
	return i.From
}

// StartInstanceTransition sets the state of an instance to current, and to next after Config.Delays.Instance.
func (p *Partition) StartInstanceTransition(i *Instance, current, next string) {
	i.From, i.Next, i.Since = current, next, p.now()
}

// privateHostName returns the host name of an instance with a private IPv4 address.
func (p *Partition) privateHostName(addr string) string {
	domain := p.Region + ".compute.internal"
	if p.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(addr, ".", "-") + "." + domain
}

// PrivateDNS returns the name of an IPv4 address inside the VPC.
func (p *Partition) PrivateDNS(a PrivateAddress) string { return p.privateHostName(a.Addr.String()) }
