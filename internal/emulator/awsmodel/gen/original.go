package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
)

// originalModel is the JSON format in which AWS publishes its models.
type originalModel struct {
	Metadata   struct{ Protocol string }
	Operations map[string]struct {
		HTTP   struct{ Method, RequestURI string }
		Input  struct{ Shape, LocationName string }
		Output struct{ Shape, ResultWrapper string }
		Errors []errorShapeName
	}
	Shapes map[string]struct {
		Type       string
		Members    map[string]originalMember
		Required   []string
		Enum       []string
		Min, Max   *float64
		Pattern    string
		Member     *originalMember
		Key, Value *originalMember
		Error      struct{ Code string }
	}
}

type originalMember struct{ Shape, LocationName, QueryName, Location string }

// errorShapeName is the name of an error shape. In AWS's models it is a string, or an object with the member "shape".
type errorShapeName string

// UnmarshalJSON implements json.Unmarshaler.
func (r *errorShapeName) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(r))
	}
	var o struct{ Shape string }
	err := json.Unmarshal(text, &o)
	*r = errorShapeName(o.Shape)
	return err
}

func readOriginal(path string) (model, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return model{}, err
	}
	var o originalModel
	if err := json.Unmarshal(text, &o); err != nil {
		return model{}, err
	}
	m := model{Protocol: o.Metadata.Protocol, Operations: map[string]operation{}, Shapes: map[string]shape{}}
	for name, x := range o.Operations {
		op := operation{Root: x.Input.LocationName, Wrapper: x.Output.ResultWrapper, Input: x.Input.Shape, Output: x.Output.Shape}
		if m.Protocol == "rest-xml" {
			op.Method, op.Path = x.HTTP.Method, x.HTTP.RequestURI
		}
		codes := map[string]bool{}
		for _, e := range x.Errors {
			code := o.Shapes[string(e)].Error.Code
			if code == "" || m.Protocol == "json" {
				code = string(e)
			}
			codes[code] = true
		}
		op.Errors = slices.Sorted(maps.Keys(codes))
		m.Operations[name] = op
	}
	for name, x := range o.Shapes {
		s := shape{Type: x.Type, Required: x.Required, Enum: x.Enum, Min: x.Min, Max: x.Max, Pattern: x.Pattern}
		if len(x.Members) > 0 {
			s.Members = map[string]member{}
		}
		for name, y := range x.Members {
			s.Members[name] = *y.toMember()
		}
		s.Item, s.Key = x.Member.toMember(), x.Key.toMember()
		if x.Value != nil {
			s.Item = x.Value.toMember()
		}
		m.Shapes[name] = s
	}
	return m, nil
}

func (m *originalMember) toMember() *member {
	if m == nil {
		return nil
	}
	return &member{Shape: m.Shape, Name: m.LocationName, Query: m.QueryName, Location: m.Location}
}
