package cluster

import (
	"cmp"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
)

// fillAcceleratorDefaults is fillDefaults for GlobalAccelerators. It sets the defaults of their CRD.
func fillAcceleratorDefaults(spec *aga.GlobalAcceleratorSpec) {
	spec.IPAddressType = cmp.Or(spec.IPAddressType, aga.IPAddressTypeIPv4)
	for i := range spec.Listeners {
		l := &spec.Listeners[i]
		l.ClientAffinity = cmp.Or(l.ClientAffinity, aga.ClientAffinityNone)
		for j := range l.EndpointGroups {
			group := &l.EndpointGroups[j]
			setDefault(&group.TrafficDialPercentage, 100)
			for k := range group.Endpoints {
				setDefault(&group.Endpoints[k].Weight, 128)
				setDefault(&group.Endpoints[k].ClientIPPreservationEnabled, true)
			}
		}
	}
}
