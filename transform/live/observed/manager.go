// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"cmp"
	"time"

	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// The managers, as a LeaderMigrationConfiguration names them and as their main
// leases are called unless an argument says otherwise.
const KubeManager, CloudManager = leadermigration.Manager, leadermigration.CloudManager

// Manager is a pod that runs kube-controller-manager or the
// cloud-controller-manager of AWS.
type Manager struct {
	Component string   `json:"component"`           // KubeManager or CloudManager
	Namespace string   `json:"namespace,omitempty"` // "" in dumps of earlier versions, for kube-system
	Pod       string   `json:"pod"`
	Node      string   `json:"node"`
	Hosts     []string `json:"hosts"` // names that its process may take for its host's
	Image     string   `json:"image"`
	Args      []string `json:"args"`              // without secrets
	Account   string   `json:"account,omitempty"` // service account, for a pod of the API server
	Running   bool     `json:"running"`
	// Container is the ID of its container, which is another one after each start; ""
	// where no kubelet has reported it yet, and in dumps of earlier versions. Ended says
	// that this container has ended.
	Container string `json:"container,omitempty"`
	Ended     bool   `json:"ended,omitempty"`
	// Mirror means that the pod shows a static one: its container may outlive it.
	Mirror   bool `json:"mirror,omitempty"`
	Restarts int  `json:"restarts"`
	// RestartedAt is when the last container ended, by the node's clock, in
	// seconds after 1970; 0 for never.
	RestartedAt int64  `json:"restartedAt,omitempty"`
	Waiting     string `json:"waiting,omitempty"` // the reason for which it does not run
	// Config is the LeaderMigrationConfiguration in a ConfigMap that it mounts;
	// nil where there is none or it lies on the node.
	Config *string `json:"config,omitempty"`
	// ConfigDenied means that the ConfigMap may not be read.
	ConfigDenied bool `json:"configDenied,omitempty"`
}

// Space is the namespace of the pod.
func (m Manager) Space() string { return cmp.Or(m.Namespace, leadermigration.Namespace) }

// Path names the pod in findings.
func (m Manager) Path() string { return m.Space() + "/pods/" + m.Pod }

// DaemonSet is one that runs the cloud-controller-manager.
type DaemonSet struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Image     string   `json:"image"`
	Args      []string `json:"args"`
	Observed  bool     `json:"observed"` // its last generation
	Desired   int      `json:"desired"`
	Updated   int      `json:"updated"`
	Ready     int      `json:"ready"`
}

// Lease is the record of a lease and how it was seen to move.
type Lease struct {
	Name            string    `json:"name"`
	Holder          string    `json:"holder"`
	DurationSeconds int       `json:"durationSeconds"`
	Renewed         time.Time `json:"renewed,omitzero"` // by the holder's clock, so for people only
	Acquired        time.Time `json:"acquired,omitzero"`
	Transitions     int       `json:"transitions"`
	// Changed means that the record was seen to change, and SilentSeconds for how
	// long it has not: since that change, or since the first observation.
	Changed       bool    `json:"changed"`
	SilentSeconds float64 `json:"silentSeconds"`
	// Replaced means that the container of the holder was seen replaced, and that the
	// holder has not renewed since.
	Replaced bool `json:"replaced,omitempty"`
}

// Life reports whether a lease is held by someone alive.
type Life string

// A lease is live when its record changed within its duration as we saw it:
// clocks of different machines are never compared. Before it changed, or was
// silent for that long, no one knows.
const (
	Live    Life = "live"
	Dead    Life = "dead"
	Unknown Life = "unknown"
)

// usualDuration is that of a lease whose record does not state one, in seconds
// (k8s.io/component-base/config).
const usualDuration = 15

// Life returns whether the lease is live.
func (l Lease) Life() Life {
	duration := l.DurationSeconds
	if duration <= 0 {
		duration = usualDuration
	}
	switch {
	case l.Holder == "", l.Replaced, l.SilentSeconds >= float64(duration):
		return Dead
	case l.Changed:
		return Live
	}
	return Unknown
}

// SameRecord reports whether two observations found the same record.
func (l Lease) SameRecord(o Lease) bool {
	return l.Holder == o.Holder && l.Renewed.Equal(o.Renewed) && l.Transitions == o.Transitions && l.Acquired.Equal(o.Acquired)
}

// Watch follows leases from observation to observation and says how they moved. The zero Watch
// has seen nothing. Times are of the machine that looks.
type Watch struct {
	seen map[string]sight
	last time.Time // when the last observation began
}

// Blind is the longest time from the beginning of an observation to the end of the next. A
// change after a longer one is no sign of life: it may be nearly as old.
const Blind = 5 * time.Second

type sight struct {
	record  Lease
	since   time.Time
	changed bool
}

// Observe takes the records that were requested and answered at these times, and
// returns them with how each was seen to move. A lease that was not there before
// has changed. A slow answer may be as old as its question, so it proves silence
// only up to then.
func (w *Watch) Observe(asked, answered time.Time, records []Lease) []Lease {
	near := !w.last.IsZero() && answered.Sub(w.last) <= Blind
	now := make(map[string]sight, len(records))
	out := make([]Lease, len(records))
	for i, r := range records {
		s, known := w.seen[r.Name]
		if !known || !s.record.SameRecord(r) {
			s = sight{r, answered, near}
		}
		now[r.Name] = s
		r.Changed, r.SilentSeconds = s.changed, max(0, asked.Sub(s.since).Seconds())
		out[i] = r
	}
	w.seen, w.last = now, asked
	return out
}
