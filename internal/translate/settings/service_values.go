package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
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

// parsePortAttributes parses a map, and leaves out keys with an empty value. For these keys, the port has the attribute that
// is set for all ports. The weighted backends with this port repeat the map.
func parsePortAttributes(raw string) (map[string]string, error) {
	m, err := parseRepeatedMap(raw)
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
			return nil, fmt.Errorf("%s is not a port number", quoteValue(shortValue(item)))
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// addressListParser returns a parser for a list of addresses of one address family. The function of reports whether an
// address belongs to the family. The parser returns the addresses in canonical form.
func addressListParser(family string, of func(netip.Addr) bool) func(string) ([]string, error) {
	return func(raw string) ([]string, error) {
		items, _ := ParseList(raw)
		for i, item := range items {
			a, err := netip.ParseAddr(item)
			if err != nil || !of(a) || a.Zone() != "" {
				return nil, fmt.Errorf("%s is not an %s address", quoteValue(shortValue(item)), family)
			}
			items[i] = a.String()
		}
		return items, nil
	}
}

// AutoAssigned is a source NAT prefix that AWS chooses.
const AutoAssigned = "auto_assigned"

// parseSourceNATPrefixes parses a list whose items are IPv6 /80 ranges or AutoAssigned, and returns the items unchanged.
func parseSourceNATPrefixes(raw string) ([]string, error) {
	items, _ := ParseList(raw)
	for _, item := range items {
		p, err := netip.ParsePrefix(item)
		if item != AutoAssigned && (err != nil || !p.Addr().Is6() || p.Bits() != 80) {
			return nil, fmt.Errorf("%s is neither %s nor an IPv6 /80 range such as 2001:db8:1:2:3::/80", quoteValue(shortValue(item)), AutoAssigned)
		}
	}
	return items, nil
}
