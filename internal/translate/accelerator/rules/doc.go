// Package rules finds what is wrong with a GlobalAccelerator by itself: without a look at AWS, at other objects or at
// what is live. Admission denies by it, and what it only advises is decided where more is known. Its cost grows with
// the size of the object and no faster, as authors choose that.
package rules
