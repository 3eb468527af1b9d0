package settings

import (
	"errors"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

type valuesJSON struct{ Values, RegexValues []string }

// checkExactlyOne returns an error unless v has either values or regexValues, and not both.
func (v *valuesJSON) checkExactlyOne() error {
	if v == nil || (len(v.Values) == 0) == (len(v.RegexValues) == 0) {
		return errors.New("needs a config with either values or regexValues")
	}
	return nil
}

type conditionJSON struct {
	Field            string
	HostHeaderConfig *valuesJSON
	PathConfig       *valuesJSON `json:"pathPatternConfig"`
	HTTPHeaderConfig *struct {
		HTTPHeaderName      string
		Values, RegexValues []string
	}
	HTTPRequestMethodConfig *struct{ Values []string }
	QueryStringConfig       *struct {
		Values []struct{ Key, Value string }
	}
	SourceIPConfig *struct{ Values []string }
}

// maxConditionValues is the maximum number of conditions and values in an annotation. AWS accepts far fewer in a rule (5
// unless the quota is raised). The maximum limits memory, because each path of a backend gets a copy of the conditions.
const maxConditionValues = 100

// ParseConditions parses a conditions annotation. The result is in the order of the annotation.
func ParseConditions(raw string) ([]model.Condition, error) {
	var in []conditionJSON
	if err := decodeAnnotation(raw, &in, conditionsForm); err != nil {
		return nil, err
	}
	var out []model.Condition
	values := len(in)
	for i, c := range in {
		if values += c.countValues(); values > maxConditionValues {
			return nil, fmt.Errorf("more than %d conditions and values; AWS does not accept that many in a rule", maxConditionValues)
		}
		cond, err := c.condition()
		if err != nil {
			return nil, fmt.Errorf("condition %d (%s) %w", i, c.Field, err)
		}
		out = append(out, cond)
	}
	return out, nil
}

func (c conditionJSON) countValues() (n int) {
	for _, v := range []*valuesJSON{c.HostHeaderConfig, c.PathConfig} {
		if v != nil {
			n += len(v.Values) + len(v.RegexValues)
		}
	}
	if h := c.HTTPHeaderConfig; h != nil {
		n += len(h.Values) + len(h.RegexValues)
	}
	if m := c.HTTPRequestMethodConfig; m != nil {
		n += len(m.Values)
	}
	if q := c.QueryStringConfig; q != nil {
		n += len(q.Values)
	}
	if s := c.SourceIPConfig; s != nil {
		n += len(s.Values)
	}
	return n
}

// conditionFields are the valid values of conditionJSON.Field.
var conditionFields = []string{"host-header", "path-pattern", "http-header", "http-request-method", "query-string", "source-ip"}

func (c conditionJSON) condition() (model.Condition, error) {
	switch c.Field {
	case "host-header":
		if err := c.HostHeaderConfig.checkExactlyOne(); err != nil {
			return nil, err
		}
		return model.HostHeader{Values: c.HostHeaderConfig.Values, Regex: c.HostHeaderConfig.RegexValues}, nil
	case "path-pattern":
		if err := c.PathConfig.checkExactlyOne(); err != nil {
			return nil, err
		}
		return model.PathPattern{Values: c.PathConfig.Values, Regex: c.PathConfig.RegexValues}, nil
	case "http-header":
		h := c.HTTPHeaderConfig
		if h == nil {
			return nil, errors.New("needs an httpHeaderConfig")
		}
		if err := (&valuesJSON{h.Values, h.RegexValues}).checkExactlyOne(); err != nil {
			return nil, err
		}
		return model.HTTPHeader{Name: h.HTTPHeaderName, Values: h.Values, Regex: h.RegexValues}, nil
	case "http-request-method":
		if c.HTTPRequestMethodConfig == nil || len(c.HTTPRequestMethodConfig.Values) == 0 {
			return nil, errors.New("needs an httpRequestMethodConfig with values")
		}
		return model.RequestMethod{Values: c.HTTPRequestMethodConfig.Values}, nil
	case "query-string":
		return c.queryCondition()
	case "source-ip":
		if c.SourceIPConfig == nil || len(c.SourceIPConfig.Values) == 0 {
			return nil, errors.New("needs a sourceIPConfig with values")
		}
		return model.SourceIP{CIDRs: c.SourceIPConfig.Values}, nil
	}
	return nil, fmt.Errorf("has an unknown field%s", finding.SpellingHint(c.Field, conditionFields))
}

func (c conditionJSON) queryCondition() (model.Condition, error) {
	if c.QueryStringConfig == nil || len(c.QueryStringConfig.Values) == 0 {
		return nil, errors.New("needs a queryStringConfig with values")
	}
	var q model.QueryString
	for _, p := range c.QueryStringConfig.Values {
		if p.Value == "" {
			return nil, errors.New("has an entry without a value")
		}
		q.Pairs = append(q.Pairs, model.QueryPair{Key: p.Key, Value: p.Value})
	}
	return q, nil
}

type transformJSON struct {
	Type                    string
	URLRewriteConfig        *rewritesJSON
	HostHeaderRewriteConfig *rewritesJSON
}

type rewritesJSON struct {
	Rewrites []struct{ Regex, Replace string }
}

// ParseTransforms parses a transforms annotation. The result is in the order of the annotation.
func ParseTransforms(raw string) ([]model.Transform, error) {
	var in []transformJSON
	if err := decodeAnnotation(raw, &in, transformsForm); err != nil {
		return nil, err
	}
	var out []model.Transform
	rewrites := 0
	for i, t := range in {
		var config *rewritesJSON
		switch model.TransformKind(t.Type) {
		case model.URLRewrite:
			config = t.URLRewriteConfig
		case model.HostRewrite:
			config = t.HostHeaderRewriteConfig
		default:
			return nil, fmt.Errorf("transform %d: type %q is neither url-rewrite nor host-header-rewrite%s", i, t.Type, finding.SpellingHint(t.Type, []string{string(model.URLRewrite), string(model.HostRewrite)}))
		}
		if config == nil || len(config.Rewrites) == 0 {
			return nil, fmt.Errorf("transform %d (%s) needs a config with rewrites", i, t.Type)
		}
		tr := model.Transform{Kind: model.TransformKind(t.Type)}
		rewrites += len(config.Rewrites)
		if err := checkEntryLimit(rewrites); err != nil {
			return nil, fmt.Errorf("rewrites: %w", err)
		}
		for _, r := range config.Rewrites {
			tr.Rewrites = append(tr.Rewrites, model.Rewrite{Regex: r.Regex, Replace: r.Replace})
		}
		out = append(out, tr)
	}
	return out, nil
}
