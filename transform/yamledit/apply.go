// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"slices"
)

// Apply makes the queued changes of one document. It returns the changed document and
// the splices that lead to it, or an error and nothing. An edit of several documents is
// applied by those that Each returns.
func (e *Edit) Apply() (*Document, []Splice, error) {
	if e.err != nil {
		return nil, nil, e.err
	}
	if len(e.others) > 0 {
		return nil, nil, e.doc.Root().Errorf("an edit of several documents was applied as one of a single document", "report this as a bug of rke-lm")
	}
	if err := e.orphans(); err != nil {
		return nil, nil, err
	}
	p := &splicer{doc: e.doc, edit: e}
	if err := p.embedded(); err != nil {
		return nil, nil, err
	}
	for _, c := range innermostFirst(e.order) {
		if err := p.change(c); err != nil {
			return nil, nil, err
		}
	}
	splices := p.joinOpenEnd(order(p.splices))
	out, err := Apply(e.doc.Bytes(), splices)
	if err != nil {
		return nil, nil, e.refuse(err)
	}
	chunk := e.doc.chunk
	chunk.Bytes = out
	after, err := Parse(chunk)
	if err != nil {
		return nil, nil, e.refuse(err)
	}
	after.texts, after.strings = e.doc.texts, e.doc.strings
	after.parsed(len(out))
	if err := errors.Join(e.prove(after), keepsComments(e.doc, after)); err != nil {
		return nil, nil, e.refuse(err)
	}
	return after, splices, nil
}

// innermostFirst sorts changes so that what is added at the end of a collection
// comes before what is added after that collection: both are at one place.
func innermostFirst(changes []*change) []*change {
	return slices.SortedStableFunc(slices.Values(changes), func(a, b *change) int { return b.node.depth() - a.node.depth() })
}

func (n Node) depth() int {
	if n.parent == nil {
		return 0
	}
	return n.parent.depth() + 1
}

// refuse reports that the proof failed, and where a hand has to do it.
func (e *Edit) refuse(cause error) error {
	at := e.doc.Root()
	if len(e.order) > 0 {
		at = e.order[0].node
	}
	err := at.Errorf("the edit cannot be made safely here", "change it manually")
	err.What += " (the result would not be what was promised: " + what(cause) + ")"
	return err
}

// what drops the place from an error about text that no one will ever see.
func what(err error) string {
	if e, ok := err.(*Error); ok {
		return e.What
	}
	return err.Error()
}
