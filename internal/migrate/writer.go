// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The acts of a run.
const (
	actPatch    = "patch"
	actSnapshot = "etcd-snapshot"
	actKeep     = "keep-snapshot"
	actCordon   = "cordon"
	actRelease  = "uncordon"
	actTaint    = "taint-uninitialized"
	actLink     = "link-machine"
	actEvict    = "evict"
	actRestart  = "restart"
	actApply    = "apply"
	actDelete   = "delete"
	actHelm     = "helm"
)

// grace is for how long a request continues that was in progress when the run was told
// to end: without its answer it is not known what was written.
const grace = 20 * time.Second

// write makes a change of an object: under the lock, and with its intent in the audit log before. The digest is that of
// what is sent; "" where the act has no text.
func (r *run) write(ctx context.Context, act string, object Ref, digest string, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.Permit != nil && act != actRelease && act != actDelete { // a run may always remove what it has left
		if err := r.Permit(); err != nil {
			return err
		}
	}
	if err := r.lock.confirm(ctx); err != nil {
		return err
	}
	e := newEntry(Entry{
		ID: uuid.NewString(), Run: r.lock.identity, Who: r.User, Cluster: r.ref(), Verb: r.verb, Stage: r.progress.stage,
		Act: act, Object: object, Digest: digest, Phase: Intent,
	})
	if err := r.audit.add(e); err != nil {
		return err
	}
	own, end := graceful(ctx)
	defer end()
	err := do(own)
	r.progress.wrote = r.progress.wrote || err == nil || outcome(err) == resultUnknown
	e.Result = outcome(err)
	if err != nil {
		e.Error = redact.Text(err.Error())
	}
	if err == nil {
		r.emit(Event{Type: Written, Message: act + " " + object.String()})
	}
	return errors.Join(err, r.conclude(own, e))
}

// conclude writes the result of an act, into the log and as an Event.
func (r *run) conclude(ctx context.Context, e Entry) error {
	e = newEntry(e)
	e.Phase = Result
	err := r.audit.add(e)
	r.event(ctx, e)
	return err
}

// graceful returns a context that lives on for a while when its parent ends.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		kube.Pause(own, grace)
		cancel()
	})
	return own, func() { stop(); cancel() }
}

// outcome is the result of an act, by its error. Only a server that refused, and a
// test that failed, tell that nothing was written.
func outcome(err error) string {
	var refused *kube.Failure
	switch {
	case err == nil:
		return resultDone
	case errors.Is(err, rancher.ErrLost):
		return resultUnknown
	case errors.As(err, new(*rancher.Stale)), errors.Is(err, rancher.ErrRejected), errors.As(err, new(*kube.Denied)), errors.As(err, &refused) && (refused.Code/100 == 4 || refused.NotTaken()):
		return resultFailed
	}
	return resultUnknown
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// change is the cluster's object before and after it.
type change struct{ before, after *yamledit.Document }

// patch turns the object into its next version. It was planned from the one that was
// read last: the patch refuses any other one. Where that is the same to Rancher, which
// wrote it in another form, the same change is made again of what is there now. report
// is called before the change is sent, as it may be written, and with what became of it.
func (r *run) patch(ctx context.Context, act string, c change, again func(context.Context) (change, error), report func(transition.Edit)) error {
	return rancher.Again(c,
		func(c change) error { return r.patchOnce(ctx, act, c, report) },
		func() (change, error) { return again(ctx) },
		func(before, now change) bool { return r.Planner.Format.SameSpec(before.after, now.after) })
}

func (r *run) patchOnce(ctx context.Context, act string, c change, report func(transition.Edit)) error {
	p, err := jsonpatch.Diff(c.before.Bytes(), c.after.Bytes())
	if err != nil {
		return err
	}
	return r.write(ctx, act, r.ref(), p.Digest(), func(ctx context.Context) error {
		report(transition.MayBeWritten)
		now, warnings, err := r.Server.Patch(ctx, r.Object, p, r.Planner.Format.Alike, false)
		report(became(err))
		for _, text := range warnings {
			r.note("Rancher reports: " + text)
		}
		if err == nil {
			r.Object = now
		}
		return err
	})
}

// became reports what became of a change of the object.
func became(err error) transition.Edit {
	switch {
	case err == nil, errors.Is(err, rancher.ErrAltered):
		return transition.Written
	case outcome(err) == resultFailed:
		return transition.NotWritten
	}
	return transition.MayBeWritten
}

// manualRequired means that the stage has a command that rke-lm does not run.
func (r *run) manualRequired(a action.Action, why string) error {
	return fmt.Errorf("%s; run it, and then this command again with --manual-done %s:\n  %s", why, r.transition.Step.Stage.Name, a.Command)
}

// action carries an action out: what changes something is done, what is waited for is
// waited for. What is only looked at is part of the check after the stage.
func (r *run) action(ctx context.Context, a action.Action) error {
	if a.Shows && a.Op == nil {
		return nil
	}
	switch op := a.Op.(type) {
	case action.Settle:
		return r.settle(ctx)
	case action.HelmValues:
		return nil
	case action.Removed:
		return r.removed(ctx, op)
	case action.Cordon:
		return r.cordon.cordonNodes(ctx, op)
	case action.Uncordon:
		return r.cordon.uncordonNodes(ctx)
	case action.Initialize:
		return r.initialize(ctx)
	case action.Register:
		return r.register(ctx)
	}
	if slices.Contains(r.Planner.Target.ManualDone, r.transition.Step.Stage.Name) {
		return nil
	}
	return r.change(ctx, a)
}

// change carries out an action that brings something to a cluster, or takes it away.
func (r *run) change(ctx context.Context, a action.Action) error {
	switch op := a.Op.(type) {
	case action.Apply:
		text, err := r.fileOf(op.File)
		if err != nil {
			return err
		}
		server := r.Object.ID
		if op.Rancher {
			server = local
		}
		return r.applyText(ctx, server, text)
	case action.SecretFromFile:
		text, err := r.fileOf(op.File)
		if err != nil {
			return err
		}
		return r.applySecret(ctx, op.Namespace, op.Name, op.Key, []byte(text))
	case action.CopySecret:
		return r.copySecret(ctx, op)
	case action.Delete:
		list, err := r.existing(ctx, op.Namespace, op.Kinds, op.Name)
		if err != nil {
			return err
		}
		return forEach(ctx, list, r.drop)
	case action.HelmUpgrade:
		return r.helm.upgrade(ctx, a, op)
	case action.HelmUninstall:
		return r.helm.uninstall(ctx, a, op)
	}
	return r.manualRequired(a, "the stage "+r.transition.Step.Stage.Name+" has a command for the machines themselves, which rke-lm does not reach")
}

// fileOf returns what a plan folder would hold.
func (r *run) fileOf(name string) (string, error) {
	text, there := r.transition.Files[name]
	if !there {
		return "", fmt.Errorf("the stage %s names the file %s and does not make it; this is an error of rke-lm, please report it", r.transition.Step.Stage.Name, name)
	}
	return text, nil
}

// removed waits until objects have left the cluster with their manifest.
func (r *run) removed(ctx context.Context, op action.Removed) error {
	return r.await(ctx, func(ctx context.Context) (condition, error) {
		left, err := r.existing(ctx, op.Namespace, op.Kinds, op.Name)
		if err != nil || len(left) == 0 {
			return condition{done: true}, err
		}
		o := left[0]
		return condition{waiting: "the " + o.String() + " is still in the cluster; if it stays, delete it: " + action.DeleteObject(o.Namespace, o.Kind, o.Name).Command}, nil
	})
}

// applyText brings the objects of a manifest to a cluster, as kubectl apply does on
// the server's side.
func (r *run) applyText(ctx context.Context, server, text string) error {
	for _, chunk := range yamledit.Split("manifest", []byte(text)) {
		d, err := yamledit.Parse(chunk)
		if err != nil {
			return err
		}
		root := d.Root()
		if !root.IsMap() {
			continue
		}
		o := Ref{Server: server, Kind: root.StringAt("kind"), Namespace: root.StringAt("metadata", "namespace"), Name: root.StringAt("metadata", "name")}
		if err := r.apply(ctx, o, d.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// apply brings one object to a cluster.
func (r *run) apply(ctx context.Context, o Ref, body []byte) error {
	return r.write(ctx, actApply, o, sum(body), func(ctx context.Context) error {
		_, err := r.request(ctx, o, kube.Request{
			Method: http.MethodPatch, Body: body, ContentType: "application/apply-patch+yaml",
			Query: url.Values{"fieldManager": {kube.Program}, "force": {"true"}},
		})
		return err
	})
}

// applyObject is the same with an object that is sent as JSON.
func (r *run) applyObject(ctx context.Context, o Ref, object any) error {
	body, _ := json.Marshal(object) // a type of the API cannot fail
	return r.apply(ctx, o, body)
}

// applySecret brings a value to the cluster, as one key of a Secret.
func (r *run) applySecret(ctx context.Context, namespace, name, key string, value []byte) error {
	return r.applyObject(ctx, r.own("Secret", namespace, name), corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string][]byte{key: value},
	})
}

// copySecret brings the Secret of a provider's configuration from Rancher's own
// cluster.
func (r *run) copySecret(ctx context.Context, a action.CopySecret) error {
	from := Ref{Server: local, Kind: "Secret", Namespace: a.Namespace, Name: a.Name}
	got, err := r.request(ctx, from, kube.Request{Method: http.MethodGet})
	if err != nil {
		return err
	}
	var s corev1.Secret
	if err := json.Unmarshal(got.Body, &s); err != nil {
		return &kube.Unreached{What: "read the " + from.String(), Err: fmt.Errorf("it is no Secret")}
	}
	value, there := s.Data[action.SecretCredential]
	if !there {
		return fmt.Errorf("the %s has no key %s; correct the cloud-provider-config that refers to it", from, action.SecretCredential)
	}
	return r.applySecret(ctx, kubeSystem, a.To, a.Key, value)
}

// drop deletes an object, as a write of the run.
func (r *run) drop(ctx context.Context, o Ref) error {
	return r.write(ctx, actDelete, o, "", func(ctx context.Context) error { return r.remove(ctx, o) })
}
