package imds

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

const (
	tokenHeader = "X-Aws-Ec2-Metadata-Token"
	ttlHeader   = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	maxTTL      = 21600
)

// Identity is the instance whose metadata is served.
type Identity struct {
	// Account and Region are the account and the region of the instance. The default account is that of the emulator. For
	// the default region, see defaultRegion.
	Account, Region string
	// InstanceID defaults to the first running instance.
	InstanceID string
	// Role is the name of the role in the instance profile, or "" if there is none.
	Role string
	// Disabled makes the service answer 403 to all requests.
	Disabled bool
	// IMDSv1Only makes the service support only version 1 (IMDSv1), which has no tokens.
	IMDSv1Only bool `json:"OneOnly"`
	// Unreachable makes the service drop every request, as in a pod that is more network hops away than the hop limit
	// allows.
	Unreachable bool
}

// ErrUnreachable is the error of a request that gets no answer, because Identity.Unreachable is set.
var ErrUnreachable = errors.New("no route to the metadata service")

// Server is the metadata service. It is safe for concurrent use.
type Server struct {
	store *store.Store

	mu       sync.Mutex
	identity Identity
	tokens   map[string]time.Time // expiry by token
}

// New returns a service that serves an instance of the default account in the default region until SetIdentity is called.
func New(w *store.Store) *Server {
	s := &Server{store: w}
	s.Reset()
	return s
}

// Reset restores the default identity and removes all tokens.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity, s.tokens = Identity{Region: s.defaultRegion()}, map[string]time.Time{}
}

// defaultRegion returns the region of the instance if SetIdentity sets none: us-west-2 in the AWS partition "aws", and the
// home region of any other AWS partition.
func (s *Server) defaultRegion() string {
	if aws := s.store.AWSPartition(); aws.Name != "aws" {
		return aws.Home
	}
	return "us-west-2"
}

// SetIdentity sets the instance whose metadata is served. If i.Region is empty, it sets the default region.
func (s *Server) SetIdentity(i Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.Region == "" {
		i.Region = s.defaultRegion()
	}
	s.identity = i
}

// Identity returns the instance whose metadata is served.
func (s *Server) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Serve responds to a request under /latest/. An error means that the client gets no response.
func (s *Server) Serve(r *http.Request) (wire.Response, error) {
	id := s.Identity()
	switch {
	case id.Unreachable:
		return wire.Response{}, ErrUnreachable
	case id.Disabled:
		return plainText(403, "Forbidden"), nil
	case r.URL.Path == "/latest/api/token":
		return s.serveToken(r, id), nil
	case r.Method != http.MethodGet:
		return plainText(405, "Method Not Allowed"), nil
	}
	s.store.Lock()
	defer s.store.Unlock()
	md := s.buildMetadata(id)
	token := r.Header.Get(tokenHeader)
	if token != "" && !s.isValidToken(token) || token == "" && md.tokensRequired {
		return plainText(401, "Unauthorized"), nil
	}
	return md.read(r.URL.Path), nil
}

func (s *Server) serveToken(r *http.Request, id Identity) wire.Response {
	if id.IMDSv1Only {
		return plainText(404, "Not Found")
	}
	if r.Method != http.MethodPut {
		return plainText(405, "Method Not Allowed")
	}
	ttl, err := strconv.Atoi(r.Header.Get(ttlHeader))
	if err != nil || ttl < 1 || ttl > maxTTL {
		return plainText(400, "Bad Request")
	}
	s.store.Lock()
	token, expires := s.store.RequestID(), s.store.Clock.Now().Add(time.Duration(ttl)*time.Second)
	s.store.Unlock()
	s.mu.Lock()
	s.tokens[token] = expires
	s.mu.Unlock()
	resp := plainText(200, token)
	resp.Header.Set(ttlHeader, strconv.Itoa(ttl))
	return resp
}

func (s *Server) isValidToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	expires, ok := s.tokens[token]
	return ok && s.store.Clock.Now().Before(expires)
}

// metadata has the value of each path. Paths are relative to /latest/.
type metadata struct {
	paths          map[string]string
	tokensRequired bool
}

// buildMetadata returns the metadata for an identity. The caller holds the state lock.
func (s *Server) buildMetadata(id Identity) metadata {
	account := id.Account
	if account == "" {
		account = s.store.DefaultAccount()
	}
	p := s.store.Partition(account, id.Region)
	md := metadata{paths: map[string]string{
		"meta-data/placement/region": id.Region,
		"meta-data/services/domain":  s.store.AWSPartition().Suffix, "meta-data/services/partition": s.store.AWSPartition().Name,
	}}
	document := map[string]string{"version": "2017-09-30", "accountId": account, "region": id.Region}
	if i := findInstance(p, id.InstanceID); i != nil {
		md.tokensRequired = i.HTTPTokens == "required"
		md.paths["meta-data/instance-id"] = i.ID
		md.paths["meta-data/instance-type"] = i.Type
		md.paths["meta-data/placement/availability-zone"] = i.Zone
		if z := p.ZoneByName(i.Zone); z != nil {
			md.paths["meta-data/placement/availability-zone-id"] = z.ID
		}
		document["instanceId"], document["availabilityZone"] = i.ID, i.Zone
		document["instanceType"], document["imageId"] = i.Type, i.ImageID
		for n, eniID := range i.Interfaces {
			eni := p.NetworkInterfaces[eniID]
			if eni == nil {
				continue
			}
			at := "meta-data/network/interfaces/macs/" + eni.MAC + "/"
			md.paths[at+"vpc-id"] = eni.VPCID
			md.paths[at+"subnet-id"] = eni.SubnetID
			md.paths[at+"interface-id"] = eni.ID
			md.paths[at+"device-number"] = strconv.Itoa(n)
			if n == 0 {
				md.paths["meta-data/mac"] = eni.MAC
				if len(eni.Private) > 0 {
					md.paths["meta-data/local-ipv4"] = eni.Private[0].Addr.String()
					document["privateIp"] = eni.Private[0].Addr.String()
				}
			}
		}
	}
	if id.Role != "" {
		md.paths["meta-data/iam/security-credentials/"+id.Role] = roleCredentials(s.store.Clock.Now(), account)
	}
	text, _ := json.MarshalIndent(document, "", "  ") // strings always marshal
	md.paths["dynamic/instance-identity/document"] = string(text)
	return md
}

// findInstance returns the instance with an ID. If the ID is "", it returns the first running instance, or nil if there is
// none.
func findInstance(p *store.Partition, id string) *store.Instance {
	if id != "" {
		return p.Instances[id]
	}
	for _, id := range store.SortedKeys(p.Instances) {
		if i := p.Instances[id]; p.InstanceState(i) == store.InstanceRunning {
			return i
		}
	}
	return nil
}

func roleCredentials(now time.Time, account string) string {
	text, _ := json.Marshal(map[string]string{
		"Code": "Success", "Type": "AWS-HMAC",
		"LastUpdated": now.UTC().Format(time.RFC3339),
		"Expiration":  now.Add(6 * time.Hour).UTC().Format(time.RFC3339),
		"AccessKeyId": "ASIA" + account + "NODE", "SecretAccessKey": "secret", "Token": "token",
	})
	return string(text)
}

// read returns the response for a path: its value, or the list of names in a directory. In the list, names of directories
// end with a slash.
func (md metadata) read(path string) wire.Response {
	path = strings.TrimPrefix(path, "/latest/")
	if value, ok := md.paths[strings.TrimSuffix(path, "/")]; ok {
		return plainText(200, value)
	}
	prefix := strings.TrimSuffix(path, "/") + "/"
	var names []string
	for _, p := range store.SortedKeys(md.paths) {
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return plainText(404, "Not Found")
	}
	return plainText(200, strings.Join(slices.Compact(names), "\n"))
}

func plainText(status int, body string) wire.Response {
	h := http.Header{}
	h.Set("Content-Type", "text/plain")
	h.Set("Server", "EC2ws")
	return wire.Response{Status: status, Header: h, Body: []byte(body)}
}
