package store

import (
	"slices"
	"strings"
	"time"
)

// GlobalRegion is the home region of the AWS partition "aws", see [AWSPartition.Home].
const GlobalRegion = "us-east-1"

// Route53State has the hosted zones of an account. It is in the account's partition in the region [AWSPartition.Home].
type Route53State struct {
	Zones   map[string]*HostedZone // by ID without "/hostedzone/"
	Changes map[string]*DNSChange  // by ID without "/change/"
}

func newRoute53State() *Route53State {
	return &Route53State{Zones: map[string]*HostedZone{}, Changes: map[string]*DNSChange{}}
}

// HostedZone is a hosted zone of Route 53 with its records.
type HostedZone struct {
	ID              string
	Name            string // see DNSName
	CallerReference string // caller reference of CreateHostedZone
	Comment         string
	Private         bool
	VPC             string // VPC of a private zone
	VPCRegion       string
	NameServers     []string
	Records         []RecordSet // ordered by name and type
}

// RecordSet is the records with one name and type.
type RecordSet struct {
	Name   string // see DNSName
	Type   string
	TTL    int64 // seconds, 0 for an alias
	Values []string
	// Alias is the alias target, or nil for a record set with values.
	Alias *RecordAlias `json:",omitempty"`
}

// RecordAlias is the target of an alias record.
type RecordAlias struct {
	Name                 string // see DNSName
	Zone                 string // ID of the hosted zone with Name; it may be a hosted zone of AWS
	EvaluateTargetHealth bool   // EvaluateTargetHealth
}

// DNSChange is a batch of changes that ChangeResourceRecordSets has accepted.
type DNSChange struct {
	ID      string
	Comment string
	At      time.Time
}

// DNSName returns a DNS name in the form of Route 53: in lower case, with a dot at the end, and with each "*" as the octal
// code "\052".
func DNSName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(name, ".")), "*", `\052`) + "."
}

// Route53State returns the Route 53 state of an account.
func (w *Store) Route53State(account string) *Route53State {
	return w.Partition(account, w.awsPartition.Home).Route53
}

// hasCNAME reports whether a public hosted zone of an account has a CNAME record with this name and value.
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

// IsCreatedWithZone reports whether CreateHostedZone created the record set. Such a record set cannot be deleted.
func (z *HostedZone) IsCreatedWithZone(r RecordSet) bool {
	return r.Name == z.Name && (r.Type == "NS" || r.Type == "SOA")
}
