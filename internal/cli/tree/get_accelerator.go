package tree

// acceleratorType is the value of getDocumentEntry.Type for accelerators. It is not a type of load balancer in AWS.
const acceleratorType = "accelerator"

// getEntry returns the entry of an accelerator in the document of the command get. base has the values of the stack. The
// targets of the entry are the endpoints in the endpoint groups that the object owns.
func (a Accelerator) getEntry(base getDocumentEntry) getDocumentEntry {
	out := base
	out.Name, out.Type, out.DNSName, out.State = a.Name, acceleratorType, a.DNSName, a.stateText(a.Status)
	healthy, all := 0, 0
	for _, l := range a.Listeners {
		for _, g := range l.EndpointGroups {
			for _, e := range g.Endpoints {
				if e.State == stateMissing || g.Owner != "" {
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
