package dataplane

import (
	"net/netip"
	"time"
)

// Rule is a rule of a listener. It matches a request if all its conditions are true. If several rules match, the rule
// with the lowest priority number applies.
type Rule struct {
	ARN        string
	Priority   int
	Conditions []Condition
	// Authenticators lists the authentications that a request must pass, in this order, before Action. Usually there is at
	// most one.
	Authenticators []Authenticator
	Action         Action
	// Transforms change the request that a target receives.
	Transforms []Transform
}

// Condition is a HostHeader, PathPattern, HTTPHeader, Method, QueryString or SourceIP. It is true if any of its values
// matches.
type Condition interface{ condition() }

// HostHeader compares the Host header of the request, including a port in it. The comparison is not case-sensitive.
type HostHeader struct {
	// Values are globs: "*" matches any text, "?" matches any one character.
	Values []string
	// Regexes are regular expressions in RE2 syntax. They may match any part of the text.
	Regexes []string
}

// PathPattern compares the path as the client sent it. The comparison is case-sensitive.
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

// QueryString compares the query parameters without percent-decoding them. The comparison is not case-sensitive.
type QueryString struct{ Values []QueryPair }

// QueryPair is a pair of globs. An empty Key matches any key. "\*" matches a literal asterisk, and "\?" a literal
// question mark.
type QueryPair struct{ Key, Value string }

// SourceIP compares the address of the client's TCP connection.
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
	// StickinessDuration is the time for which requests of a client go to the same target group. If it is 0, a target group
	// is chosen for each request.
	StickinessDuration time.Duration
}

// WeightedTargetGroup is a target group with its weight. The share of a target group is its weight divided by the sum of the
// weights; with weight 0 it gets no requests. The weight of a single target group has no effect.
type WeightedTargetGroup struct {
	ARN    string
	Weight int
}

// Redirect responds with a Location header. Parts of the request replace the placeholders #{protocol}, #{host}, #{port},
// #{path} and #{query}. An empty Protocol, Host, Port or Path keeps the value of the request. Query always replaces the
// query of the request, so an empty Query removes it.
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

// Transform is HostRewrite or URLRewrite. It replaces the first match of Regex with Replace, in which $1 to $9 are the
// capture groups of Regex.
type Transform interface{ transform() }

// HostRewrite changes the Host header.
type HostRewrite struct{ Regex, Replace string }

// URLRewrite changes the path and the query.
type URLRewrite struct{ Regex, Replace string }

func (HostRewrite) transform() {}
func (URLRewrite) transform()  {}
