package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// parseOnOff parses a value that is "on" or "off".
func parseOnOff(raw string) (string, error) { return EnumParser("on", "off")(raw) }

// PreserveClientIPAttribute is the only target group attribute whose value the controller checks. AWS checks the others.
const PreserveClientIPAttribute = "preserve_client_ip.enabled"

func parseTargetGroupAttributes(raw string) (map[string]string, error) {
	m, err := ParseMap(raw)
	if err != nil {
		return nil, err
	}
	return m, checkPreserveClientIP(m)
}

func checkPreserveClientIP(m map[string]string) error {
	if v, ok := m[PreserveClientIPAttribute]; ok {
		if _, err := ParseBool(v); err != nil {
			return fmt.Errorf("%s is %w", PreserveClientIPAttribute, err)
		}
	}
	return nil
}

// parsePortAttributes parses a map, and leaves out keys with an empty value. For these keys, the port has the attribute
// that is set for all ports. The size of the map is limited, because each weighted backend with this port gets a copy.
func parsePortAttributes(raw string) (map[string]string, error) {
	m, err := parseLimitedMap(raw)
	if err != nil {
		return nil, err
	}
	for k, v := range m {
		if v == "" {
			delete(m, k)
		}
	}
	return m, checkPreserveClientIP(m)
}

func parseProxyProtocol(raw string) (bool, error) {
	if raw != "*" {
		return false, errors.New(`the only valid value is "*", for all ports`)
	}
	return true, nil
}

// parsePortNumbers parses a list of port numbers.
func parsePortNumbers(raw string) ([]int32, error) {
	items, _ := ParseList(raw)
	out := make([]int32, 0, len(items))
	for _, item := range items {
		n, err := strconv.ParseInt(item, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s is not a port number", quoteValue(finding.TruncateValue(item)))
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// ParseIPv4 parses an IPv4 address, and returns it in canonical form.
func ParseIPv4(raw string) (string, error) { return parseAddress(raw, "IPv4", netip.Addr.Is4) }

// ParseIPv6 parses an IPv6 address that is not an IPv4 address mapped to IPv6, and returns it in canonical form.
func ParseIPv6(raw string) (string, error) {
	return parseAddress(raw, "IPv6", func(a netip.Addr) bool { return a.Is6() && !a.Is4In6() })
}

func parseAddress(raw, family string, of func(netip.Addr) bool) (string, error) {
	a, err := netip.ParseAddr(raw)
	if err != nil || !of(a) || a.Zone() != "" {
		return "", errors.New("is not an " + family + " address")
	}
	return a.String(), nil
}

// listParser returns a parser for a list whose items parse parses.
func listParser(parse func(string) (string, error)) func(string) ([]string, error) {
	return func(raw string) ([]string, error) {
		items, _ := ParseList(raw)
		for i, item := range items {
			var err error
			if items[i], err = parse(item); err != nil {
				return nil, fmt.Errorf("%s %w", quoteValue(finding.TruncateValue(item)), err)
			}
		}
		return items, nil
	}
}

// AutoAssigned is a source NAT prefix that AWS chooses.
const AutoAssigned = "auto_assigned"

// ParseSourceNATPrefix accepts an IPv6 /80 range or AutoAssigned, and returns it unchanged.
func ParseSourceNATPrefix(raw string) (string, error) {
	if p, err := netip.ParsePrefix(raw); raw != AutoAssigned && (err != nil || !p.Addr().Is6() || p.Bits() != 80) {
		return "", errors.New("is neither " + AutoAssigned + " nor an IPv6 /80 range such as 2001:db8:1:2:3::/80")
	}
	return raw, nil
}
