package emulator

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

var (
	// errConnectionReset is the error that a client gets if the connection closes without an answer.
	errConnectionReset = errors.New("connection reset by peer")
	// errNoHost is the error that a client gets for a host name that does not exist in the AWS partition.
	errNoHost = errors.New("no such host")
)

// dispatch serves one API request. An error means that the client gets no response.
func (em *Emulator) dispatch(ctx context.Context, r *http.Request) (wire.Response, error) {
	requestID := em.newRequestID()
	req, refused := em.identify(r)
	if !em.isReachable(r.URL.Host, req) {
		if req.service != nil {
			em.calls.add(Entry{
				Time: em.store.Clock.Now(), Service: req.service.name, Operation: req.operation, Region: req.region, AccessKey: req.accessKey,
				Mutating: IsMutating(req.service.name, req.operation), RequestID: requestID, Fault: "no such host",
			})
		}
		return wire.Response{}, errNoHost
	}
	if refused != nil {
		codec := wire.AWSQuery("")
		if req.service != nil {
			codec = req.service.codec
		}
		return codec.EncodeError(refused, requestID), nil
	}
	entry := Entry{
		Time: em.store.Clock.Now(), Service: req.service.name, Operation: req.operation,
		Region: req.region, AccessKey: req.accessKey, Mutating: IsMutating(req.service.name, req.operation),
		RequestID: requestID,
	}
	resp, err := em.serveOperation(ctx, req, &entry)
	entry.Status = resp.Status
	em.calls.add(entry)
	if em.observe != nil {
		em.observe(Exchange{Entry: entry, Request: req.wireRequest(), Answer: resp})
	}
	return resp, err
}

// serveOperation carries out an identified request, with the faults that apply to it. It sets the fields of entry that
// dispatch cannot set, such as the account and the error.
func (em *Emulator) serveOperation(ctx context.Context, req request, entry *Entry) (wire.Response, error) {
	fail := func(err *store.Error) wire.Response {
		entry.Code, entry.Message, entry.IsEmulatorError = err.Code, err.Message, err.Source == store.EmulatorSource
		return req.service.codec.EncodeError(err, entry.RequestID)
	}
	account, refused := em.authorize(req)
	if refused != nil {
		return fail(refused), nil
	}
	entry.Account = account
	op, ok := req.service.operations[req.operation]
	if !ok {
		return fail(unknownOperationError(req.service, req.operation)), nil
	}
	in := reflect.New(op.Input).Interface()
	if err := req.service.codec.Decode(req.wireRequest(), in); err != nil {
		return fail(asError(err)), nil
	}
	// Decode the input again for the log, because operations may store parts of their input.
	logged := reflect.New(op.Input).Interface()
	_ = req.service.codec.Decode(req.wireRequest(), logged) // has succeeded above
	entry.Input = logged
	if member := wire.FirstUnhandledMember(in, op.Members); member != "" {
		return fail(wire.UnsupportedParameterError(op.Name, member)), nil
	}

	act := em.faults.Decide(fault.Call{
		Service: entry.Service, Operation: op.Name, Account: account, Region: req.region,
		Mutating: entry.Mutating, Unfiltered: isUnfiltered(in), Time: entry.Time, Input: logged,
	})
	if act.After != nil {
		defer act.After()
	}
	if act.Latency > 0 {
		if err := em.sleep(ctx, act.Latency); err != nil {
			entry.Fault = "abandoned"
			return wire.Response{}, err
		}
	}
	switch {
	case act.Hang && !act.Lose:
		entry.Fault = "hung"
		<-ctx.Done()
		return wire.Response{}, ctx.Err()
	case act.Reset:
		entry.Fault = "reset"
		return wire.Response{}, errConnectionReset
	case act.Error != nil:
		entry.Fault = "error"
		if act.Throttle {
			entry.Fault = "throttled"
		}
		return fail(act.Error), nil
	}

	call := store.Call{
		Account: account, Region: req.region, RequestID: entry.RequestID, AccessKey: req.accessKey,
		Service: entry.Service, Operation: op.Name, Caller: em.principalOf(req, account),
	}
	if entry.Mutating {
		em.saveBeforeChange()
	}
	resp, failure := em.execute(req.service, op, call, in, act)
	switch {
	case act.Stale > 0:
		entry.Fault = "stale"
	case len(act.Distort) > 0:
		entry.Fault = "distorted"
	}
	if failure != nil {
		resp = fail(failure)
	} else if entry.Mutating {
		em.recordChange()
		em.store.WakeWaiters()
	}
	if act.Lose {
		entry.Fault = "lost"
		if act.Hang {
			<-ctx.Done()
			return resp, ctx.Err()
		}
		return resp, errConnectionReset
	}
	return resp, nil
}

// execute runs an operation under the lock of the store, on an older state if act demands a stale read. It also encodes the
// output under the lock, because outputs may share memory with the state.
func (em *Emulator) execute(s *service, op wire.Operation, call store.Call, in any, act fault.Action) (resp wire.Response, failure *store.Error) {
	w := em.store
	w.Lock()
	defer w.Unlock()
	if act.Stale > 0 && !IsMutating(s.name, op.Name) {
		if past := em.stateAt(act.Stale); past != nil {
			w, op = past.store, past.operation(s.name, op.Name)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			failure = store.Errorf(store.EmulatorSource, "InternalFailure", "bug in the emulator: %v\n%s", p, debug.Stack()).WithStatus(500)
		}
	}()
	call.Now = w.Clock.Now()
	call.Partition = w.Partition(call.Account, call.Region)
	verdict := authz.Decide(&call, in)
	em.recordDecision(verdict)
	if verdict.Denial != nil {
		return wire.Response{}, verdict.Denial
	}
	out, err := op.Call(&call, in)
	if err != nil {
		return wire.Response{}, asError(err)
	}
	for _, d := range act.Distort {
		out = d.Distort(out)
	}
	resp, err = s.codec.Encode(op.Name, out, call.RequestID)
	if err != nil {
		return wire.Response{}, asError(err)
	}
	return resp, nil
}

// asError returns the error of an operation as an error of AWS; an unexpected error becomes an InternalFailure.
func asError(err error) *store.Error {
	if e, ok := errors.AsType[*store.Error](err); ok {
		return e
	}
	return store.Errorf(store.EmulatorSource, "InternalFailure", "internal error of the emulator: %v", err).WithStatus(500)
}

// sleep waits for the duration d on the emulator's clock, or until ctx ends.
func (em *Emulator) sleep(ctx context.Context, d time.Duration) error {
	done := make(chan struct{})
	stop := em.store.Clock.AfterFunc(d, func() { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}

func (em *Emulator) newRequestID() string {
	em.store.Lock()
	defer em.store.Unlock()
	return em.store.RequestID()
}

// IsMutating reports whether an operation changes state.
func IsMutating(service, operation string) bool {
	if service == "sts" {
		return false
	}
	for _, prefix := range []string{"Describe", "Get", "List", "Search", "Simulate"} {
		if strings.HasPrefix(operation, prefix) {
			return false
		}
	}
	return true
}

// isUnfiltered reports whether an input sets no member except DryRun, such as a describe call for all resources.
func isUnfiltered(in any) bool {
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && f.Name != "DryRun" && !v.Field(i).IsZero() {
			return false
		}
	}
	return true
}
