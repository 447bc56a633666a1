// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"cmp"
	"io"
	"slices"
)

// Parts are the parts of one file that change, however many there are: their text
// waits in a [Spool]. The zero Parts are none.
type Parts struct {
	places []place
	text   Spool
}

// place is a part and where its text is.
type place struct {
	Part       // without New
	from, size int64
}

// Len returns the number of parts.
func (ps *Parts) Len() int { return len(ps.places) }

// Add adds a part. Those that replace nothing stay in the order in which they came.
func (ps *Parts) Add(p Part) error {
	from := ps.text.Len()
	if _, err := ps.text.Write(p.New); err != nil {
		return err
	}
	ps.places = append(ps.places, place{Part{Offset: p.Offset, Length: p.Length}, from, int64(len(p.New))})
	return nil
}

// Splice copies the first size bytes of src to dst with the parts replaced. They
// must not overlap; those that replace nothing may share an offset. Nothing is
// written before that is known. It takes the same memory whatever the size.
func (ps *Parts) Splice(dst io.Writer, src io.ReaderAt, size int64) error {
	slices.SortStableFunc(ps.places, func(a, b place) int { return cmp.Compare(a.Offset, b.Offset) })
	if err := checkParts(size, ps.places); err != nil {
		return err
	}
	at := int64(0)
	for _, p := range ps.places {
		if err := copyRange(dst, src, at, p.Offset); err != nil {
			return err
		}
		if err := copyRange(dst, &ps.text, p.from, p.from+p.size); err != nil {
			return err
		}
		at = p.Offset + p.Length
	}
	return copyRange(dst, src, at, size)
}

// Close forgets the parts.
func (ps *Parts) Close() error {
	err := ps.text.Close()
	*ps = Parts{}
	return err
}
