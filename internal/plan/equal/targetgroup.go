package equal

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// CanChangeInPlace reports whether AWS can change an observed target group into the desired target group. If it cannot, the
// target group must be replaced.
func CanChangeInPlace(w model.TargetGroup, h observed.TargetGroup) bool {
	control := func(p *int32) int32 {
		if p == nil {
			return 0
		}
		return *p
	}
	return w.Type == h.Type && w.Protocol == h.Protocol &&
		(w.ProtocolVersion == "" || w.ProtocolVersion == h.ProtocolVersion) &&
		control(w.ControlPort) == control(h.ControlPort) &&
		(w.AddressType == "" || h.AddressType == "" || w.AddressType == h.AddressType)
}
