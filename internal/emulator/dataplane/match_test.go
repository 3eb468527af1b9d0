package dataplane

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestConditionsMatchRequests(t *testing.T) {
	values := func(v ...string) []string { return v }
	host := func(v ...string) Condition { return HostHeader{Values: v} }
	path := func(v ...string) Condition { return PathPattern{Values: v} }
	query := func(key, value string) Condition { return QueryString{Values: []QueryPair{{key, value}}} }
	cases := map[string]struct {
		conditions []Condition
		facts      RequestFacts
		want       bool
	}{
		"no condition matches everything": {nil, RequestFacts{}, true},

		"host is compared without regard to case":     {[]Condition{host("example.com")}, RequestFacts{Host: "Example.COM"}, true},
		"host is compared with its port":              {[]Condition{host("example.com")}, RequestFacts{Host: "example.com:8443"}, false},
		"expressions see the port of the host":        {[]Condition{HostHeader{Regexes: []string{`^example\.com(:[0-9]+)?$`}}}, RequestFacts{Host: "example.com:8443"}, true},
		"host values may have capitals":               {[]Condition{host("Example.com")}, RequestFacts{Host: "example.com"}, true},
		"host star matches one label":                 {[]Condition{host("*.example.com")}, RequestFacts{Host: "a.example.com"}, true},
		"host star spans dots":                        {[]Condition{host("*.example.com")}, RequestFacts{Host: "a.b.example.com"}, true},
		"host star does not match the bare name":      {[]Condition{host("*.example.com")}, RequestFacts{Host: "example.com"}, false},
		"host star does not match another suffix":     {[]Condition{host("*.example.com")}, RequestFacts{Host: "a.example.com.evil.org"}, false},
		"host question mark is one character":         {[]Condition{host("a?.example.com")}, RequestFacts{Host: "a1.example.com"}, true},
		"host question mark is not nothing":           {[]Condition{host("a?.example.com")}, RequestFacts{Host: "a.example.com"}, false},
		"host second value":                           {[]Condition{host("a.org", "b.org")}, RequestFacts{Host: "b.org"}, true},
		"host regex ignores case":                     {[]Condition{HostHeader{Regexes: values(`^[a-z]+\.example\.com$`)}}, RequestFacts{Host: "WWW.example.com"}, true},
		"host regex is not anchored":                  {[]Condition{HostHeader{Regexes: values(`ample`)}}, RequestFacts{Host: "example.com"}, true},
		"host IPv6 literal":                           {[]Condition{host("*::1*")}, RequestFacts{Host: "[::1]:80"}, true},
		"path is compared with regard to case":        {[]Condition{path("/Img")}, RequestFacts{Path: "/img"}, false},
		"path star matches nothing":                   {[]Condition{path("/img/*")}, RequestFacts{Path: "/img/"}, true},
		"path star spans slashes":                     {[]Condition{path("/img/*")}, RequestFacts{Path: "/img/a/b"}, true},
		"path star does not match the folder itself":  {[]Condition{path("/img/*")}, RequestFacts{Path: "/img"}, false},
		"path is compared whole":                      {[]Condition{path("/img")}, RequestFacts{Path: "/img/a"}, false},
		"path is not decoded":                         {[]Condition{path("/a b")}, RequestFacts{Path: "/a%20b"}, false},
		"path is not cleaned":                         {[]Condition{path("/b")}, RequestFacts{Path: "/a/../b"}, false},
		"path backslash is literal":                   {[]Condition{path(`/\*`)}, RequestFacts{Path: `/\x`}, true},
		"path several stars":                          {[]Condition{path("/*/x/*/y")}, RequestFacts{Path: "/1/x/2/x/3/y"}, true},
		"path regex":                                  {[]Condition{PathPattern{Regexes: values(`^/v[0-9]+/`)}}, RequestFacts{Path: "/v12/a"}, true},
		"path regex minds case":                       {[]Condition{PathPattern{Regexes: values(`^/V`)}}, RequestFacts{Path: "/v"}, false},
		"method is exact":                             {[]Condition{Method{values("GET")}}, RequestFacts{Method: "GET"}, true},
		"method minds case":                           {[]Condition{Method{values("GET")}}, RequestFacts{Method: "get"}, false},
		"method HEAD is not GET":                      {[]Condition{Method{values("GET")}}, RequestFacts{Method: "HEAD"}, false},
		"query key and value":                         {[]Condition{query("version", "v1")}, RequestFacts{Query: "a=b&version=v1"}, true},
		"query ignores case":                          {[]Condition{query("Version", "V1")}, RequestFacts{Query: "vERSION=v1"}, true},
		"query key of another parameter":              {[]Condition{query("a", "c")}, RequestFacts{Query: "a=b&d=c"}, false},
		"query without key matches any value":         {[]Condition{query("", "*example*")}, RequestFacts{Query: "x=1&y=an-example-2"}, true},
		"query without key does not look at keys":     {[]Condition{query("", "example")}, RequestFacts{Query: "example=1"}, false},
		"query escaped star is a star":                {[]Condition{query("", `a\*b`)}, RequestFacts{Query: "x=a*b"}, true},
		"query escaped star is only a star":           {[]Condition{query("", `a\*b`)}, RequestFacts{Query: "x=aXb"}, false},
		"query escaped question mark":                 {[]Condition{query("q", `a\?`)}, RequestFacts{Query: "q=a?"}, true},
		"query parameter without value":               {[]Condition{query("debug", "")}, RequestFacts{Query: "debug"}, true},
		"query empty":                                 {[]Condition{query("", "*")}, RequestFacts{Query: ""}, false},
		"query is not decoded":                        {[]Condition{query("a", "x y")}, RequestFacts{Query: "a=x%20y"}, false},
		"query value has equal signs":                 {[]Condition{query("a", "b=c")}, RequestFacts{Query: "a=b=c"}, true},
		"header ignores case of name and value":       {[]Condition{HTTPHeader{Name: "user-AGENT", Values: values("*Chrome*")}}, RequestFacts{Header: http.Header{"User-Agent": {"some chrome"}}}, true},
		"header repeated":                             {[]Condition{HTTPHeader{Name: "X-A", Values: values("2")}}, RequestFacts{Header: http.Header{"X-A": {"1", "2"}}}, true},
		"header is not split at commas":               {[]Condition{HTTPHeader{Name: "X-A", Values: values("2")}}, RequestFacts{Header: http.Header{"X-A": {"1,2"}}}, false},
		"header absent":                               {[]Condition{HTTPHeader{Name: "X-A", Values: values("*")}}, RequestFacts{}, false},
		"header regex":                                {[]Condition{HTTPHeader{Name: "X-A", Regexes: values("^b+$")}}, RequestFacts{Header: http.Header{"X-A": {"BBB"}}}, true},
		"source inside":                               {[]Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, RequestFacts{Source: netip.MustParseAddr("10.1.2.3")}, true},
		"source outside":                              {[]Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, RequestFacts{Source: netip.MustParseAddr("11.1.2.3")}, false},
		"source with host bits in the prefix":         {[]Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("10.9.9.9/8")}}}, RequestFacts{Source: netip.MustParseAddr("10.1.2.3")}, true},
		"source IPv4 in IPv6":                         {[]Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, RequestFacts{Source: netip.MustParseAddr("::ffff:10.1.2.3")}, true},
		"source is never taken from X-Forwarded-For":  {[]Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, RequestFacts{Source: netip.MustParseAddr("1.1.1.1"), Header: http.Header{"X-Forwarded-For": {"10.1.1.1"}}}, false},
		"all conditions have to hold":                 {[]Condition{host("a.org"), path("/x")}, RequestFacts{Host: "a.org", Path: "/y"}, false},
		"all conditions hold":                         {[]Condition{host("a.org"), path("/x")}, RequestFacts{Host: "a.org", Path: "/x"}, true},
		"values of one condition are alternatives":    {[]Condition{path("/x", "/y"), host("a.org", "b.org")}, RequestFacts{Host: "b.org", Path: "/x"}, true},
		"a condition without values never holds":      {[]Condition{path()}, RequestFacts{Path: "/"}, false},
		"two conditions on different headers combine": {[]Condition{HTTPHeader{Name: "A", Values: values("1")}, HTTPHeader{Name: "B", Values: values("2")}}, RequestFacts{Header: http.Header{"A": {"1"}, "B": {"2"}}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Match(Rule{Conditions: c.conditions}, c.facts)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}

func TestMatchReportsInvalidRegex(t *testing.T) {
	_, err := Match(Rule{Conditions: []Condition{Method{}, PathPattern{Regexes: []string{"("}}}}, RequestFacts{})
	if err == nil || !strings.Contains(err.Error(), "condition 2") {
		t.Errorf("want an error about condition 2, got %v", err)
	}
}

// FuzzMatch checks that matching does not fail, and that a rule matches if and only if each of its conditions matches.
func FuzzMatch(f *testing.F) {
	f.Add("*.example.com", "/a*", "k", "v?", "a.example.com:80", "/ab", "k=v1&x")
	f.Fuzz(func(t *testing.T, hostGlob, pathGlob, key, value, host, path, query string) {
		rule := Rule{Conditions: []Condition{
			HostHeader{Values: []string{hostGlob}}, PathPattern{Values: []string{pathGlob}},
			QueryString{Values: []QueryPair{{key, value}}},
		}}
		facts := RequestFacts{Host: host, Path: path, Query: query}
		first, err := Match(rule, facts)
		if err != nil {
			t.Fatal(err)
		}
		all := true
		for _, c := range rule.Conditions {
			one, _ := Match(Rule{Conditions: []Condition{c}}, facts)
			all = all && one
		}
		if first != all {
			t.Errorf("together %v, one by one %v", first, all)
		}
	})
}
