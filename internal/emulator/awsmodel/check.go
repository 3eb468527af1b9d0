package awsmodel

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// Watch makes test t fail if a request or a response deviates from AWS's API models. It sets o.Observe, so the caller
// creates the emulator with the options afterwards.
//
// An invalid value in a request that the emulator refuses is not a deviation, because tests send invalid values on purpose.
func Watch(t testing.TB, o *emulator.Options) *Checker { return watch(t, o, &Checker{}) }

// WatchAnswers makes test t fail if a response deviates from AWS's API models. It is for tests that send invalid requests.
// The caller creates the emulator with the options afterwards.
func WatchAnswers(t testing.TB, o *emulator.Options) { watch(t, o, &Checker{answersOnly: true}) }

func watch(t testing.TB, o *emulator.Options, c *Checker) *Checker {
	t.Helper()
	o.Observe = c.Observe
	t.Cleanup(func() {
		for _, d := range c.Deviations() {
			t.Errorf("deviation from AWS's model: %s", d)
		}
	})
	return c
}

// Checker collects deviations of requests and responses from AWS's API models. The zero value is ready to use.
type Checker struct {
	answersOnly bool

	mu                sync.Mutex
	allowedExceptions []Exception
	deviations        map[deviation]string // with the first value of each deviation
}

// Allow adds exceptions for deviations that a test causes on purpose.
func (c *Checker) Allow(e ...Exception) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowedExceptions = append(c.allowedExceptions, e...)
}

// recordDeviation records a deviation and its value, unless an exception covers it.
func (c *Checker) recordDeviation(d deviation, service, operation, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slices.Concat(exceptions, c.allowedExceptions) {
		if e.covers(service, operation, d.side, d.member, value, d.rule) {
			return
		}
	}
	if c.deviations == nil {
		c.deviations = map[deviation]string{}
	}
	if _, ok := c.deviations[d]; !ok {
		c.deviations[d] = value
	}
}

// reportFunc receives a deviation: the path of the member, its value, and the rule that the value violates.
type reportFunc func(member, value, rule string)

// deviation is the key of a deviation. Deviations with the same key are reported once. side is "request" or "answer".
type deviation struct{ call, side, member, rule string }

// Deviations returns a sorted text for each deviation that was found so far.
func (c *Checker) Deviations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for d, value := range c.deviations {
		out = append(out, fmt.Sprintf("%s, %s, member %q, value %.200q: %s", d.call, d.side, d.member, value, d.rule))
	}
	slices.Sort(out)
	return out
}

// Observe checks the request and the response of a call. Use it as emulator.Options.Observe.
func (c *Checker) Observe(x emulator.Exchange) {
	found := func(side string) reportFunc {
		return func(member, value, rule string) {
			c.recordDeviation(deviation{x.Service + ":" + x.Operation, side, withoutNumbers(member), rule}, x.Service, x.Operation, value)
		}
	}
	s := models()[x.Service]
	if s == nil {
		found("request")("", x.Service, "no model of the service")
		return
	}
	op := s.operations[x.Operation]
	if op == nil {
		if !c.answersOnly {
			found("request")("", x.Operation, "no model of the operation")
		}
		return
	}
	request := func(r reportFunc) { s.checkRequest(op, x, r) }
	answer := func(r reportFunc) { s.checkAnswer(op, x, r) }
	if s.protocol != protocolREST { // in REST, paths and headers contain members too, but the digests do not cover them
		uncachedRequest, uncachedAnswer := request, answer
		request = func(r reportFunc) { checkedMessages.checkOnce(checkedMessages.requestDigest(x), r, uncachedRequest) }
		answer = func(r reportFunc) { checkedMessages.checkOnce(checkedMessages.answerDigest(x), r, uncachedAnswer) }
	}
	if !c.answersOnly {
		request(found("request"))
	}
	// Do not check the response to an injected fault, because an operation of the emulator has not created it. The
	// exception is the fault "stale".
	if x.Fault == "" || x.Fault == "stale" {
		answer(found("answer"))
	}
}

// isRejected reports whether the emulator refused the request or sent no response.
func isRejected(x emulator.Exchange) bool { return x.Answer.Status < 200 || x.Answer.Status >= 300 }

// withoutNumbers returns a member path without the numbers of list items: "Tags.1.Key" becomes "Tags.Key".
func withoutNumbers(path string) string {
	var out []string
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || part[0] < '0' || part[0] > '9' {
			out = append(out, part)
		}
	}
	return strings.Join(out, ".")
}

func (s *service) checkRequest(op *operation, x emulator.Exchange, found reportFunc) {
	w := &messageChecker{protocol: s.protocol, report: found, skipsValueChecks: isRejected(x)}
	input := op.input
	if input == nil {
		input = &shape{kind: "structure", name: x.Operation + "Input"}
	}
	var tree *node
	var err error
	switch s.protocol {
	case protocolREST:
		w.checkLocation(op, x)
		tree = &node{}
		if len(x.Request.Body) > 0 {
			if tree, err = xmlTree(x.Request.Body); err == nil && tree.name != op.root {
				found("", tree.name, "not "+op.root+", the root of the request")
			}
		}
	case protocolJSON:
		tree, err = jsonTree(x.Request.Body)
	default:
		tree = formTree(x.Request.Form)
	}
	if err != nil {
		found("", string(x.Request.Body), "cannot be read: "+err.Error())
		return
	}
	w.checkStructure(input, tree)
}

// checkLocation compares the members in the path and in the query of a request with the model.
func (w *messageChecker) checkLocation(op *operation, x emulator.Exchange) {
	values := url.Values{}
	want, have := strings.Split(strings.TrimSuffix(op.path, "/"), "/"), strings.Split(strings.TrimSuffix(x.Request.Path, "/"), "/")
	if x.Request.Method != op.method || len(want) != len(have) {
		w.reportDeviation(x.Request.Method+" "+x.Request.Path, "not %s %s", op.method, op.path)
		return
	}
	for i := range want {
		if name, ok := strings.CutPrefix(want[i], "{"); ok {
			values.Set("uri "+strings.TrimSuffix(name, "}"), have[i])
		} else if want[i] != have[i] {
			w.reportDeviation(x.Request.Path, "not %s", op.path)
		}
	}
	for name := range x.Request.Query {
		values.Set("querystring "+name, x.Request.Query.Get(name))
	}
	if op.input == nil {
		return
	}
	for _, m := range op.input.members {
		key := m.location + " " + m.requestName
		switch {
		case m.location == "":
		case values.Has(key):
			w.checkChild(m.name, m.shape, &node{text: values.Get(key)})
		case m.required:
			w.reportDeviation(m.name, "a required member of %s is missing", op.input.name)
		}
		delete(values, key)
	}
	for key := range values {
		w.reportDeviation(key, "not a member of %s", op.input.name)
	}
}

func (s *service) checkAnswer(op *operation, x emulator.Exchange, found reportFunc) {
	switch {
	case x.Answer.Status == 0: // no answer was sent
		return
	case x.IsEmulatorError && x.Answer.Status >= 500:
		found("", x.Message, "internal error of the emulator")
		return
	case x.Answer.Status >= 300:
		s.checkErrorCode(op, x, found)
		return
	}
	w := &messageChecker{protocol: s.protocol, isAnswer: true, report: found}
	tree, err := s.answerBody(op, x)
	if err != nil {
		found("", string(x.Answer.Body), err.Error())
		return
	}
	output := op.output
	if output == nil {
		output = &shape{kind: "structure", name: x.Operation + "Output"}
	}
	w.checkStructure(output, tree)
	for _, m := range output.members {
		if m.location != "header" {
			continue
		}
		if value := x.Answer.Header.Get(m.answerName); value != "" {
			w.checkChild(m.name, m.shape, &node{text: value})
		} else if m.required {
			w.reportDeviation(m.name, "a required member of %s is missing", output.name)
		}
	}
}

// answerBody parses a response and returns the node that contains the output members.
func (s *service) answerBody(op *operation, x emulator.Exchange) (*node, error) {
	if s.protocol == protocolJSON {
		return jsonTree(x.Answer.Body)
	}
	tree, err := xmlTree(x.Answer.Body)
	if err != nil {
		return nil, err
	}
	if want := x.Operation + "Response"; tree.name != want {
		return nil, fmt.Errorf("the root is %q, not %q", tree.name, want)
	}
	switch s.protocol {
	case protocolEC2:
		id := tree.child("requestId")
		if id == nil || id.text == "" {
			return nil, fmt.Errorf("no request ID")
		}
		known := op.output != nil && op.output.answerMembers["return"] != nil
		tree.children = slices.DeleteFunc(tree.children, func(n node) bool { return n.name == "requestId" || n.name == "return" && !known })
	case protocolQuery:
		if meta := tree.child("ResponseMetadata"); meta == nil || meta.child("RequestId") == nil {
			return nil, fmt.Errorf("no request ID")
		}
		want := op.wrapper
		if want == "" {
			want = x.Operation + "Result"
		}
		result := tree.child(want)
		if result == nil || len(tree.children) != 2 {
			return nil, fmt.Errorf("the response does not consist of ResponseMetadata and %q", want)
		}
		tree = result
	}
	return tree, nil
}

// checkErrorCode checks that the error code of a response is one that the model lists for the operation, or one that any
// operation of the service may return.
func (s *service) checkErrorCode(op *operation, x emulator.Exchange, found reportFunc) {
	code, err := s.errorCode(x)
	switch {
	case err != nil:
		found("", string(x.Answer.Body), err.Error())
	case code != x.Code:
		found("Code", code, "the emulator logged the code "+x.Code)
	case x.IsEmulatorError || op.errors == nil || op.errors[code] || s.isCommonError(code):
	default:
		found("Code", code, "not an error of the operation")
	}
}

// errorCode returns the error code in a response. Its position depends on the protocol.
func (s *service) errorCode(x emulator.Exchange) (string, error) {
	if s.protocol == protocolJSON {
		tree, err := jsonTree(x.Answer.Body)
		if err != nil {
			return "", err
		}
		if code := tree.child("__type"); code != nil {
			return code.text, nil
		}
		return "", fmt.Errorf("an error without a code")
	}
	tree, err := xmlTree(x.Answer.Body)
	if err != nil {
		return "", err
	}
	path := []string{"ErrorResponse", "Error", "Code"}
	if s.protocol == protocolEC2 {
		path = []string{"Response", "Errors", "Error", "Code"}
	}
	at := tree
	if at.name != path[0] {
		return "", fmt.Errorf("the root of an error is %q, not %q", at.name, path[0])
	}
	for _, name := range path[1:] {
		if at = at.child(name); at == nil {
			return "", fmt.Errorf("an error without a code")
		}
	}
	return at.text, nil
}

// isCommonError reports whether any operation of the service may return the error code.
func (s *service) isCommonError(code string) bool {
	if s.protocol == protocolJSON {
		return slices.Contains(commonJSONErrors, code)
	}
	return slices.Contains(commonXMLErrors, code)
}
