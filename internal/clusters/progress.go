// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

// Progress is how far a search has come.
type Progress struct {
	Done, Sources int // sources that were read to their end, of all
	Clusters      int // that were found until now
	Documents     int // of the sources that were read
}

// add takes the next result of a source.
func (p *Progress) add(r Result) {
	if r.cluster {
		p.Clusters++
	}
	if r.end {
		p.Done++
		p.Documents += r.count
	}
}

func (p *Progress) report(to func(Progress)) {
	if to != nil {
		to(*p)
	}
}
