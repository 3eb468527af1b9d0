package store

import "strings"

// States of an instance in EC2.
const (
	InstancePending      = "pending"
	InstanceRunning      = "running"
	InstanceShuttingDown = "shutting-down"
	InstanceTerminated   = "terminated"
	InstanceStopping     = "stopping"
	InstanceStopped      = "stopped"
)

// InstanceState returns the state of an instance at the current time.
func (p *Partition) InstanceState(i *Instance) string {
	if i.Next != "" && p.now().Sub(i.Since) >= p.store.Config.Delays.Instance {
		return i.Next
	}
	return i.From
}

// StartInstanceTransition sets the state of an instance to current. After Config.Delays.Instance, the state is next.
func (p *Partition) StartInstanceTransition(i *Instance, current, next string) {
	i.From, i.Next, i.Since = current, next, p.now()
}

// privateHostName returns the private DNS name of an IPv4 address.
func (p *Partition) privateHostName(addr string) string {
	domain := p.Region + ".compute.internal"
	if p.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(addr, ".", "-") + "." + domain
}

// PrivateDNS returns the private DNS name of an IPv4 address of an ENI.
func (p *Partition) PrivateDNS(a PrivateAddress) string { return p.privateHostName(a.Addr.String()) }
