package wire

import (
	"fmt"
	"reflect"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Members lists the paths of the input members that an operation handles. The path "Filters" includes all parts of the
// member; "Placement.AvailabilityZone" is a member of a structure, or of each structure in a list.
type Members []string

// HandledMembers returns the declaration of an operation's members. A request with any other member is rejected; the error
// contains the name of the member.
func HandledMembers(members ...string) Members { return Members(members) }

// Operation is one API call: its name, its types and its handler.
type Operation struct {
	Name    string
	Members Members
	// Input and Output are the SDK's structures.
	Input, Output reflect.Type
	// Call serves a request. in points to a value of type Input, the result to a value of type Output.
	Call func(c *store.Call, in any) (any, error)
}

// Op returns the operation of a handler. It panics if a declared member does not exist, which is a bug in the
// emulator.
func Op[I, O any](name string, fn func(*store.Call, *I) (*O, error), handles Members) Operation {
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
