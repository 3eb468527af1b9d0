package emulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// TestEveryOperationRoundTrips sets every member of the input and output of every operation. It checks that the codecs of
// the emulator decode the input that the SDK has sent, and that the SDK decodes the output that the codecs have encoded.
func TestEveryOperationRoundTrips(t *testing.T) {
	for _, s := range services(store.New(store.Options{})) {
		names := make([]string, 0, len(s.operations))
		for name := range s.operations {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			t.Run(s.name+"/"+name, func(t *testing.T) { roundTripOperation(t, s, s.operations[name]) })
		}
	}
}

func roundTripOperation(t *testing.T, s *service, op wire.Operation) {
	sent := reflect.New(op.Input)
	fillMembers(sent.Elem(), false, "in")
	answer := reflect.New(op.Output)
	fillMembers(answer.Elem(), false, "out")
	got := reflect.New(op.Input)
	server := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		body, err := readBody(r)
		if err != nil {
			return nil, err
		}
		if err := s.codec.Decode(wire.Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Body: body}, got.Interface()); err != nil {
			return nil, fmt.Errorf("decode: %w\n%s", err, body)
		}
		resp, err := s.codec.Encode(op.Name, answer.Interface(), "id")
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: resp.Status, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(resp.Body)), Request: r}, nil
	})
	cfg := aws.Config{
		Region: "us-west-2", HTTPClient: &http.Client{Transport: server}, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIA111122223333", "secret", ""),
	}
	results := reflect.ValueOf(newSDKClient(s.name, cfg)).MethodByName(op.Name).Call([]reflect.Value{reflect.ValueOf(t.Context()), sent})
	if err, _ := results[1].Interface().(error); err != nil {
		t.Fatal(err)
	}
	options := cmp.Options{
		cmp.FilterPath(func(p cmp.Path) bool {
			f, ok := p.Last().(cmp.StructField)
			return ok && (f.Name() == "ResultMetadata" || f.Name()[0] >= 'a')
		}, cmp.Ignore()),
	}
	if diff := cmp.Diff(sent.Interface(), got.Interface(), options); diff != "" {
		t.Errorf("request (-sent +decoded):\n%s", diff)
	}
	if diff := cmp.Diff(answer.Interface(), results[0].Interface(), options); diff != "" {
		t.Errorf("response (-encoded +returned):\n%s", diff)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newSDKClient(service string, cfg aws.Config) any {
	switch service {
	case "ec2":
		return ec2.NewFromConfig(cfg)
	case "elasticloadbalancing":
		return elasticloadbalancingv2.NewFromConfig(cfg)
	case "acm":
		return acm.NewFromConfig(cfg)
	case "wafv2":
		return wafv2.NewFromConfig(cfg)
	case "waf-regional":
		return wafregional.NewFromConfig(cfg)
	case globalAccelerator:
		return globalaccelerator.NewFromConfig(cfg)
	case "route53":
		return route53.NewFromConfig(cfg)
	case "shield":
		return shield.NewFromConfig(cfg)
	case "tagging":
		return resourcegroupstaggingapi.NewFromConfig(cfg)
	case "iam":
		return iam.NewFromConfig(cfg)
	case "sts":
		return sts.NewFromConfig(cfg)
	}
	return nil
}

// fillMembers sets every member of v to a value that depends on name, so that values differ. Statements of web ACLs can
// contain statements; fillMembers sets only one level of them.
func fillMembers(v reflect.Value, inStatement bool, name string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 3, 4, 5, 6, 7, 890e6, time.UTC)))
		return
	}
	statement := v.Type() == reflect.TypeFor[waftypes.Statement]()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillMembers(v.Elem(), inStatement, name)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "ResultMetadata" || statement && inStatement && f.Name != "GeoMatchStatement" {
				continue
			}
			fillMembers(v.Field(i), inStatement || statement, f.Name)
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8:
			v.SetBytes([]byte(name))
			return
		case reflect.Interface: // a union type; no operation here has one
			return
		}
		for i := range 2 {
			item := reflect.New(v.Type().Elem()).Elem()
			fillMembers(item, inStatement, fmt.Sprint(name, "<&>", i))
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fillMembers(item, inStatement, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key-"+name).Convert(v.Type().Key()), item)
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(42)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	}
}
