// Package rules checks a GlobalAccelerator by itself, without AWS and other objects. Admission denies objects with
// violations, except violations that are only advice: the translation decides about these, because it has more facts.
// The cost of the checks grows linearly with the size of the object, which users control.
package rules
