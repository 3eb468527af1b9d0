package wire

import (
	"encoding/xml"
	"reflect"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire/ec2names"
)

// EC2Query returns the codec of EC2.
func EC2Query(namespace string) Codec { return ec2Query{namespace} }

type ec2Query struct{ namespace string }

var (
	ec2Requests  = &naming{name: ec2names.Request}
	ec2Responses = &naming{name: ec2names.Response}
)

func (ec2Query) Decode(r Request, in any) error {
	root, err := parseForm(r)
	if err != nil {
		return err
	}
	d := dialect{names: ec2Requests}
	if err := d.decodeStruct(root, reflect.ValueOf(in).Elem(), ""); err != nil {
		return err
	}
	return nil
}

func (q ec2Query) Encode(operation string, out any, requestID string) (Response, error) {
	d := &document{names: ec2Responses, items: constantName("item")}
	d.WriteString(`<` + operation + `Response xmlns="` + q.namespace + `">`)
	d.text("requestId", requestID)
	any, err := d.members(reflect.ValueOf(out).Elem())
	if err != nil {
		return Response{}, err
	}
	if !any {
		d.text("return", "true")
	}
	d.close(operation + "Response")
	return newResponse(200, "text/xml;charset=UTF-8", requestID, d.Bytes()), nil
}

func (ec2Query) Fail(err *store.Error, requestID string) Response {
	body := struct {
		XMLName   xml.Name `xml:"Response"`
		Code      string   `xml:"Errors>Error>Code"`
		Message   string   `xml:"Errors>Error>Message"`
		RequestID string   `xml:"RequestID"`
	}{Code: err.Code, Message: err.Message, RequestID: requestID}
	text, _ := xml.Marshal(body) // marshalling of strings cannot fail
	return newResponse(err.HTTPStatus(), "text/xml;charset=UTF-8", requestID, text)
}
