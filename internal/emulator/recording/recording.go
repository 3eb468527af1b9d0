// Package recording defines the format of recordings of runs against AWS. A recording has the calls as they are sent over
// HTTP, without data that identify the account and the cluster. Package compare sends the calls to the emulator.
package recording

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the format. Read rejects files of other versions.
const Version = 1

// Recording contains the calls of one run.
type Recording struct {
	Version int `json:"version"`
	// Run is the part of names and tags by which the resources of the run are identified.
	Run string    `json:"run"`
	At  time.Time `json:"at"`
	// Programs maps the names of the programs in the run to their versions.
	Programs map[string]string `json:"programs,omitempty"`
	Region   string            `json:"region"`
	Account  string            `json:"account"`
	Site     Site              `json:"site"`
	Calls    []Call            `json:"calls"`
}

// Site describes the network of the run before the run started.
type Site struct {
	VPC       string     `json:"vpc"`
	CIDRs     []string   `json:"cidrs"`
	Subnets   []Subnet   `json:"subnets"`
	Instances []Instance `json:"instances"`
}

// Subnet is a subnet of the VPC. It is public if its route table has a route to an internet gateway.
type Subnet struct {
	ID     string `json:"id"`
	CIDR   string `json:"cidr"`
	Zone   string `json:"zone"`
	Public bool   `json:"public"`
}

// Instance is a node of the cluster.
type Instance struct {
	ID             string   `json:"id"`
	Subnet         string   `json:"subnet"`
	Address        string   `json:"address"`
	SecurityGroups []string `json:"securityGroups"`
}

// Call is one request with its response.
type Call struct {
	// Phase is the phase of the acceptance run, such as "ingress". Caller is "controller", or "run" for the acceptance run
	// itself.
	Phase  string `json:"part,omitempty"`
	Caller string `json:"by"`
	// StartMillis is the time from the start of the run to the request. DurationMillis is the time from the request to the
	// answer.
	StartMillis    int64 `json:"at"`
	DurationMillis int64 `json:"took"`
	// Service is the service name in the credential scope of the request's signature.
	Service   string `json:"service"`
	Region    string `json:"region"`
	Operation string `json:"operation"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Query     string `json:"query,omitempty"`
	Target    string `json:"target,omitempty"`
	Type      string `json:"type,omitempty"`
	Body      string `json:"body,omitempty"`
	// Status is the HTTP status, 0 if there was no answer.
	Status int   `json:"status"`
	Answer *Node `json:"answer,omitempty"`
}

// IsMutating reports whether the operation changes resources, according to its name.
func (c Call) IsMutating() bool { return IsMutating(c.Operation) }

// IsMutating reports whether an operation changes resources, according to its name.
func IsMutating(operation string) bool {
	for _, reading := range []string{"Describe", "List", "Get", http.MethodGet + " "} {
		if strings.HasPrefix(operation, reading) {
			return false
		}
	}
	return true
}

// NewCall returns the call for a request to AWS, without an answer. The service and the region are those in the signature.
// If the request has no operation name, the operation is the method and the path. The call has no headers except
// X-Amz-Target and Content-Type, and RemovedText instead of each secret.
func NewCall(r *http.Request, body []byte) (Call, error) {
	c := Call{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Target: r.Header.Get("X-Amz-Target"), Type: r.Header.Get("Content-Type"),
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	if parts := strings.Split(strings.TrimSpace(scope), "/"); len(parts) == 5 {
		c.Region, c.Service = parts[2], parts[3]
	} else {
		return c, errors.New("the request has no signature for an AWS service")
	}
	var err error
	c.Body, err = ReplaceValues(string(body), func(name, value string) string {
		if name == "Action" {
			c.Operation = value
		}
		if isSecret(name) {
			return RemovedText
		}
		return value
	})
	if err != nil {
		return c, err
	}
	if _, operation, ok := strings.Cut(c.Target, "."); ok {
		c.Operation = operation
	}
	if c.Operation == "" {
		c.Operation = c.Method + " " + c.Path
	}
	return c, nil
}

// Node is an element of an answer in XML or JSON. It has either a text or children.
type Node struct {
	Name     string  `json:"n,omitempty"`
	Text     string  `json:"t,omitempty"`
	Children []*Node `json:"k,omitempty"`
}

// Child returns the first child with a name, or nil if there is none.
func (n *Node) Child(name string) *Node {
	if n == nil {
		return nil
	}
	for _, k := range n.Children {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// EachLeaf calls f for each element without children. path has the names of the elements from n to the leaf.
func (n *Node) EachLeaf(f func(path []string, leaf *Node)) {
	if n != nil {
		n.eachLeaf(nil, f)
	}
}

func (n *Node) eachLeaf(path []string, f func([]string, *Node)) {
	path = append(slices.Clip(path), n.Name)
	if len(n.Children) == 0 {
		f(path, n)
		return
	}
	for _, k := range n.Children {
		k.eachLeaf(path, f)
	}
}

// ParseResponseBody parses the body of an answer in JSON or XML. Any other body is one element with a text. It returns nil
// for an empty body.
func ParseResponseBody(body []byte) (*Node, error) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil, nil
	case body[0] == '{':
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		return nodeFromJSON("", v), nil
	case body[0] == '<':
		return nodeFromXML(body)
	}
	return &Node{Text: string(body)}, nil
}

func nodeFromJSON(name string, v any) *Node {
	n := &Node{Name: name}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Children = append(n.Children, nodeFromJSON(key, v[key]))
		}
	case []any:
		for _, item := range v {
			n.Children = append(n.Children, nodeFromJSON("member", item))
		}
	case nil:
	default:
		n.Text = fmt.Sprint(v)
	}
	return n
}

func nodeFromXML(body []byte) (*Node, error) {
	dec := xml.NewDecoder(bytes.NewReader(body))
	var open []*Node
	var root *Node
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && root != nil && len(open) == 0 {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := &Node{Name: token.Name.Local}
			if len(open) > 0 {
				at := open[len(open)-1]
				at.Children = append(at.Children, n)
			} else if root == nil {
				root = n
			}
			open = append(open, n)
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].Text += string(token)
			}
		case xml.EndElement:
			n := open[len(open)-1]
			if len(n.Children) > 0 {
				n.Text = ""
			}
			n.Text = strings.TrimSpace(n.Text)
			open = open[:len(open)-1]
		}
	}
}

// ReplaceValues returns the body of a request in which each value is replaced by the result of f. In a form, name is the
// name of the field, such as "SecurityGroups.member.1". In JSON, it is the key, with indexes for items of lists. Any other
// body is one value without a name.
func ReplaceValues(body string, f func(name, value string) string) (string, error) {
	trimmed := strings.TrimSpace(body)
	switch {
	case trimmed == "":
		return body, nil
	case trimmed[0] == '{':
		dec := json.NewDecoder(strings.NewReader(trimmed))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return "", err
		}
		out, err := json.Marshal(replaceJSONValues("", v, f))
		return string(out), err
	case trimmed[0] == '<':
		return f("", body), nil
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		return "", err
	}
	for name, values := range form {
		for i := range values {
			values[i] = f(name, values[i])
		}
	}
	return form.Encode(), nil
}

func replaceJSONValues(name string, v any, f func(name, value string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = replaceJSONValues(key, v[key], f)
		}
	case []any:
		for i := range v {
			v[i] = replaceJSONValues(name+"."+strconv.Itoa(i+1), v[i], f)
		}
	case string:
		return f(name, v)
	}
	return v
}

// Read reads a recording.
func Read(from io.Reader) (*Recording, error) {
	var r Recording
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return nil, fmt.Errorf("the file is not a recording of \"make acceptance\": %w", err)
	}
	if r.Version != Version {
		return nil, fmt.Errorf("the recording has version %d of the format; this program reads version %d", r.Version, Version)
	}
	return &r, nil
}

// Write writes a recording with one call on each line, because people read and compare recordings.
func (r *Recording) Write(to io.Writer) error {
	calls := r.Calls
	head := *r
	head.Calls = nil
	text, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString(strings.TrimSuffix(string(text), "\"calls\": null\n}"))
	out.WriteString("\"calls\": [")
	for i, c := range calls {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		out.Write(line)
	}
	out.WriteString("\n  ]\n}\n")
	_, err = to.Write(out.Bytes())
	return err
}
