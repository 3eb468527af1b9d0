package dataplane

import (
	"net/netip"
	"time"
)

// Rule is one rule of a listener. A rule matches if all of its conditions are true. Of several matching rules, the
// one with the lowest priority number applies.
type Rule struct {
	ARN        string
	Priority   int
	Conditions []Condition
	// Authenticators lists the authentications that a request must pass, in order, before Action. Usually it has at most one
	// element.
	Authenticators []Authenticator
	Action         Action
	// Transforms change the request that a target receives.
	Transforms []Transform
}

// Condition is one of HostHeader, PathPattern, HTTPHeader, Method, QueryString and SourceIP. It is true if any of
// its values matches.
type Condition interface{ condition() }

// HostHeader compares the Host header of the request, with its port if it has one. The comparison is not
// case-sensitive.
type HostHeader struct {
	// Values are globs: "*" is any text, "?" any one character.
	Values []string
	// Regexes are regular expressions in RE2 syntax, searched unanchored.
	Regexes []string
}

// PathPattern compares the path as it was sent. The comparison is case-sensitive.
type PathPattern struct {
	Values  []string
	Regexes []string
}

// HTTPHeader compares each value of a request header. The comparison is not case-sensitive.
type HTTPHeader struct {
	Name    string
	Values  []string
	Regexes []string
}

// Method compares the request method exactly.
type Method struct{ Values []string }

// QueryString compares the parameters of the query without percent-decoding. The comparison is not case-sensitive.
type QueryString struct{ Values []QueryPair }

// QueryPair is a pair of globs. An empty Key matches any key. "\*" and "\?" match the
// characters themselves.
type QueryPair struct{ Key, Value string }

// SourceIP compares the address of the TCP peer.
type SourceIP struct{ Values []netip.Prefix }

func (HostHeader) condition()  {}
func (PathPattern) condition() {}
func (HTTPHeader) condition()  {}
func (Method) condition()      {}
func (QueryString) condition() {}
func (SourceIP) condition()    {}

// Action is one of Forward, Redirect and FixedResponse.
type Action interface{ action() }

// Forward sends the request to a target of one of the target groups.
type Forward struct {
	TargetGroups []WeightedTargetGroup
	// StickinessDuration is how long requests of a client go to the same target group. If it is 0, a target group is chosen
	// for each request.
	StickinessDuration time.Duration
}

// WeightedTargetGroup contains the ARN and the weight of a target group. The share of a target group is its weight divided
// by the sum of weights; with weight 0 it gets no requests. With a single target group the weight has no meaning.
type WeightedTargetGroup struct {
	ARN    string
	Weight int
}

// Redirect responds with a Location header. The placeholders #{protocol}, #{host}, #{port}, #{path} and #{query}
// are replaced with the parts of the request. An empty Protocol, Host, Port or Path keeps the value of the request.
// Query always replaces the query of the request, so an empty Query removes it.
type Redirect struct {
	Protocol, Host, Port, Path, Query string
	// Status is 301 or 302.
	Status int
}

// FixedResponse responds with a fixed text.
type FixedResponse struct {
	Status      int
	ContentType string
	Body        string
}

func (Forward) action()       {}
func (Redirect) action()      {}
func (FixedResponse) action() {}

// Transform is HostRewrite or URLRewrite. It replaces the first match of Regex with Replace, in which $1 to $9 are
// the capture groups of the expression.
type Transform interface{ transform() }

// HostRewrite changes the Host header.
type HostRewrite struct{ Regex, Replace string }

// URLRewrite changes path and query.
type URLRewrite struct{ Regex, Replace string }

func (HostRewrite) transform() {}
func (URLRewrite) transform()  {}
