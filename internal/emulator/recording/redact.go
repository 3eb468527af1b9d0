package recording

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
)

// Account is the account id in every recording, an example from AWS's documentation.
const Account = "111122223333"

// Removed is the text that replaces private keys.
const Removed = "removed"

var (
	accountNumber = regexp.MustCompile(`\b\d{12}\b`)
	resourceID    = regexp.MustCompile(`\b[a-z]{1,10}-(?:[0-9a-f]{17}|[0-9a-f]{8})\b`)
	uuid          = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	address       = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	anyARN        = regexp.MustCompile(`arn:(aws[a-z-]*):([a-z0-9-]*):([a-z0-9-]*):(\d{12}|aws|):([^\s"',)]+)`)
	number        = regexp.MustCompile(`^-?[0-9.]+$`)
	zone          = regexp.MustCompile(`^[a-z]{2,3}(-[a-z]+)+-\d[a-z]?$|^[a-z]{3,4}\d-az\d$`)
)

// harmless has values that do not identify an account, in addition to values of enumerations.
var harmless = []string{"true", "false", "tcp", "udp", "icmp", "icmpv6", "-1", "default", "/", "amazon", "Sender", "Receiver", "#{protocol}", "#{host}", "#{port}", "/#{path}", "#{query}"}

// redactor replaces values that identify an account. Equal values get equal replacements.
type redactor struct {
	sent    map[string]bool // values of mutating requests, which the run has chosen
	names   []string        // names of the resources that the run created
	numbers map[string]int  // by kind and text
	count   map[string]int  // by kind
}

// Redact replaces account numbers, ids, public addresses, and every text of an answer that is neither in a request
// of the run nor in AWS's models, and removes private keys. A text is replaced unless it is known to be harmless.
// Redact changes the recording, and returns an error if it still contains one of the given secrets.
func (r *Recording) Redact(secrets ...string) error {
	x := redactor{sent: map[string]bool{}, numbers: map[string]int{}, count: map[string]int{}}
	for _, c := range r.Calls {
		if !c.Mutating() {
			continue
		}
		_, err := EachText(c.Body, func(name, value string) string {
			x.sent[value] = true
			if last := name[strings.LastIndexByte(name, '.')+1:]; slices.Contains([]string{"Name", "GroupName"}, last) && len(value) > 5 {
				x.names = append(x.names, value)
			}
			return value
		})
		if err != nil {
			return fmt.Errorf("read the request of %s: %w", c.Operation, err)
		}
	}
	r.Account = Account
	r.Site.VPC = x.text(r.Site.VPC)
	for i := range r.Site.Subnets {
		r.Site.Subnets[i].ID = x.text(r.Site.Subnets[i].ID)
	}
	for i := range r.Site.Instances {
		at := &r.Site.Instances[i]
		at.ID, at.Subnet = x.text(at.ID), x.text(at.Subnet)
		for g := range at.SecurityGroups {
			at.SecurityGroups[g] = x.text(at.SecurityGroups[g])
		}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		var err error
		if c.Body, err = EachText(c.Body, x.request); err != nil {
			return fmt.Errorf("read the request of %s: %w", c.Operation, err)
		}
		c.Path, c.Query = x.text(c.Path), x.text(c.Query)
		if c.Answer != nil {
			x.node(nil, c.Answer, false)
		}
	}
	return r.checkNoSecrets(secrets)
}

// checkNoSecrets returns an error if the recording contains one of the secrets.
func (r *Recording) checkNoSecrets(secrets []string) error {
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		return err
	}
	for _, s := range secrets {
		if s != "" && strings.Contains(out.String(), s) {
			return fmt.Errorf("the recording has a secret of %d characters that was not removed; the recording is not written", len(s))
		}
	}
	return nil
}

// request redacts a value of a request, which may contain ids of the account.
func (x *redactor) request(name, value string) string {
	if isSecret(name) {
		return Removed
	}
	return x.text(value)
}

// isSecret reports whether a member has a private key or a secret.
func isSecret(name string) bool {
	return strings.Contains(name, "PrivateKey") || strings.Contains(name, "ClientSecret") || strings.Contains(name, "SecretAccessKey") || strings.Contains(name, "SessionToken")
}

// node redacts an element of an answer. own reports whether it belongs to a resource of the run: then only ids and account
// numbers are replaced.
func (x *redactor) node(path []string, n *Node, own bool) {
	path = append(slices.Clip(path), n.Name)
	if len(n.Kids) == 0 {
		n.Text = x.answer(path, n.Text, own)
		return
	}
	if isItem(n) {
		own = x.hasOwnName(n)
	}
	for _, k := range n.Kids {
		x.node(path, k, own)
	}
}

// isItem reports whether an element is an item of a list.
func isItem(n *Node) bool { return n.Name == "member" || n.Name == "item" }

// hasOwnName reports whether an element contains a name that the run has chosen. It ignores items of lists below the
// element.
func (x *redactor) hasOwnName(n *Node) bool {
	return slices.ContainsFunc(n.Kids, func(k *Node) bool {
		if len(k.Kids) == 0 {
			return x.containsOwnName(k.Text)
		}
		return !isItem(k) && x.hasOwnName(k)
	})
}

// answer redacts a text of an answer.
func (x *redactor) answer(path []string, text string, own bool) string {
	last := path[len(path)-1]
	switch {
	case isSecret(last):
		return Removed
	case text == "", slices.Contains(harmless, text), awsmodel.Constant(text), zone.MatchString(text), last == "CanonicalHostedZoneId":
		return text
	case last == "Message" || last == "message", last == "Code", last == "Description" && slices.Contains(path, "TargetHealth"), last == "__type", slices.ContainsFunc(path, func(p string) bool { return strings.Contains(p, "Attributes") }), own, x.sent[text], x.containsOwnName(text):
		return x.text(text)
	case accountNumber.FindString(text) == text:
		return Account
	case number.MatchString(text) && !address.MatchString(text):
		return text
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text
	}
	if matchesWhole(resourceID, text) || matchesWhole(uuid, text) || matchesWhole(anyARN, text) {
		return x.text(text)
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return x.text(text)
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return x.text(text)
	}
	return x.replacementFor(replaced, text)
}

// replaced is the prefix of the replacement of a text.
const replaced = "text-"

var replacement = regexp.MustCompile(`^` + replaced + `\d+$`)

// Replaced reports whether a text is a replacement, which shows nothing of the original text.
func Replaced(text string) bool { return replacement.MatchString(text) }

func matchesWhole(of *regexp.Regexp, text string) bool { return of.FindString(text) == text }

// containsOwnName reports whether a text contains a name that the run has chosen.
func (x *redactor) containsOwnName(text string) bool {
	return slices.ContainsFunc(x.names, func(n string) bool { return strings.Contains(text, n) })
}

// text replaces ids, account numbers and public addresses within a text.
func (x *redactor) text(text string) string {
	text = anyARN.ReplaceAllStringFunc(text, func(arn string) string {
		if x.containsOwnName(arn) {
			return arn
		}
		p := anyARN.FindStringSubmatch(arn)
		kind, _, named := strings.Cut(p[5], "/")
		switch {
		case p[4] == "aws", uuid.MatchString(arn): // owned by AWS, or with a random number as its name
			return arn
		case !named:
			kind = "resource"
		}
		return fmt.Sprintf("arn:%s:%s:%s:%s:%s/%s", p[1], p[2], p[3], p[4], kind, x.replacementFor("name-", p[5]))
	})
	text = accountNumber.ReplaceAllString(text, Account)
	text = uuid.ReplaceAllStringFunc(text, func(id string) string {
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", x.number("uuid", id))
	})
	text = resourceID.ReplaceAllStringFunc(text, func(id string) string {
		kind, _, _ := strings.Cut(id, "-")
		return fmt.Sprintf("%s-%017d", kind, x.number(kind, id))
	})
	return address.ReplaceAllStringFunc(text, func(a string) string {
		at, err := netip.ParseAddr(a)
		if err != nil || at.IsPrivate() || at.IsLoopback() || at.IsUnspecified() || sharedAddressRange.Contains(at) {
			return a
		}
		n := x.number("address", a)
		return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16)&1, byte(n >> 8), byte(n)}).String() // reserved for benchmarks by RFC 2544
	})
}

// sharedAddressRange is the range that VPCs may use in addition to private ranges (RFC 6598).
var sharedAddressRange = netip.MustParsePrefix("100.64.0.0/10")

// replacementFor returns the replacement of a text: a prefix and a number.
func (x *redactor) replacementFor(prefix, text string) string {
	return fmt.Sprintf("%s%d", prefix, x.number(prefix, text))
}

// number returns the number of a text among the texts of a kind. Equal texts have equal numbers.
func (x *redactor) number(kind, text string) int {
	key := kind + "\x00" + text
	if x.numbers[key] == 0 {
		x.count[kind]++
		x.numbers[key] = x.count[kind]
	}
	return x.numbers[key]
}
