// Package rules checks a GlobalAccelerator alone, without AWS and other objects. Admission denies objects with violations,
// except those that are advice: about these the translation decides, which knows more. The cost of the checks grows linearly
// with the size of the object, which its author chooses.
package rules
