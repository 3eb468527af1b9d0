// Package compare sends the calls in a recording of AWS to the emulator and lists the differences between the answers.
//
// AWS and the emulator choose different IDs, ARNs and DNS names. The comparison pairs them when it compares answers, and
// replaces the recorded ones in later requests. Resources that were in the account before the recorded run are not compared.
package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Difference is a difference between the answers of AWS and of the emulator.
type Difference struct {
	// Call is the index of the call in the recording.
	Call      int    `json:"call"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	// Member is the path of the differing member, such as "LoadBalancers.member.Scheme". It is empty if the whole answer
	// differs.
	Member string `json:"member,omitempty"`
	// AWS and Emulator are the values in the two answers, or Missing.
	AWS      string `json:"aws"`
	Emulator string `json:"emulator"`
	// Timing is true for states, which the emulator may reach earlier or later than AWS, and for reads that ran while
	// another call changed resources of the same service.
	Timing bool `json:"timing,omitempty"`
}

// Missing replaces the value of a member that an answer does not have.
const Missing = "(missing)"

// Result is the result of comparing a recording with the emulator.
type Result struct {
	Calls       int            // how many calls were compared
	Skipped     map[string]int // how many calls were not compared, by reason
	Differences []Difference
}

// Run sends the calls of recording r to a new emulator, in the order in which AWS answered them, and compares the answers.
func Run(ctx context.Context, r *recording.Recording) (*Result, error) {
	clock := store.NewManualClock(r.At)
	p := &player{
		em:           emulator.New(emulator.Options{Clock: clock, Account: r.Account, Seed: 1}),
		createdNames: createdNames(r),
		ids:          map[string]string{},
		result:       &Result{Skipped: map[string]int{}},
	}
	if err := p.createNetwork(ctx, r); err != nil {
		return nil, fmt.Errorf("create the network of the recording: %w", err)
	}
	p.unorderedCalls = unorderedReads(r.Calls)
	calls := slices.Clone(r.Calls)
	for i := range calls {
		calls[i].StartMillis += calls[i].DurationMillis // when AWS had carried out the call
	}
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(calls[a].StartMillis - calls[b].StartMillis) })
	var now int64
	for _, i := range order {
		if at := calls[i].StartMillis; at > now {
			clock.Advance(time.Duration(at-now) * time.Millisecond)
			now = at
		}
		if err := p.replayCall(ctx, i, calls[i]); err != nil {
			return nil, fmt.Errorf("call %d, %s: %w", i, calls[i].Operation, err)
		}
	}
	return p.result, nil
}

// createdNames returns the names of the resources that the recorded run created.
func createdNames(r *recording.Recording) []string {
	var out []string
	for _, c := range r.Calls {
		if !strings.HasPrefix(c.Operation, "Create") {
			continue
		}
		// The error is ignored here, because replayCall returns an error for a body that cannot be read.
		_, _ = recording.ReplaceValues(c.Body, func(name, value string) string {
			if (strings.HasSuffix(name, "Name") || strings.HasSuffix(name, "GroupName")) && len(value) > 5 {
				out = append(out, value)
			}
			return value
		})
	}
	return out
}

// player sends the calls of one recording to an emulator.
type player struct {
	em           *emulator.Emulator
	createdNames []string          // names of the resources that the recorded run created
	ids          map[string]string // maps a recorded ID to the emulator's ID
	result       *Result
	// unorderedCalls contains the indexes that unorderedReads returns: AWS may have carried out a change before or after
	// these calls.
	unorderedCalls map[int]bool
}

// unorderedReads returns the indexes of the reads that were in flight at the same time as a change of the same service.
func unorderedReads(calls []recording.Call) map[int]bool {
	type change struct{ start, lastEnd int64 } // lastEnd is the latest end of this change and of all changes that began earlier
	changes := map[string][]change{}
	for _, c := range calls {
		if c.IsMutating() {
			changes[c.Service] = append(changes[c.Service], change{c.StartMillis, c.StartMillis + c.DurationMillis})
		}
	}
	for _, of := range changes {
		slices.SortFunc(of, func(a, b change) int { return cmp.Compare(a.start, b.start) })
		for i := 1; i < len(of); i++ {
			of[i].lastEnd = max(of[i].lastEnd, of[i-1].lastEnd)
		}
	}
	out := map[int]bool{}
	for i, c := range calls {
		of := changes[c.Service]
		before, _ := slices.BinarySearchFunc(of, c.StartMillis+c.DurationMillis, func(x change, end int64) int { return cmp.Compare(x.start, end) })
		if !c.IsMutating() && before > 0 && of[before-1].lastEnd > c.StartMillis {
			out[i] = true
		}
	}
	return out
}

// skipReason returns why a call cannot be compared, or "" if it can be compared.
func skipReason(c recording.Call) string {
	switch {
	case c.Status == 0:
		return "the call got no response"
	case c.Status >= 500:
		return "AWS failed"
	}
	if code := errorCodeOf(c.Answer); strings.Contains(code, "Throttl") || code == "RequestLimitExceeded" || code == "TooManyRequestsException" {
		return "AWS throttled the call"
	} else if strings.Contains(code, "AccessDenied") || code == "UnauthorizedOperation" {
		return "AWS denied the call"
	}
	return ""
}

// replayCall sends call c to the emulator and compares the answers. index is the index of c in the recording. It counts the
// call in the result as compared or as skipped.
func (p *player) replayCall(ctx context.Context, index int, c recording.Call) error {
	if why := skipReason(c); why != "" {
		p.result.Skipped[why]++
		return nil
	}
	if p.readsUnknownResource(c) {
		p.result.Skipped["the call reads resources that existed before the run"]++
		return nil
	}
	body, err := p.requestBody(c)
	if err != nil {
		return err
	}
	host := "http://" + c.Service + "." + c.Region + ".amazonaws.com"
	req, err := http.NewRequestWithContext(ctx, c.Method, host+p.replaceIDs(c.Path), strings.NewReader(body))
	if err != nil {
		return err
	}
	req.URL.RawQuery = p.replaceIDs(c.Query)
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=COMPARE/20260101/%s/%s/aws4_request, SignedHeaders=host, Signature=0", c.Region, c.Service))
	for name, value := range map[string]string{"X-Amz-Target": c.Target, "Content-Type": c.Type} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := p.em.RoundTripper().RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		return err
	}
	answer, err := recording.ParseResponseBody(text.Bytes())
	if err != nil {
		return fmt.Errorf("read the emulator's answer: %w", err)
	}
	p.result.Calls++
	x := comparison{player: p, index: index, call: c}
	x.compareAnswers(answer, res.StatusCode)
	return nil
}

// readsUnknownResource reports whether a call only reads and contains a recorded ID that has no ID of the emulator.
func (p *player) readsUnknownResource(c recording.Call) bool {
	if c.IsMutating() {
		return false
	}
	unknown := false
	// The error is ignored here, because requestBody returns an error for a body that cannot be read.
	_, _ = recording.ReplaceValues(c.Body, func(_, value string) string {
		unknown = unknown || idKind(value) != "" && p.ids[value] == ""
		return value
	})
	return unknown
}

// requestBody returns the body of call c with IDs of the emulator in place of the recorded IDs.
func (p *player) requestBody(c recording.Call) (string, error) {
	if c.Operation == "ImportCertificate" {
		return withNewCertificate(c.Body, p.replaceIDs)
	}
	return recording.ReplaceValues(c.Body, func(_, value string) string { return p.replaceIDs(value) })
}

// replaceIDs replaces recorded IDs in text with IDs of the emulator.
func (p *player) replaceIDs(text string) string {
	if text == "" || len(p.ids) == 0 {
		return text
	}
	return identifierPattern.ReplaceAllStringFunc(text, func(id string) string {
		if emulated, ok := p.ids[id]; ok {
			return emulated
		}
		return id
	})
}

// errorCodeOf returns the error code in an answer of any protocol, or "" if the answer is not an error.
func errorCodeOf(answer *recording.Node) string {
	if answer == nil {
		return ""
	}
	for _, at := range []*recording.Node{answer.Child("Error"), answer.Child("Errors").Child("Error"), answer} {
		for _, name := range []string{"Code", "__type", "code"} {
			if k := at.Child(name); k != nil {
				return k.Text[strings.LastIndexByte(k.Text, '#')+1:]
			}
		}
	}
	return ""
}

// Text returns a readable list of the differences. It lists equal differences once, with their number.
func (r *Result) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d calls compared", r.Calls)
	for _, why := range store.SortedKeys(r.Skipped) {
		fmt.Fprintf(&out, ", %d not compared because %s", r.Skipped[why], why)
	}
	out.WriteByte('\n')
	type key struct{ what, aws, emulator string }
	var order []key
	first, count := map[key]Difference{}, map[key]int{}
	for _, d := range r.Differences {
		what := d.Service + " " + d.Operation
		if d.Member != "" {
			what += " " + d.Member
		}
		k := key{replaceControlCharacters(what), d.AWS, d.Emulator}
		if count[k] == 0 {
			order, first[k] = append(order, k), d
		}
		count[k]++
	}
	for _, timing := range []bool{false, true} {
		for _, k := range order {
			d := first[k]
			if d.Timing != timing {
				continue
			}
			fmt.Fprintf(&out, "%s: AWS %s, emulator %s (call %d", k.what, quoteValue(k.aws), quoteValue(k.emulator), d.Call)
			if n := count[k]; n > 1 {
				fmt.Fprintf(&out, " and %d more", n-1)
			}
			out.WriteString(")")
			if timing {
				out.WriteString(", may be due to timing")
			}
			out.WriteByte('\n')
		}
	}
	switch differ, timing := r.Count(); {
	case differ+timing == 0:
		out.WriteString("no differences\n")
	default:
		fmt.Fprintf(&out, "%d differences, and %d that may be due to timing\n", differ, timing)
	}
	return out.String()
}

// replaceControlCharacters replaces characters in a name that cannot be printed, because recordings are untrusted input.
func replaceControlCharacters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}

// Count returns the number of differences: timing counts those with Difference.Timing, differences counts all other
// differences.
func (r *Result) Count() (differences, timing int) {
	for _, d := range r.Differences {
		if d.Timing {
			timing++
		} else {
			differences++
		}
	}
	return differences, timing
}

// quoteValue returns value in quotes, or "has none" for Missing.
func quoteValue(value string) string {
	if value == Missing {
		return "has none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	return string(text)
}
