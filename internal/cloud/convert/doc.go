// Package convert has the two forms of each value: that of the AWS SDK, and that of model and observed. What is written
// and read back equals what was desired. It makes no calls and keeps nothing.
package convert
