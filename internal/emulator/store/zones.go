package store

import (
	"fmt"
	"strings"
)

// regionWords replaces parts of region names by the abbreviations in zone IDs.
var regionWords = strings.NewReplacer(
	"northeast", "ne", "northwest", "nw", "southeast", "se", "southwest", "sw",
	"north", "n", "south", "s", "east", "e", "west", "w", "central", "c",
	"-", "", "gov", "g",
)

// shortRegion returns the abbreviation of a region in zone IDs, such as "usw2" for us-west-2.
func shortRegion(region string) string { return regionWords.Replace(region) }

// defaultZones returns the three Availability Zones of a region.
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
