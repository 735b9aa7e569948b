package decode

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// Object is what is read of an object. It is immutable.
type Object struct {
	counts.Object
	// Next is what it will be without an event; nil for nearly all.
	Next *state.Next
	// ResourceVersion is opaque.
	ResourceVersion string
	// EndsList says that this is the bookmark that ends a streaming list.
	EndsList bool
	// Err says why the state cannot be read. All else is good.
	Err error
}

// List is one page of a list. Its owner may do with it what it likes; the objects
// are immutable.
type List struct {
	Items []*Object
	// ResourceVersion is of the list. Continue asks for what follows; empty: nothing.
	ResourceVersion, Continue string
}

// GetObjectKind and DeepCopyObject make it what client-go hands on.
func (*Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetObjectKind and DeepCopyObject make it what client-go hands on.
func (*List) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns o itself, which nobody changes.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// DeepCopyObject returns a copy that shares the objects, which nobody changes.
func (l *List) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// At returns the object as it will be when its Next has come.
func (o *Object) At(next *state.Next) *Object {
	later := *o
	later.State, later.Steve, later.Next = next.Reading.State, next.Reading.Steve, next.Reading.Next
	return &later
}
