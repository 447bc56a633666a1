// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// client is that of a server.
func (r *run) client(server string) *kube.Client {
	if server == local {
		return r.Server.Local()
	}
	return r.observer.Client
}

// local is what the audit log calls Rancher's own cluster.
const local = "local"

// ref names the cluster's object.
func (r *run) ref() Ref {
	return Ref{Server: local, Kind: "Cluster." + r.Object.Kind.Group, Namespace: r.Object.Namespace, Name: r.Object.Name, UID: r.Object.UID}
}

// own names an object of the cluster itself.
func (r *run) own(kind, namespace, name string) Ref {
	return Ref{Server: r.Object.ID, Kind: kind, Namespace: namespace, Name: name}
}

// read reads the cluster's object.
func (r *run) read(ctx context.Context) (*yamledit.Document, error) {
	var err error
	if r.Object, err = r.Server.Get(ctx, r.Object); err != nil {
		return nil, err
	}
	return r.document()
}

// document is the object as it was read last.
func (r *run) document() (*yamledit.Document, error) { return transform.Parse(r.Object.Chunk()) }

// planNow reads the object and plans from it.
func (r *run) planNow(ctx context.Context) (*plan.Plan, error) {
	doc, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Build(r.Planner.Format, transform.Only(doc), r.Planner.Target)
}

// wanted is what the object promises, as it was read last.
func (r *run) wanted() (rollout.Wanted, error) {
	doc, err := r.document()
	if err != nil {
		return rollout.Wanted{}, err
	}
	w, err := rollout.NewWanted(r.Planner.Format, doc, r.Object.Raw, r.Planner.Target)
	w.Nodes = r.nodes
	return w, err
}

// versions are those of the kinds that actions name, in lower case as kubectl takes them.
var versions = map[string]string{
	"configmap": "v1", "secret": "v1", "service": "v1", "namespace": "v1", "node": "v1", "daemonset": "apps/v1",
	"role": "rbac.authorization.k8s.io/v1", "rolebinding": "rbac.authorization.k8s.io/v1",
	"helmchart": "helm.cattle.io/v1", "etcdbackup": "management.cattle.io/v3",
}

// request makes a request about one object.
func (r *run) request(ctx context.Context, o Ref, q kube.Request) (kube.Answer, error) {
	kind, verb, name := strings.ToLower(o.Kind), strings.ToLower(q.Method), o.Name
	version, known := versions[kind]
	if !known {
		return kube.Answer{}, fmt.Errorf("%s: rke-lm does not know where objects of this kind lie; run the command of the stage manually, and this one again with --manual-done", o)
	}
	if q.Method == http.MethodPost {
		verb, name = "create", ""
	}
	q.What, q.Path = verb+" "+kind+"s", kube.Path(version, kind+"s", o.Namespace, name)
	if o.Namespace != "" {
		q.What += " in " + o.Namespace
	}
	a, err := rancher.PastGate(ctx, r.Server, q.Path, func() (kube.Answer, error) { return r.client(o.Server).Do(ctx, q) })
	if kube.HasStatus(err, http.StatusNotFound) {
		return a, err
	}
	return a, kube.Refusal(err)
}

// exists looks whether an object is there, and no later one of its name where its UID is known.
func (r *run) exists(ctx context.Context, o Ref) (bool, error) {
	a, err := r.request(ctx, o, kube.Request{Method: http.MethodGet})
	raw, err := kube.Found(a.Body, err)
	if raw == nil || o.UID == "" {
		return raw != nil, err
	}
	var now metav1.PartialObjectMetadata
	err = json.Unmarshal(raw, &now)
	return string(now.UID) == o.UID, err
}

// existing returns the objects of some kinds with a name that are there.
func (r *run) existing(ctx context.Context, namespace, kinds, name string) (list []Ref, err error) {
	for kind := range strings.SplitSeq(kinds, ",") {
		o := r.own(kind, namespace, name)
		there, err := r.exists(ctx, o)
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, o)
		}
	}
	return list, nil
}

// remove deletes an object, and no later one of its name where its UID is known. One that is gone
// was deleted by an earlier try.
func (r *run) remove(ctx context.Context, o Ref) error {
	q := kube.Request{Method: http.MethodDelete}
	if o.UID != "" {
		q.Body = metav1.DeleteOptions{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: metav1.NewUIDPreconditions(o.UID),
		}
	}
	_, err := r.request(ctx, o, q)
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	if kube.HasStatus(err, http.StatusConflict) {
		if there, lost := r.exists(ctx, o); !there {
			return lost
		}
	}
	return err
}

// nodeNames lists the Nodes that a selector matches and that keep keeps.
func (r *run) nodeNames(ctx context.Context, selector string, keep func(*corev1.Node) bool) ([]string, error) {
	q := kube.Resource{Version: "v1", Name: "nodes", Kind: "NodeList", Options: metav1.ListOptions{LabelSelector: selector}}
	names, err := kube.Collect(ctx, r.observer.Client, q, func(n *corev1.Node, kept []string) []string {
		if keep(n) {
			kept = append(kept, n.Name)
		}
		return kept
	})
	return names, kube.Refusal(err)
}

// node reads a Node; nil where it is gone.
func (r *run) node(ctx context.Context, name string) (*yamledit.Document, error) {
	a, err := r.request(ctx, r.own("Node", "", name), kube.Request{Method: http.MethodGet})
	raw, err := kube.Found(a.Body, err)
	if raw == nil {
		return nil, err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, raw, "", "  "); err != nil {
		return nil, &kube.Unreached{What: "get nodes", Err: err}
	}
	return yamledit.Parse(yamledit.Chunk{File: "node " + name, Bytes: lines.Bytes()})
}

// patchNode sends a patch. Where it fails because an earlier try has done it, the
// Node shows that; one that is gone needs it no more.
func (r *run) patchNode(ctx context.Context, name string, p jsonpatch.Patch) error {
	_, err := r.request(ctx, r.own("Node", "", name), kube.Request{
		Method: http.MethodPatch, Query: url.Values{"fieldManager": {kube.Program}}, Body: p.Bytes(), ContentType: jsonpatch.ContentType,
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil
	case !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict):
		return err
	}
	now, lost := r.node(ctx, name)
	if lost == nil && now != nil && p.Applied(now.Bytes(), nil) {
		return nil
	}
	return err
}

// condition is how far something is that a run waits for.
type condition struct {
	done     bool
	waiting  string
	machines []rollout.MachineProgress
	findings []transform.Finding
}

// awaitSeen looks at the cluster until what is waited for is there.
func (r *run) awaitSeen(ctx context.Context, at func(*observed.Observation) (condition, error)) error {
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.observer.Observe(ctx)
		if err != nil {
			return condition{}, err
		}
		return at(seen)
	})
}

// await looks until what is waited for is there. A server that does not answer may
// come back: that is waited for as well.
func (r *run) await(ctx context.Context, at func(context.Context) (condition, error)) error {
	end, last := time.Now().Add(r.Timeout), ""
	for {
		found, err := at(ctx)
		var lost *kube.Unreached
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &lost):
			found = condition{waiting: lost.Error()}
		case err != nil:
			return err
		case found.done:
			return nil
		}
		if text := fmt.Sprint(found.waiting, found.machines); text != last {
			last = text
			r.emit(Event{Type: Awaited, Message: found.waiting, Machines: found.machines})
		}
		if time.Now().Add(r.Interval).After(end) {
			late := errors.New(found.waiting)
			if r.Timeout != 0 {
				late = fmt.Errorf("not complete within %s (--timeout): %s", r.Timeout, found.waiting)
			}
			return &endedBy{late, found.findings}
		}
		if !kube.Pause(ctx, r.Interval) {
			return context.Cause(ctx)
		}
	}
}

// errOvertaken means that someone else changed the object.
var errOvertaken = transform.NewError(transform.ExitRefused, "another user changed the object during the stage; check the change with rke-lm plan, and run the command again")

// settle waits until every machine has what the object says. The rendered
// configurations prove it; the conditions of the object are copies. Someone who changed the object
// meanwhile ends the run.
func (r *run) settle(ctx context.Context) error {
	wanted, err := r.wanted()
	if err != nil {
		return err
	}
	failed := failures{}
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		now, err := r.Server.Get(ctx, r.Object)
		if err != nil {
			return condition{}, err
		}
		var object map[string]any
		_ = json.Unmarshal(now.Raw, &object) // a Cluster, else it was not read
		if rollout.Overtaken(object, wanted) {
			return condition{}, errOvertaken
		}
		seen, err := r.Server.Rollout(ctx, now)
		if err != nil {
			return condition{}, err
		}
		p := rollout.Evaluate(seen, wanted)
		failed.note(p.Machines, r.note)
		if p.Failed != "" {
			return condition{}, errors.New(p.Failed)
		}
		return condition{done: p.Done, waiting: p.Waiting, machines: p.Machines}, nil
	})
}

// failures are what was said of machines whose plans fail, by their names.
type failures map[string]string

// note says a failure once, and again when a later try prints something else: what
// is waited for is drawn over, and the reason has to stay.
func (f failures) note(machines []rollout.MachineProgress, emit func(string)) {
	for _, m := range machines {
		if m.Failures == 0 {
			delete(f, m.Name)
			continue
		}
		if before, known := f[m.Name]; !known || before != m.Output {
			f[m.Name] = m.Output
			emit(m.Failure())
		}
	}
}

// check waits until the cluster shows what has to hold.
func (r *run) check(ctx context.Context, c stages.Check) error {
	choice := check.Choice{Check: c, Version: r.Planner.Target.Version, Accept: r.Planner.Target.Accept}
	var twice time.Time // since when two owners are seen; zero while they are not
	shown := false      // whether the findings were shown, which a rollback may need at once
	err := r.await(ctx, func(ctx context.Context) (condition, error) {
		seen, err := r.observer.Settled(ctx, choice, r.Interval/4)
		if err != nil {
			return condition{}, err
		}
		open := check.Evaluate(seen, choice).Unmet()
		if transition.Permanent(open) {
			return condition{}, &endedBy{errors.New("waiting does not help: " + firstOf(open)), open}
		}
		switch {
		case !transition.TwoOwners(open):
			twice = time.Time{}
		case twice.IsZero():
			twice = time.Now()
		case time.Since(twice) >= ownersTime:
			return condition{}, &endedBy{errors.New("both managers run the cloud controllers, so the run does not wait: " + firstOf(open)), open}
		}
		if len(open) == 0 {
			r.cordon.noteReleased(seen)
		} else if c.NodesOnly && !shown {
			shown = true
			r.noteFindings(open)
		}
		return condition{done: len(open) == 0, waiting: firstOf(open), findings: open}, nil
	})
	if err == nil && !c.NodesOnly {
		r.emit(Event{Type: Checked, Message: "the checks of the stage passed"})
	}
	return err
}

// ownersTime is for how long two owners may be seen: somewhat longer than a lease
// outlives its holder.
const ownersTime = 30 * time.Second

// firstOf names the first of some findings.
func firstOf(findings []transform.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	text := redact.Text(findings[0].Path) + ": " + redact.Text(findings[0].Message)
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
