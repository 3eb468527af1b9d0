package cluster

// Object reads an object of a kind that is determined at run time; nil if it does not exist.
func (v *View) Object(kind Kind, namespace, name string) (Object, error) {
	o, _ := Get[Object](v, kind, namespace, name)
	return o, v.err
}
