package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ListenPort is a port on which a member listens, with its protocol.
type ListenPort struct {
	Port         int32
	BaseProtocol model.BaseProtocol
	TLS          bool
}

// Protocol returns the protocol of the listener as in the AWS API, such as HTTPS or TLS.
func (p ListenPort) Protocol() string {
	l := model.Listener{BaseProtocol: p.BaseProtocol}
	if p.TLS {
		l.TLS = &model.TLS{}
	}
	return l.Protocol()
}

// Key returns protocol and port, such as HTTPS-443 in listener-attributes.HTTPS-443.
func (p ListenPort) Key() string { return fmt.Sprintf("%s-%d", p.Protocol(), p.Port) }

// ParseListenPorts parses a listen-ports annotation, such as [{"HTTP":80},{"HTTPS":443}]. It returns the ports in ascending
// order without duplicates.
func ParseListenPorts(raw string) ([]ListenPort, error) {
	var entries []map[string]int64
	if err := decodeAnnotation(raw, &entries, listenPortsForm); err != nil {
		return nil, err
	}
	byPort := map[int32]bool{}
	for _, e := range entries {
		for _, proto := range slices.Sorted(maps.Keys(e)) {
			port := e[proto]
			if proto != "HTTP" && proto != "HTTPS" {
				return nil, fmt.Errorf("protocol %q is neither HTTP nor HTTPS%s", finding.TruncateValue(proto), finding.SpellingHint(proto, []string{"HTTP", "HTTPS"}))
			}
			if port < 1 || port > 65535 {
				return nil, fmt.Errorf("port %d is not from 1 to 65535", port)
			}
			tls, seen := byPort[int32(port)]
			if seen && tls != (proto == "HTTPS") {
				return nil, fmt.Errorf("port %d is listed both as HTTP and as HTTPS", port)
			}
			byPort[int32(port)] = proto == "HTTPS"
		}
	}
	if len(byPort) == 0 {
		return nil, errors.New("the list has no ports")
	}
	var out []ListenPort
	for port, tls := range byPort {
		out = append(out, ListenPort{Port: port, TLS: tls})
	}
	slices.SortFunc(out, func(a, b ListenPort) int { return cmp.Compare(a.Port, b.Port) })
	return out, nil
}

type mutualAuthJSON struct {
	Port                          int64
	Mode                          string
	TrustStore                    string
	IgnoreClientCertificateExpiry *bool
	AdvertiseTrustStoreCaNames    string
}

// ParseMutualAuth parses a mutual-authentication annotation, such as [{"port":443,"mode":"verify","trustStore":"..."}], and
// returns the settings by port. If a port has several entries, the last one is used.
func ParseMutualAuth(raw string) (map[int32]model.MutualAuth, error) {
	var entries []mutualAuthJSON
	if err := decodeAnnotation(raw, &entries, mutualAuthForm); err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New("the list is empty")
	}
	out := map[int32]model.MutualAuth{}
	for _, e := range entries {
		if e.Port < 1 || e.Port > 65535 {
			return nil, fmt.Errorf("port %d is not from 1 to 65535", e.Port)
		}
		m := model.MutualAuth{Mode: e.Mode, TrustStore: e.TrustStore, IgnoreExpiry: e.IgnoreClientCertificateExpiry, AdvertiseCA: e.AdvertiseTrustStoreCaNames}
		if err := checkMutualAuth(&m); err != nil {
			return nil, fmt.Errorf("port %d: %w", e.Port, err)
		}
		out[int32(e.Port)] = m
	}
	return out, nil
}

func checkMutualAuth(m *model.MutualAuth) error {
	switch m.Mode {
	case "verify":
		if m.TrustStore == "" {
			return errors.New("mode verify needs a trustStore")
		}
		if m.IgnoreExpiry == nil {
			m.IgnoreExpiry = new(bool)
		}
		switch m.AdvertiseCA {
		case "":
			m.AdvertiseCA = "off"
		case "on", "off":
		default:
			return fmt.Errorf("advertiseTrustStoreCaNames %q is neither on nor off", m.AdvertiseCA)
		}
	case "off", "passthrough":
		if m.TrustStore != "" || m.IgnoreExpiry != nil || m.AdvertiseCA != "" {
			return fmt.Errorf("mode %s takes neither trustStore nor ignoreClientCertificateExpiry nor advertiseTrustStoreCaNames", m.Mode)
		}
	default:
		return fmt.Errorf("mode %q is not one of off, passthrough, verify", m.Mode)
	}
	return nil
}
