package dataplane

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startLambdaPlane starts a data plane that forwards all requests to a Lambda function. respond returns the function's
// response. seen returns the event of the first invocation that it has not returned before.
func startLambdaPlane(t *testing.T, attributes map[string]string, respond func() (string, error)) (p *Plane, seen func() map[string]any) {
	t.Helper()
	events := make(chan []byte, 10)
	p = startPlane(t, func(o *Options) {
		o.InvokeLambda = func(_ context.Context, function string, event []byte) ([]byte, error) {
			if function != "arn:function" {
				return nil, errors.New("unknown function " + function)
			}
			events <- event
			out, err := respond()
			return []byte(out), err
		}
	})
	g := TargetGroup{ARN: "g", IsLambda: true, Attributes: attributes, Targets: []Target{{ID: "arn:function", State: StateHealthy}}}
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	return p, func() map[string]any {
		var e map[string]any
		if err := json.Unmarshal(<-events, &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestLambdaTarget(t *testing.T) {
	p, seen := startLambdaPlane(t, nil, func() (string, error) {
		return `{"statusCode":201,"statusDescription":"201 Created","headers":{"X-A":"1"},"body":"aGVsbG8=","isBase64Encoded":true}`, nil
	})
	req := newTestRequest(t, http.MethodPost, "http://"+firstListenerAddress(t, p)+"/a%2Fb?q=%41&q=2", strings.NewReader(`{"x":1}`))
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Host = "x.org"
	got := send(t, client, req)
	if got.StatusCode != 201 || got.body != "hello" || got.Header.Get("X-A") != "1" {
		t.Errorf("response: %d %q %v", got.StatusCode, got.body, got.Header)
	}
	e := seen()
	headers, _ := e["headers"].(map[string]any)
	if headers["host"] != "x.org" || headers["x-forwarded-for"] != "127.0.0.1" || headers["x-forwarded-port"] != "80" {
		t.Errorf("headers: %v", headers)
	}
	delete(e, "headers")
	want := map[string]any{
		"requestContext": map[string]any{"elb": map[string]any{"targetGroupArn": "g"}},
		"httpMethod":     "POST", "path": "/a%2Fb", "queryStringParameters": map[string]any{"q": "2"},
		"body": `{"x":1}`, "isBase64Encoded": false,
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestLambdaWithRepeatedHeaders(t *testing.T) {
	p, seen := startLambdaPlane(t, map[string]string{"lambda.multi_value_headers.enabled": "true"}, func() (string, error) {
		return `{"statusCode":200,"multiValueHeaders":{"Set-Cookie":["a=1","b=2"]},"body":"ok"}`, nil
	})
	req := newTestRequest(t, http.MethodPost, "http://"+firstListenerAddress(t, p)+"/?q=1&q=2", strings.NewReader("\x00"))
	req.Header["X-B"] = []string{"1", "2"}
	got := send(t, client, req)
	if len(got.Cookies()) != 2 || got.body != "ok" {
		t.Errorf("response: %q %v", got.body, got.Header)
	}
	e := seen()
	headers, _ := e["multiValueHeaders"].(map[string]any)
	if diff := cmp.Diff([]any{"1", "2"}, headers["x-b"]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"q": []any{"1", "2"}}, e["multiValueQueryStringParameters"]); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	if e["body"] != "AA==" || e["isBase64Encoded"] != true {
		t.Errorf("body: %v %v", e["body"], e["isBase64Encoded"])
	}
}

func TestLambdaFailures(t *testing.T) {
	answer, fault := "", error(nil)
	p, _ := startLambdaPlane(t, nil, func() (string, error) { return answer, fault })
	for name, c := range map[string]struct {
		answer string
		fault  error
	}{
		"error":     {"", errors.New("out of memory")},
		"no object": {"hello", nil},
		"no status": {"{}", nil},
		"bad body":  {`{"statusCode":200,"body":"%","isBase64Encoded":true}`, nil},
	} {
		answer, fault = c.answer, c.fault
		if got := get(t, p, "x", "/"); got.StatusCode != 502 {
			t.Errorf("%s: want 502, got %d", name, got.StatusCode)
		}
	}
	if got := send(t, client, newTestRequest(t, http.MethodPost, "http://"+firstListenerAddress(t, p)+"/", strings.NewReader(strings.Repeat("x", maxLambdaBody+1)))); got.StatusCode != 413 {
		t.Errorf("large body: want 413, got %d", got.StatusCode)
	}
	if got := sendRaw(t, firstListenerAddress(t, p), "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("upgrade: %q", got)
	}
}
