package sdk

import (
	"context"
	"iter"
)

// Paginator is a paginator of the SDK, with pages of type P and options of type O.
type Paginator[P, O any] interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*O)) (P, error)
}

// Pages returns the pages of a list. It ends after the last page, or after an error.
func Pages[P, O any](ctx context.Context, p Paginator[P, O]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for p.HasMorePages() {
			page, err := p.NextPage(ctx)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}
