package wire

import (
	"fmt"
	"reflect"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Members lists the paths of the input members that an operation handles. The path "Filters" includes all parts of that
// member. The path "Placement.AvailabilityZone" is a member of a structure, or of each structure in a list.
type Members []string

// HandledMembers returns the members that an operation handles. The emulator rejects requests with any other member, with an
// error that names the member.
func HandledMembers(members ...string) Members { return Members(members) }

// Operation is an API operation with its types and its handler.
type Operation struct {
	Name    string
	Members Members
	// Input and Output are structures of the SDK.
	Input, Output reflect.Type
	// Call serves a request. in points to a value of type Input, and the result points to a value of type Output.
	Call func(c *store.Call, in any) (any, error)
}

// NewOperation returns the operation with a name and a handler. It panics if a path in handles does not exist in I, because
// that is a bug in the emulator.
func NewOperation[I, O any](name string, fn func(*store.Call, *I) (*O, error), handles Members) Operation {
	op := Operation{
		Name:    name,
		Members: handles,
		Input:   reflect.TypeFor[I](),
		Output:  reflect.TypeFor[O](),
		Call: func(c *store.Call, in any) (any, error) {
			out, err := fn(c, in.(*I))
			if err != nil {
				return nil, err
			}
			return out, nil
		},
	}
	if err := checkMembers(op.Input, handles); err != nil {
		panic(fmt.Sprintf("operation %s: %v", name, err))
	}
	return op
}
