package store

import (
	"slices"
	"strings"
	"time"
)

// GlobalRegion is where the state of services without regions is kept in the partition aws.
const GlobalRegion = "us-east-1"

// Route53State holds the hosted zones of an account; see [AWSPartition.Home].
type Route53State struct {
	Zones   map[string]*HostedZone // by id, without the path before it
	Changes map[string]*DNSChange  // by id, likewise
}

// newRoute53State returns an empty state.
func newRoute53State() *Route53State {
	return &Route53State{Zones: map[string]*HostedZone{}, Changes: map[string]*DNSChange{}}
}

// HostedZone is a zone of Route 53 with its records.
type HostedZone struct {
	ID          string
	Name        string // see DNSName
	Reference   string // of the caller who made it
	Comment     string
	Private     bool
	VPC         string // of a private zone
	VPCRegion   string
	NameServers []string
	Records     []RecordSet // by name, then type
}

// RecordSet are the records of one name and type.
type RecordSet struct {
	Name   string // see DNSName
	Type   string
	TTL    int64 // seconds; 0 of an alias
	Values []string
	// Alias is what the records stand for, in place of values.
	Alias *RecordAlias `json:",omitempty"`
}

// RecordAlias is another name, whose records an alias has.
type RecordAlias struct {
	Name   string // see DNSName
	Zone   string // id of its hosted zone, which may be one of AWS's own
	Health bool   // the health of what has the name is evaluated
}

// DNSChange is a batch of changes that was accepted.
type DNSChange struct {
	ID      string
	Comment string
	At      time.Time
}

// DNSName returns the form in which Route 53 keeps a name: lower case, a dot at
// the end, a star as its octal code.
func DNSName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(name, ".")), "*", `\052`) + "."
}

// DNS returns the Route 53 of an account.
func (w *Store) DNS(account string) *Route53State { return w.Partition(account, w.aws.Home).Route53 }

// hasCNAME reports whether a public zone of the account has the record.
func (w *Store) hasCNAME(account, name, value string) bool {
	home, ok := w.partitions[partitionKey{account, w.aws.Home}]
	if !ok {
		return false
	}
	for _, z := range home.Route53.Zones {
		if !z.Private && slices.ContainsFunc(z.Records, func(r RecordSet) bool {
			return r.Name == DNSName(name) && r.Type == "CNAME" && len(r.Values) == 1 && DNSName(r.Values[0]) == DNSName(value)
		}) {
			return true
		}
	}
	return false
}

// Own reports whether records are those that were created with the zone, which must
// exist in it.
func (z *HostedZone) Own(r RecordSet) bool {
	return r.Name == z.Name && (r.Type == "NS" || r.Type == "SOA")
}
