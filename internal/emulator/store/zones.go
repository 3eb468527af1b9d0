package store

import (
	"fmt"
	"strings"
)

// directions of region names and how zone identifiers shorten them.
var regionWords = strings.NewReplacer(
	"northeast", "ne", "northwest", "nw", "southeast", "se", "southwest", "sw",
	"north", "n", "south", "s", "east", "e", "west", "w", "central", "c",
	"-", "", "gov", "g",
)

// shortRegion turns us-west-2 into usw2, as zone identifiers have it.
func shortRegion(region string) string { return regionWords.Replace(region) }

// defaultZones gives every region three availability zones.
func defaultZones(region string) []*Zone {
	var zones []*Zone
	for i, letter := range []string{"a", "b", "c"} {
		zones = append(zones, &Zone{
			Name:        region + letter,
			ID:          fmt.Sprintf("%s-az%d", shortRegion(region), i+1),
			Type:        "availability-zone",
			Group:       region + "-zg-1",
			BorderGroup: region,
			OptIn:       "opt-in-not-required",
			State:       "available",
		})
	}
	return zones
}
