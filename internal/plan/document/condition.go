package document

import "github.com/fulcrum-lb/fulcrum/internal/model"

// conditionSpec is a rule condition in a document. Only the configuration that belongs to Field is set.
type conditionSpec struct {
	Field    string      `json:"field"`
	Host     *valuesSpec `json:"hostHeaderConfig,omitempty"`
	Path     *valuesSpec `json:"pathPatternConfig,omitempty"`
	Header   *headerSpec `json:"httpHeaderConfig,omitempty"`
	Method   *valuesSpec `json:"httpRequestMethodConfig,omitempty"`
	Query    *querySpec  `json:"queryStringConfig,omitempty"`
	SourceIP *valuesSpec `json:"sourceIPConfig,omitempty"`
}

type valuesSpec struct {
	Values []string `json:"values,omitempty"`
	Regex  []string `json:"regexValues,omitempty"`
}

type headerSpec struct {
	Name string `json:"httpHeaderName"`
	valuesSpec
}

type querySpec struct {
	Values []queryPairSpec `json:"values"`
}

type queryPairSpec struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value"`
}

type transformSpec struct {
	Type model.TransformKind `json:"type"`
	URL  *rewritesSpec       `json:"urlRewriteConfig,omitempty"`
	Host *rewritesSpec       `json:"hostHeaderRewriteConfig,omitempty"`
}

type rewritesSpec struct {
	Rewrites []rewriteSpec `json:"rewrites"`
}

type rewriteSpec struct {
	Regex   string `json:"regex"`
	Replace string `json:"replace"`
}

// conditionSpecs converts rule conditions to their form in a document.
func conditionSpecs(cs []model.Condition) []conditionSpec {
	out := make([]conditionSpec, 0, len(cs))
	for _, c := range cs {
		out = append(out, conditionOf(c))
	}
	return out
}

// conditionOf converts a rule condition to its form in a document.
func conditionOf(c model.Condition) conditionSpec {
	switch c := c.(type) {
	case model.HostHeader:
		return conditionSpec{Field: "host-header", Host: &valuesSpec{c.Values, c.Regex}}
	case model.PathPattern:
		return conditionSpec{Field: "path-pattern", Path: &valuesSpec{c.Values, c.Regex}}
	case model.HTTPHeader:
		return conditionSpec{Field: "http-header", Header: &headerSpec{c.Name, valuesSpec{c.Values, c.Regex}}}
	case model.RequestMethod:
		return conditionSpec{Field: "http-request-method", Method: &valuesSpec{Values: c.Values}}
	case model.QueryString:
		q := &querySpec{Values: []queryPairSpec{}}
		for _, p := range c.Pairs {
			q.Values = append(q.Values, queryPairSpec(p))
		}
		return conditionSpec{Field: "query-string", Query: q}
	case model.SourceIP:
		return conditionSpec{Field: "source-ip", SourceIP: &valuesSpec{Values: c.CIDRs}}
	}
	return conditionSpec{}
}

// transformSpecs converts rule transforms to their form in a document.
func transformSpecs(ts []model.Transform) []transformSpec {
	var out []transformSpec
	for _, t := range ts {
		r := &rewritesSpec{Rewrites: []rewriteSpec{}}
		for _, x := range t.Rewrites {
			r.Rewrites = append(r.Rewrites, rewriteSpec(x))
		}
		s := transformSpec{Type: t.Kind}
		switch t.Kind {
		case model.HostRewrite:
			s.Host = r
		case model.URLRewrite:
			s.URL = r
		}
		out = append(out, s)
	}
	return out
}
