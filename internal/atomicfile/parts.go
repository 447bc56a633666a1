// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import "io"

// Parts are the parts of one file that change, in their order, however many
// there are: their text waits in a [Spool]. The zero Parts are none.
type Parts struct {
	places []Part // without New
	sizes  []int64
	text   Spool
}

// Len returns the number of parts.
func (ps *Parts) Len() int { return len(ps.places) }

// Add adds a part behind all others.
func (ps *Parts) Add(p Part) error {
	if _, err := ps.text.Write(p.New); err != nil {
		return err
	}
	ps.sizes = append(ps.sizes, int64(len(p.New)))
	ps.places = append(ps.places, Part{Offset: p.Offset, Length: p.Length})
	return nil
}

// Splice copies the first size bytes of src to dst with the parts replaced. They
// must be in order and must not overlap; those that replace nothing may share an
// offset. Nothing is written before that is known. It takes the same memory
// whatever the size.
func (ps *Parts) Splice(dst io.Writer, src io.ReaderAt, size int64) error {
	if err := checkParts(size, ps.places); err != nil {
		return err
	}
	at, text := int64(0), int64(0)
	for i, p := range ps.places {
		if err := copyRange(dst, src, at, p.Offset); err != nil {
			return err
		}
		if err := copyRange(dst, &ps.text, text, text+ps.sizes[i]); err != nil {
			return err
		}
		at, text = p.Offset+p.Length, text+ps.sizes[i]
	}
	return copyRange(dst, src, at, size)
}

// Close forgets the parts.
func (ps *Parts) Close() error {
	err := ps.text.Close()
	*ps = Parts{}
	return err
}
