// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"time"
)

// late is how long after a lease has changed its new holder may say so, or we may read it, on a machine that
// does much else.
const late = 10 * time.Second

// identities finds the process of each holder. Machines of the lab share one host name, so the identity
// itself does not tell.
func identities(holds []hold, processes []Process, to time.Time) (map[string]int, error) {
	who := map[string]int{}
	for _, h := range holds {
		if _, known := who[h.holder]; known {
			continue
		}
		if i, found := ownerOf(h, processes); found {
			who[h.holder] = i
		} else if to.Sub(h.from) > late {
			return nil, fmt.Errorf("recorder: no manager logged that it acquired lease %s at %s", h.lease, h.from.Format(time.StampMilli))
		}
	}
	return who, nil
}

// ownerOf finds the process that has a hold: the one that logged it; or else, of those that have not logged their
// identity, the one that logged the lease at about the time of the hold; or else the only one that ended before it
// could log anything.
func ownerOf(h hold, processes []Process) (which int, found bool) {
	best, mute := late, []int{}
	for i, p := range processes {
		switch {
		case p.Holder == h.holder:
			return i, true
		case p.Holder != "" || !p.lives(h.from):
			continue
		case p.mayHave(h.lease) && p.endsBy(h.from.Add(late)) && len(p.Acquired) == 0:
			mute = append(mute, i)
		}
		for _, a := range p.Acquired {
			if off := a.At.Sub(h.from).Abs(); a.Lease == h.lease && off < best {
				best, which, found = off, i, true
			}
		}
	}
	if !found && len(mute) == 1 {
		return mute[0], true
	}
	return which, found
}

func (p Process) lives(at time.Time) bool {
	return !p.Started.After(at) && (p.Ended.IsZero() || !p.Ended.Before(at))
}

func (p Process) endsBy(at time.Time) bool { return !p.Ended.IsZero() && p.Ended.Before(at) }
