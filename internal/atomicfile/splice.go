// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"fmt"
	"io"
)

// Part replaces Length bytes at Offset with New.
type Part struct {
	Offset, Length int64
	New            []byte
}

// checkParts requires that parts are in order and do not overlap; those that
// replace nothing may share an offset.
func checkParts(size int64, parts []place) error {
	at := int64(0)
	for i, p := range parts {
		switch {
		case p.Offset < at:
			return fmt.Errorf("part %d starts at byte %d, but cannot before byte %d", i, p.Offset, at)
		case p.Length < 0 || p.Offset > size || p.Length > size-p.Offset:
			return fmt.Errorf("part %d replaces %d bytes at byte %d of %d", i, p.Length, p.Offset, size)
		}
		at = p.Offset + p.Length
	}
	return nil
}

// copyRange fails if src ends early: what is missing would be missing for good.
func copyRange(dst io.Writer, src io.ReaderAt, from, to int64) error {
	n, err := io.Copy(dst, io.NewSectionReader(src, from, to-from))
	if err == nil && n < to-from {
		err = fmt.Errorf("the source ends at byte %d: %w", from+n, io.ErrUnexpectedEOF)
	}
	return err
}
