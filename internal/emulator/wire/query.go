package wire

import (
	"encoding/xml"
	"reflect"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// AWSQuery returns the codec of the protocol awsQuery, which ELBv2 and STS use. namespace is the XML namespace of responses.
func AWSQuery(namespace string) Codec { return query{namespace} }

type query struct{ namespace string }

// queryName returns the name of a member in requests and responses. It is the Go name, except for the policy ARN of STS.
func queryName(structure, member string) string {
	if structure == "PolicyDescriptorType" && member == "Arn" {
		return "arn"
	}
	return member
}

var queryNames = &wireNames{memberName: queryName}

func (query) Decode(r Request, in any) error {
	root, err := parseForm(r)
	if err != nil {
		return err
	}
	d := formDialect{names: queryNames, wrapper: "member"}
	if err := d.decodeStruct(root, reflect.ValueOf(in).Elem(), ""); err != nil {
		return err
	}
	return nil
}

func (q query) Encode(operation string, out any, requestID string) (Response, error) {
	d := &xmlDocument{names: queryNames, itemName: constantName("member")}
	d.WriteString(`<` + operation + `Response xmlns="` + q.namespace + `">`)
	d.openElement(operation + "Result")
	if strings.HasPrefix(operation, "Describe") {
		setEmptyLists(reflect.ValueOf(out).Elem())
	}
	if _, err := d.writeMembers(reflect.ValueOf(out).Elem()); err != nil {
		return Response{}, err
	}
	d.closeElement(operation + "Result")
	d.openElement("ResponseMetadata")
	d.writeText("RequestId", requestID)
	d.closeElement("ResponseMetadata")
	d.closeElement(operation + "Response")
	return newResponse(200, "text/xml", requestID, d.Bytes()), nil
}

// setEmptyLists replaces the nil lists of a response by empty lists, because describe operations of AWS return an empty
// element for an empty list.
func setEmptyLists(out reflect.Value) {
	for i := range out.NumField() {
		if f := out.Field(i); f.Kind() == reflect.Slice && f.IsNil() && out.Type().Field(i).IsExported() {
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		}
	}
}

func (q query) EncodeError(err *store.Error, requestID string) Response {
	status, kind := err.HTTPStatus(), "Sender"
	if status >= 500 {
		kind = "Receiver"
	}
	body := struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Namespace string   `xml:"xmlns,attr"`
		Type      string   `xml:"Error>Type"`
		Code      string   `xml:"Error>Code"`
		Message   string   `xml:"Error>Message"`
		RequestID string   `xml:"RequestId"`
	}{Namespace: q.namespace, Type: kind, Code: err.Code, Message: err.Message, RequestID: requestID}
	text, _ := xml.Marshal(body) // marshalling of strings cannot fail
	return newResponse(status, "text/xml", requestID, text)
}
