package emulator

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// maxBodyBytes is the maximum size of the body of a request in bytes. It is larger than the limits of AWS.
const maxBodyBytes = 16 << 20

// request is an HTTP request with its AWS service and operation.
type request struct {
	service     *service
	operation   string
	accessKey   string // empty if the request is not signed
	region      string
	body        []byte
	form        url.Values // nil if the body is not a form
	httpRequest *http.Request
}

// wireRequest returns the request in the form that wire.Codec decodes.
func (r request) wireRequest() wire.Request {
	return wire.Request{Method: r.httpRequest.Method, Path: r.httpRequest.URL.Path, Query: r.httpRequest.URL.Query(), Body: r.body, Form: r.form}
}

// identify finds the service and the operation of a request. The service is nil if the protocol of the answer cannot be
// determined.
func (em *Emulator) identify(r *http.Request) (request, *store.Error) {
	var out request
	body, err := readBody(r)
	if err != nil {
		return out, store.Errorf(store.UnprovenSource, "InvalidRequest", "The request body cannot be read: %v", err)
	}
	out.body, out.httpRequest = body, r
	scope := credentialScope(r.Header.Get("Authorization"))
	out.accessKey, out.region = scope.accessKey, scope.region

	if target := r.Header.Get("X-Amz-Target"); target != "" {
		prefix, operation, _ := strings.Cut(target, ".")
		for _, s := range em.services {
			if s.targetPrefix == prefix {
				out.service, out.operation = s, operation
				return out, nil
			}
		}
		out.service = &service{name: scope.service, codec: wire.JSON()}
		return out, store.Errorf(store.EmulatorSource, "UnknownOperationException", "The operation %s is not known to this emulator", target)
	}
	for _, s := range em.services {
		if router, ok := s.codec.(wire.Router); ok && (s.name == scope.service || strings.HasPrefix(r.URL.Path, "/"+s.version+"/")) {
			out.service = s
			out.operation, _ = router.Route(r.Method, r.URL.Path)
			return out, nil
		}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return out, store.Errorf(store.UnprovenSource, "MalformedQueryString", "The body is not a form: %v", err)
	}
	out.form = form
	version := form.Get("Version")
	out.operation = form.Get("Action")
	for _, s := range em.services {
		if s.name == scope.service {
			out.service = s
			break
		}
		if out.service == nil && s.version != "" && s.version == version {
			out.service = s
		}
	}
	if out.service == nil {
		out.service = &service{name: scope.service, codec: wire.AWSQuery("")}
		return out, store.Errorf(store.EmulatorSource, "InvalidAction", "The service '%s', version '%s', is not known to this emulator", scope.service, version)
	}
	return out, nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	var from io.Reader = http.MaxBytesReader(nil, r.Body, maxBodyBytes)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, from); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type signatureScope struct{ accessKey, region, service string }

// credentialScope returns the credential scope in an Authorization header, or the zero value if there is none. It does not
// check the signature.
func credentialScope(authorization string) signatureScope {
	_, rest, ok := strings.Cut(authorization, "Credential=")
	if !ok {
		return signatureScope{}
	}
	credential, _, _ := strings.Cut(rest, ",")
	f := strings.Split(strings.TrimSpace(credential), "/")
	if len(f) != 5 {
		return signatureScope{}
	}
	return signatureScope{accessKey: f[0], region: f[2], service: f[3]}
}

// isReachable reports whether the AWS partition has the service and the host of a request. A host outside AWS's domains is
// an address of the emulator, and is always reachable.
func (em *Emulator) isReachable(host string, r request) bool {
	aws := em.store.AWSPartition()
	host, _, _ = strings.Cut(host, ":")
	if r.service != nil {
		switch r.service.name {
		case "shield":
			if !aws.Shield {
				return false
			}
		case globalAccelerator:
			if !aws.Accelerator || !isAcceleratorHost(host, r.region) {
				return false
			}
		}
	}
	return !strings.Contains(host, ".amazonaws.") || strings.HasSuffix(host, "."+aws.Suffix)
}

// acceleratorHosts lists the host names of Global Accelerator.
var acceleratorHosts = []string{
	"globalaccelerator.us-west-2.amazonaws.com", "globalaccelerator.amazonaws.com", "globalaccelerator-fips.us-west-2.amazonaws.com", "globalaccelerator.us-west-2.api.aws",
}

// isAcceleratorHost reports whether a request has a host and a region of Global Accelerator. It accepts all hosts outside
// AWS's domains. It also accepts an empty region, because an unsigned request has none and is rejected later.
func isAcceleratorHost(host, region string) bool {
	if region != "" && region != store.AcceleratorRegion {
		return false
	}
	own := strings.Contains(host, ".amazonaws.") || strings.HasSuffix(host, ".api.aws")
	return !own || slices.Contains(acceleratorHosts, host)
}

// principalOf returns the principal that sent a request.
func (em *Emulator) principalOf(r request, account string) store.Principal {
	em.store.Lock()
	defer em.store.Unlock()
	return em.store.PrincipalOfAccessKey(r.accessKey, account)
}

// authorize returns the account of a request, or the error with which the request is rejected.
func (em *Emulator) authorize(r request) (account string, refused *store.Error) {
	json := r.service.targetPrefix != ""
	if r.accessKey == "" {
		if r.service.unsignedOperations[r.operation] {
			return em.store.DefaultAccount(), nil
		}
		code := "MissingAuthenticationToken"
		if json {
			code += "Exception"
		}
		return "", store.Errorf(store.UnprovenSource, code, "Request is missing Authentication Token").WithStatus(403)
	}
	em.store.Lock()
	defer em.store.Unlock()
	if err := em.verifySignature(r); err != nil {
		return "", err
	}
	account, known := em.store.AccountOfAccessKey(r.accessKey)
	foreign := store.AWSPartitionOfRegion(r.region).Name != em.store.AWSPartition().Name
	if !foreign && (known || !em.store.Config.RequireKnownKeys) {
		return account, nil
	}
	switch {
	case json:
		return "", store.Errorf(store.UnprovenSource, "UnrecognizedClientException", "The security token included in the request is invalid.").WithStatus(403)
	case r.service.name == "ec2":
		return "", store.Errorf(store.UnprovenSource, "AuthFailure", "AWS was not able to validate the provided access credentials").WithStatus(401)
	}
	return "", store.Errorf(store.ReportSource("barnybug/cli53#278"), "InvalidClientTokenId", "The security token included in the request is invalid.").WithStatus(403)
}

// unknownOperationError returns the error for an operation that a service does not have, in the form of the service's
// protocol.
func unknownOperationError(s *service, operation string) *store.Error {
	if s.targetPrefix != "" {
		return store.Errorf(store.EmulatorSource, "UnknownOperationException", "The operation %s of %s is not known to this emulator", operation, s.name)
	}
	if operation == "" {
		return store.Errorf(store.EmulatorSource, "InvalidAction", "No operation of %s that this emulator knows has this method and path", s.name)
	}
	return store.Errorf(store.UnprovenSource, "InvalidAction", "Could not find operation %s for version %s", operation, s.version)
}
