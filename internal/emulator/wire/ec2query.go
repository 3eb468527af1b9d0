package wire

import (
	"encoding/xml"
	"reflect"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire/ec2names"
)

// EC2Query returns the codec of the protocol ec2Query. namespace is the XML namespace of responses.
func EC2Query(namespace string) Codec { return ec2Query{namespace} }

type ec2Query struct{ namespace string }

var (
	ec2RequestNames  = &wireNames{memberName: ec2names.RequestName}
	ec2ResponseNames = &wireNames{memberName: ec2names.ResponseName}
)

func (ec2Query) Decode(r Request, in any) error {
	root, err := parseForm(r)
	if err != nil {
		return err
	}
	d := formDialect{names: ec2RequestNames}
	if err := d.decodeStruct(root, reflect.ValueOf(in).Elem(), ""); err != nil {
		return err
	}
	return nil
}

func (q ec2Query) Encode(operation string, out any, requestID string) (Response, error) {
	d := &xmlDocument{names: ec2ResponseNames, itemName: constantName("item")}
	d.WriteString(`<` + operation + `Response xmlns="` + q.namespace + `">`)
	d.writeText("requestId", requestID)
	any, err := d.writeMembers(reflect.ValueOf(out).Elem())
	if err != nil {
		return Response{}, err
	}
	if !any {
		d.writeText("return", "true")
	}
	d.closeElement(operation + "Response")
	return newResponse(200, "text/xml;charset=UTF-8", requestID, d.Bytes()), nil
}

func (ec2Query) EncodeError(err *store.Error, requestID string) Response {
	body := struct {
		XMLName   xml.Name `xml:"Response"`
		Code      string   `xml:"Errors>Error>Code"`
		Message   string   `xml:"Errors>Error>Message"`
		RequestID string   `xml:"RequestID"`
	}{Code: err.Code, Message: err.Message, RequestID: requestID}
	text, _ := xml.Marshal(body) // marshalling of strings cannot fail
	return newResponse(err.HTTPStatus(), "text/xml;charset=UTF-8", requestID, text)
}
