// Package equal compares what is desired with what is live as AWS does, so that what AWS treats as the same needs no write.
package equal
