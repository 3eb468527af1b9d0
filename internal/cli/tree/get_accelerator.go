package tree

// acceleratorType is in place of AWS's words for types of load balancers.
const acceleratorType = "accelerator"

// line returns the line of an accelerator. The endpoints that are the object's are its targets.
func (a Accelerator) line(base getLoadBalancer) getLoadBalancer {
	out := base
	out.Name, out.Type, out.DNSName, out.State = a.Name, acceleratorType, a.DNSName, a.Status
	if a.State == missing || a.State == surplus {
		out.State = string(a.State)
	}
	healthy, all := 0, 0
	for _, l := range a.Listeners {
		for _, g := range l.EndpointGroups {
			for _, e := range g.Endpoints {
				if e.State == missing || g.Owner != "" {
					continue
				}
				all++
				if e.Health == "HEALTHY" {
					healthy++
				}
			}
		}
	}
	out.Healthy, out.Targets = &healthy, &all
	return out
}
