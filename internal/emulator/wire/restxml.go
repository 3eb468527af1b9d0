package wire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// RESTXML returns the codec of the protocol restXml, which Route 53 uses. namespace is the XML namespace of responses.
func RESTXML(namespace string, routes []Route) Codec { return &restXML{namespace, routes} }

type restXML struct {
	namespace string
	routes    []Route
}

// Route implements Router.
func (c *restXML) Route(method, path string) (operation string, ok bool) {
	r, _ := c.findRoute(method, path)
	return r.Operation, r.Operation != ""
}

func (c *restXML) findRoute(method, path string) (Route, map[string]string) {
	for _, r := range c.routes {
		if members, ok := r.match(method, path); ok {
			return r, members
		}
	}
	return Route{}, nil
}

func (c *restXML) Decode(r Request, in any) error {
	route, members := c.findRoute(r.Method, r.Path)
	v := reflect.ValueOf(in).Elem()
	for _, name := range store.SortedKeys(members) {
		if err := decodeText(members[name], v.FieldByName(name), name); err != nil {
			return err
		}
	}
	for _, name := range store.SortedKeys(r.Query) {
		member := route.Query[name]
		if member == "" || len(r.Query[name]) != 1 {
			return unknownParameterError(name)
		}
		if err := decodeText(r.Query[name][0], v.FieldByName(member), member); err != nil {
			return err
		}
	}
	if len(bytes.TrimSpace(r.Body)) == 0 {
		return nil
	}
	root, err := parseXML(r.Body)
	if err != nil {
		return store.Errorf(store.UnprovenSource, "InvalidInput", "Invalid XML ; %v", err)
	}
	if root.name != route.Operation+"Request" {
		return unknownParameterError(root.name)
	}
	if err := root.decodeInto(v, ""); err != nil {
		return err
	}
	return nil
}

// Encode implements Codec. If a member Location has a value, it is returned as a header, and the HTTP status is 201.
func (c *restXML) Encode(operation string, out any, requestID string) (Response, error) {
	v := reflect.ValueOf(out).Elem()
	d := &xmlDocument{names: queryNames, itemName: singularName}
	d.WriteString(xml.Header + `<` + operation + `Response xmlns="` + c.namespace + `">`)
	location := ""
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case !f.IsExported() || isSDKField(f):
		case f.Name == "Location":
			if p, _ := v.Field(i).Interface().(*string); p != nil {
				location = *p
			}
		default:
			if err := d.writeElement(f.Name, v.Field(i)); err != nil {
				return Response{}, err
			}
		}
	}
	d.closeElement(operation + "Response")
	resp := newResponse(200, "text/xml", requestID, d.Bytes())
	if location != "" {
		resp.Status = 201
		resp.Header.Set("Location", location)
	}
	return resp, nil
}

// EncodeError implements Codec. Errors have the same format as in awsQuery.
func (c *restXML) EncodeError(err *store.Error, requestID string) Response {
	return query{c.namespace}.EncodeError(err, requestID)
}

// singularName returns the element name of the items of a list, such as "HostedZone" for "HostedZones".
func singularName(list string) string { return strings.TrimSuffix(list, "s") }

func decodeText(s string, v reflect.Value, path string) *store.Error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	return decodeScalar(s, v, path)
}

// xmlElement is an XML element without attributes.
type xmlElement struct {
	name     string
	text     string
	children []*xmlElement
}

func parseXML(body []byte) (*xmlElement, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = true
	var open []*xmlElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the document has no end")
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &xmlElement{name: token.Name.Local}
			if n := len(open); n > 0 {
				open[n-1].children = append(open[n-1].children, e)
			}
			open = append(open, e)
		case xml.CharData:
			if n := len(open); n > 0 {
				open[n-1].text += string(token)
			}
		case xml.EndElement:
			n := len(open) - 1
			if n == 0 {
				return open[0], nil
			}
			open = open[:n]
		}
	}
}

// decodeInto sets v to the value of the element. v may be of any kind.
func (e *xmlElement) decodeInto(v reflect.Value, path string) *store.Error {
	if v.Kind() == reflect.Pointer {
		if v.Type() == reflect.TypeFor[*time.Time]() {
			t, err := time.Parse(time.RFC3339, e.text)
			if err != nil {
				return malformedParameterError(path, e.text, "a timestamp")
			}
			v.Set(reflect.ValueOf(&t))
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return e.decodeInto(v.Elem(), path)
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, c := range e.children {
			f, ok := v.Type().FieldByName(c.name)
			if !ok || !f.IsExported() || isSDKField(f) {
				return unknownParameterError(path + c.name)
			}
			if !v.FieldByIndex(f.Index).IsZero() {
				return malformedParameterError(path+c.name, c.text, "the only value")
			}
			if err := c.decodeInto(v.FieldByIndex(f.Index), path+c.name+"."); err != nil {
				return err
			}
		}
		return nil
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, len(e.children)))
		for _, c := range e.children {
			if c.name != singularName(e.name) {
				return unknownParameterError(path + c.name)
			}
			item := reflect.New(v.Type().Elem()).Elem()
			if err := c.decodeInto(item, path+c.name+"."); err != nil {
				return err
			}
			v.Set(reflect.Append(v, item))
		}
		return nil
	}
	if len(e.children) > 0 {
		return unknownParameterError(path + e.children[0].name)
	}
	return decodeScalar(e.text, v, strings.TrimSuffix(path, "."))
}
