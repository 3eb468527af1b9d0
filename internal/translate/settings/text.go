package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// ParseString accepts any text and returns it unchanged.
func ParseString(raw string) (string, error) { return raw, nil }

// ParseBool parses a boolean in any form that strconv.ParseBool accepts. Spaces are not removed.
func ParseBool(raw string) (bool, error) {
	b, err := strconv.ParseBool(raw)
	if err != nil {
		return false, errors.New("not a boolean; use true or false")
	}
	return b, nil
}

// ParseInt parses a whole decimal number of at most 32 bits. Spaces are not removed.
func ParseInt(raw string) (int32, error) {
	n, err := strconv.ParseInt(raw, 10, 32)
	if err != nil {
		return 0, errors.New("not a whole number")
	}
	return int32(n), nil
}

// ParseInt64 parses a whole decimal number of at most 64 bits. Spaces are not removed.
func ParseInt64(raw string) (int64, error) {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return 0, errors.New("not a whole number")
	}
	return n, nil
}

// EnumParser returns a parser that accepts only the words, with the same case.
func EnumParser[T ~string](words ...T) func(string) (T, error) {
	return func(raw string) (T, error) {
		if slices.Contains(words, T(raw)) {
			return T(raw), nil
		}
		names := make([]string, len(words))
		for i, w := range words {
			names[i] = string(w)
		}
		return "", fmt.Errorf("must be one of %s%s", strings.Join(names, ", "), finding.SpellingHint(raw, names))
	}
}

// ParseList splits a text at commas, removes spaces around the items, and leaves out empty items.
func ParseList(raw string) ([]string, error) {
	items := []string{}
	for item := range strings.SplitSeq(raw, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

// ParseCIDRs parses a list of address ranges. A range may have host bits, which are set to zero in the result.
func ParseCIDRs(raw string) ([]string, error) {
	items, _ := ParseList(raw)
	for i, item := range items {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("%s is not an address range such as 10.0.0.0/8", item)
		}
		items[i] = p.Masked().String()
	}
	return items, nil
}

// ParseCIDRValues parses the elements of a list of address ranges, as ParseCIDRs does. Without any range, it returns an
// error, because a list without ranges would not restrict the clients.
func ParseCIDRValues(values []string) ([]string, error) {
	ranges, err := ParseCIDRs(strings.Join(values, ","))
	if err == nil && len(ranges) == 0 {
		err = fmt.Errorf("%q is not an address range such as 10.0.0.0/8", strings.Join(values, ","))
	}
	return ranges, err
}

// ParseMap parses a text such as "k1=v1,k2=v2". A backslash makes the next character literal, so that a value can have a
// comma. A comma at the end, followed only by spaces, belongs to the last value. If a key occurs several times, the last
// value is used. Empty text is an empty map; text with only spaces is an error.
func ParseMap(raw string) (map[string]string, error) {
	out := map[string]string{}
	if raw == "" {
		return out, nil
	}
	for _, item := range mapItems(raw) {
		k, v, ok := strings.Cut(item, "=")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || k == "" {
			return nil, fmt.Errorf("%q is not key=value", strings.TrimSpace(item))
		}
		out[k] = v
	}
	return out, nil
}

// MaxRepeatedEntries is the maximum number of entries of a map or list that each rule or each target group of an object
// repeats. It is far above what AWS accepts, and limits the memory and the size of TargetGroupBindings.
const MaxRepeatedEntries = 100

// checkEntryLimit returns an error if n entries exceed MaxRepeatedEntries.
func checkEntryLimit(n int) error {
	if n > MaxRepeatedEntries {
		return fmt.Errorf("%d entries exceed the limit of %d entries", n, MaxRepeatedEntries)
	}
	return nil
}

// parseLimitedMap is like ParseMap, with at most MaxRepeatedEntries keys.
func parseLimitedMap(raw string) (map[string]string, error) {
	m, err := ParseMap(raw)
	if err == nil {
		err = checkEntryLimit(len(m))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// mapItems splits the text of a map at commas into its items, and resolves backslashes.
func mapItems(raw string) []string {
	var items []string
	var item strings.Builder
	lastEqual := strings.LastIndexByte(raw, '=')
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' && i+1 < len(raw) {
			i++
			item.WriteByte(raw[i])
			continue
		}
		if c != ',' {
			item.WriteByte(c)
			continue
		}
		if i < lastEqual {
			items = append(items, item.String())
			item.Reset()
			continue
		}
		if rest := strings.TrimSpace(raw[i+1:]); rest != "" {
			return append(items, item.String(), rest)
		}
		item.WriteByte(c)
	}
	return append(items, item.String())
}
