package dataplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxLambdaBody is the maximum size in bytes of the body of a request to a Lambda function, and of its response.
const maxLambdaBody = 1 << 20

// lambdaEvent is the event that a Lambda function receives for a request.
type lambdaEvent struct {
	RequestContext struct {
		ELB struct {
			TargetGroup string `json:"targetGroupArn"`
		} `json:"elb"`
	} `json:"requestContext"`
	Method       string              `json:"httpMethod"`
	Path         string              `json:"path"`
	Query        map[string]string   `json:"queryStringParameters,omitempty"`
	MultiQuery   map[string][]string `json:"multiValueQueryStringParameters,omitempty"`
	Headers      map[string]string   `json:"headers,omitempty"`
	MultiHeaders map[string][]string `json:"multiValueHeaders,omitempty"`
	Body         string              `json:"body"`
	Base64       bool                `json:"isBase64Encoded"`
}

// lambdaResponse is the response of a Lambda function.
type lambdaResponse struct {
	Status       int                 `json:"statusCode"`
	Headers      map[string]string   `json:"headers"`
	MultiHeaders map[string][]string `json:"multiValueHeaders"`
	Body         string              `json:"body"`
	Base64       bool                `json:"isBase64Encoded"`
}

var errBodyTooLarge = errors.New("the body is too large for a function")

// invokeLambda invokes the Lambda function t with the request and sends its response to the client. target is the path and
// the query of the request after transforms.
func (x *exchange) invokeLambda(ctx context.Context, g *targetGroup, v *targetGroupView, t *target, target string) {
	if x.r.Header.Get("Upgrade") != "" {
		x.answer(http.StatusBadRequest)
		return
	}
	event, err := x.newLambdaEvent(g.arn, v.attr.multiValueHeaders, target)
	if errors.Is(err, errBodyTooLarge) {
		x.answer(http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		x.answer(http.StatusBadRequest)
		return
	}
	raw, err := x.plane.opt.InvokeLambda(ctx, t.key.id, event)
	var out lambdaResponse
	if err != nil || json.Unmarshal(raw, &out) != nil || out.Status < 100 || out.Status > 999 {
		x.answer(http.StatusBadGateway)
		return
	}
	body := []byte(out.Body)
	if out.Base64 {
		if body, err = base64.StdEncoding.DecodeString(out.Body); err != nil {
			x.answer(http.StatusBadGateway)
			return
		}
	}
	if len(body) > maxLambdaBody {
		x.answer(http.StatusBadGateway)
		return
	}
	h := x.w.Header()
	if v.attr.multiValueHeaders {
		for name, values := range out.MultiHeaders {
			for _, value := range values {
				h.Add(name, value)
			}
		}
	} else {
		for name, value := range out.Headers {
			h.Set(name, value)
		}
	}
	h.Del("Connection")
	h.Del("Transfer-Encoding")
	x.sendAnswer(out.Status, string(body))
}

// newLambdaEvent returns the event for the request as JSON. group is the ARN of the target group. Query parameters stay
// encoded, and header names are in lower case. If a parameter or header is repeated, the event contains only its last value,
// unless multi is set.
func (x *exchange) newLambdaEvent(group string, multi bool, target string) ([]byte, error) {
	path, query, _ := strings.Cut(target, "?")
	e := lambdaEvent{Method: x.r.Method, Path: path}
	e.RequestContext.ELB.TargetGroup = group
	body, err := io.ReadAll(io.LimitReader(x.r.Body, maxLambdaBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxLambdaBody {
		return nil, errBodyTooLarge
	}
	headers := x.r.Header.Clone()
	for _, name := range claimHeaders {
		headers.Del(name)
	}
	maps.Copy(headers, x.claimHeaders)
	headers.Set("Host", x.r.Host)
	x.setForwardedHeaders(headers, x.r.Header)
	x.setTLSHeaders(headers)
	e.Body, e.Base64 = encodeLambdaBody(body, headers)

	allHeaders, allParams := map[string][]string{}, map[string][]string{}
	for name, values := range headers {
		allHeaders[strings.ToLower(name)] = values
	}
	if query != "" {
		for param := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(param, "=")
			allParams[key] = append(allParams[key], value)
		}
	}
	if multi {
		e.MultiHeaders, e.MultiQuery = allHeaders, allParams
	} else {
		e.Headers, e.Query = lastValues(allHeaders), lastValues(allParams)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(e)
	return out.Bytes(), err
}

func lastValues(all map[string][]string) map[string]string {
	out := map[string]string{}
	for name, values := range all {
		if len(values) > 0 {
			out[name] = values[len(values)-1]
		}
	}
	return out
}

// encodeLambdaBody returns a text body unchanged, and any other body as base64. h determines whether the body is text.
func encodeLambdaBody(body []byte, h http.Header) (text string, encoded bool) {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	isText := strings.HasPrefix(kind, "text/") ||
		slices.Contains([]string{"application/json", "application/javascript", "application/xml"}, kind)
	if len(body) == 0 || isText && h.Get("Content-Encoding") == "" {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}
