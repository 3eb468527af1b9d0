package sdk

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// Answers caches answers of AWS to optional reads, by key. Answers that were not read again for a while are removed, because
// users choose the names in keys, and thereby the number of answers.
type Answers[T any] struct {
	client *Client

	cache.Guard
	byKey map[string]answer[T]
}

type answer[T any] struct {
	value  T
	readAt time.Time // when the read began
}

// NewAnswers returns an empty cache of answers that are read with a client.
func NewAnswers[T any](c *Client) *Answers[T] {
	return &Answers[T]{client: c, byKey: map[string]answer[T]{}}
}

// Get returns the answer for a key. If no cached answer is younger than maxAge, it first calls read as an optional read
// (ReadOptional), once for all concurrent callers with the same key.
func (a *Answers[T]) Get(ctx context.Context, key string, maxAge time.Duration, read func(context.Context) (T, error)) (T, error) {
	return a.GetWithAge(ctx, key, func(T) time.Duration { return maxAge }, read)
}

// GetWithAge returns the answer for a key, as Get does. maxAge returns the maximum age of a cached answer.
func (a *Answers[T]) GetWithAge(ctx context.Context, key string, maxAge func(T) time.Duration, read func(context.Context) (T, error)) (T, error) {
	cached := func() (T, bool) {
		var found answer[T]
		a.WithLock(func() { found = a.byKey[key] })
		return found.value, a.client.IsYounger(found.readAt, maxAge(found.value))
	}
	return CachedOrRead(ctx, a.client.ReadOptional, key, cached, func() error {
		start := a.client.Config.Clock.Now()
		value, err := read(ctx)
		if err != nil {
			return err
		}
		retention := max(durations.CacheRetention, 2*a.client.Config.Refresh)
		a.WithLock(func() {
			cache.Put(a.byKey, key, answer[T]{value, start}, func(old answer[T]) bool { return !a.client.IsYounger(old.readAt, retention) })
		})
		return nil
	})
}

// Cached returns the cached answer for a key, even if the answer is old; the zero value if no answer is cached.
func (a *Answers[T]) Cached(key string) (value T) {
	a.WithLock(func() { value = a.byKey[key].value })
	return value
}

// Count returns the number of cached answers that meet a condition.
func (a *Answers[T]) Count(condition func(T) bool) (n int) {
	a.WithLock(func() { n = cache.Count(a.byKey, func(found answer[T]) bool { return condition(found.value) }) })
	return n
}

// Forget removes the answer for a key, so that the next call of Get reads it.
func (a *Answers[T]) Forget(key string) { a.WithLock(func() { delete(a.byKey, key) }) }

// Expire makes the next call of Get read each answer again. A concurrent call that has just read an answer still finds it.
func (a *Answers[T]) Expire() {
	a.WithLock(func() {
		for key, found := range a.byKey {
			a.byKey[key] = answer[T]{value: found.value}
		}
	})
}
