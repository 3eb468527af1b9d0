package accelerator

import (
	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// addEntry adds an entry to the accelerator with the endpoints that were built from one endpoint of the spec. The
// commands "fulcrum explain" and "fulcrum tree" show these entries.
func (t endpointBuilder) addEntry(e aga.Endpoint, at finding.Origin, made []model.Endpoint) {
	out := model.EndpointEntry{Origin: at}
	for _, x := range made {
		out.Endpoints = append(out.Endpoints, x.ID)
	}
	if group, kind, known := endpointObjectKind(e.Type); known {
		out.Object = finding.Ref{Kind: kind, Namespace: t.namespaceOf(e), Name: e.Name}
		out.Grant = t.permittingGrant(attach.Referent{Group: group, Kind: kind, Namespace: out.Object.Namespace, Name: e.Name})
	} else {
		out.ID = e.EndpointID
		out.Grant = t.permittingGrantOfARN(made)
	}
	t.accelerator.Entries = append(t.accelerator.Entries, out)
}

// permittingGrant returns the ReferenceGrant that permits the use of an object, or a zero Ref if there is none or none
// is needed.
func (t endpointBuilder) permittingGrant(to attach.Referent) finding.Ref {
	if to.Namespace == t.ga.Namespace {
		return finding.Ref{}
	}
	name := rightsChecker(t).grantName(to)
	if name == "" {
		return finding.Ref{}
	}
	return finding.Ref{Kind: cluster.KindReferenceGrant, Namespace: to.Namespace, Name: name}
}

// permittingGrantOfARN returns the ReferenceGrant that permits the use of the endpoint in made, if it is a load balancer
// of the cluster. Otherwise it returns a zero Ref.
func (t endpointBuilder) permittingGrantOfARN(made []model.Endpoint) finding.Ref {
	if t.live == nil || len(made) != 1 || !parseEndpointID(made[0].ID).isLoadBalancer || parseEndpointID(made[0].ID).region != t.region() {
		return finding.Ref{}
	}
	lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: made[0].ID, Ports: t.asksForPorts})
	if lb == nil || !lb.Cluster {
		return finding.Ref{}
	}
	for _, to := range permittingOwners(*lb) {
		if rightsChecker(t).permits(to) {
			return t.permittingGrant(to)
		}
	}
	return finding.Ref{}
}

// endpointOrigin returns the object and field from which the protocol and the ports of an endpoint are taken. at is the
// field of the endpoint in the GlobalAccelerator.
func (t listenerBuilder) endpointOrigin(e aga.Endpoint, at string) finding.Origin {
	_, kind, known := endpointObjectKind(e.Type)
	if !known {
		return t.origin(at + ".endpointID")
	}
	out := finding.Origin{Object: finding.Ref{Kind: kind, Namespace: t.namespaceOf(e), Name: e.Name}, Field: "status.loadBalancer.ingress"}
	switch kind {
	case cluster.KindService:
		out.Field += "[0].ports"
	case cluster.KindGateway:
		out.Field = "spec.listeners"
	}
	return out
}
