package dataplane

import "net/http"

type keyCache struct{}

func newKeyCache(*http.Client) *keyCache            { return nil }
func (x *exchange) finishLogin() bool               { return false }
func (x *exchange) authenticate(Authenticator) bool { x.answer(500); return false }
