package service

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

const proxyProtocolAttribute = "proxy_protocol_v2.enabled"

// targetGroupAttributes returns the attributes of the target group for one port of a Service. preserved reports whether its
// targets see the IP address of the client.
func targetGroupAttributes(set settings.NetworkTargets, port int32, of model.TargetType) (out map[string]string, preserved bool) {
	out = map[string]string{proxyProtocolAttribute: "false"}
	maps.Copy(out, set.Attributes.Value)
	maps.Copy(out, set.PortAttributes[strconv.Itoa(int(port))].Value)
	if o := set.ProxyProtocolPorts; o.Set {
		out[proxyProtocolAttribute] = strconv.FormatBool(slices.Contains(o.Value, port))
	}
	if set.ProxyProtocol.Value {
		out[proxyProtocolAttribute] = "true"
	}
	if out[proxyProtocolAttribute] == "" {
		delete(out, proxyProtocolAttribute)
	}
	preserved, err := strconv.ParseBool(out[settings.PreserveClientIPAttribute])
	if err != nil {
		preserved = of == model.InstanceTargets
	}
	return out, preserved
}
