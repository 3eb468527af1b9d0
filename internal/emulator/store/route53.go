package store

import (
	"slices"
	"strings"
	"time"
)

// GlobalRegion is the home region of the AWS partition aws, see [AWSPartition.Home].
const GlobalRegion = "us-east-1"

// Route53State contains the hosted zones of an account. It is in the region [AWSPartition.Home].
type Route53State struct {
	Zones   map[string]*HostedZone // by id without "/hostedzone/"
	Changes map[string]*DNSChange  // by id without "/change/"
}

// newRoute53State returns an empty state.
func newRoute53State() *Route53State {
	return &Route53State{Zones: map[string]*HostedZone{}, Changes: map[string]*DNSChange{}}
}

// HostedZone is a zone of Route 53 with its records.
type HostedZone struct {
	ID          string
	Name        string // see DNSName
	Reference   string // caller reference of CreateHostedZone
	Comment     string
	Private     bool
	VPC         string // VPC of a private zone
	VPCRegion   string
	NameServers []string
	Records     []RecordSet // by name, then type
}

// RecordSet is the set of records with one name and type.
type RecordSet struct {
	Name   string // see DNSName
	Type   string
	TTL    int64 // seconds, 0 for an alias
	Values []string
	// Alias is the alias target of a record set without values.
	Alias *RecordAlias `json:",omitempty"`
}

// RecordAlias is the target of an alias record.
type RecordAlias struct {
	Name   string // see DNSName
	Zone   string // id of its hosted zone, which may be a zone of AWS
	Health bool   // EvaluateTargetHealth
}

// DNSChange is an accepted batch of changes.
type DNSChange struct {
	ID      string
	Comment string
	At      time.Time
}

// DNSName returns a name in the form of Route 53: in lower case, with a dot at the end and with "*" as octal code.
func DNSName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(name, ".")), "*", `\052`) + "."
}

// Route53State returns the state of Route 53 of an account.
func (w *Store) Route53State(account string) *Route53State {
	return w.Partition(account, w.awsPartition.Home).Route53
}

// hasCNAME reports whether a public zone of an account has a CNAME record with a value.
func (w *Store) hasCNAME(account, name, value string) bool {
	home, ok := w.partitions[partitionKey{account, w.awsPartition.Home}]
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

// IsCreatedWithZone reports whether CreateHostedZone created the records, so that they cannot be deleted.
func (z *HostedZone) IsCreatedWithZone(r RecordSet) bool {
	return r.Name == z.Name && (r.Type == "NS" || r.Type == "SOA")
}
