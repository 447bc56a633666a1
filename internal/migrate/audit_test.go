// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func entry(id, phase, uid string) Entry {
	return newEntry(Entry{ID: id, Phase: phase, Cluster: Ref{UID: uid}, Act: actPatch})
}

// written writes entries into a new log.
func written(t *testing.T, entries ...Entry) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	a, _, err := openAudit(file, "u")
	assert.NilError(t, err)
	for _, e := range entries {
		assert.NilError(t, a.add(e))
	}
	assert.NilError(t, a.close())
	return file
}

func TestIntentsWithoutAResultAreFound(t *testing.T) {
	file := written(t, entry("1", Intent, "u"), entry("1", Result, "u"), entry("2", Intent, "u"), entry("3", Intent, "another"), entry("4", Intent, "u"))
	_, open, err := openAudit(file, "u")
	ids := lists.Map(open, func(e Entry) string { return e.ID })
	assert.Truef(t, err == nil && slices.Equal(ids, []string{"2", "4"}), "%v %v", err, ids)
}

func TestHalfALineOfAKilledRunIsRemoved(t *testing.T) {
	file := written(t, entry("1", Intent, "u"))
	whole := assert.Value(os.ReadFile(file))(t)
	for cut := range len(whole) {
		assert.NilError(t, os.WriteFile(file, append(slices.Clone(whole), whole[:cut]...), 0o600))
		a, open, err := openAudit(file, "u")
		assert.Mustf(t, err == nil && len(open) == 1, "cut at %d: %v %v", cut, err, open)
		assert.NilError(t, errors.Join(a.add(entry("2", Intent, "u")), a.close()))
		text, _ := os.ReadFile(file)
		assert.Mustf(t, strings.Count(string(text), "\n") == 2 && strings.HasPrefix(string(text), string(whole)), "cut at %d: %q", cut, text)
	}
}

func TestAnotherFileIsNoAuditLog(t *testing.T) {
	for _, content := range []string{"a note\nand half of one", "half a note", "{}\n"} {
		file := filepath.Join(t.TempDir(), "notes")
		assert.NilError(t, os.WriteFile(file, []byte(content), 0o600))
		_, _, err := openAudit(file, "u")
		assert.True(t, err != nil && strings.Contains(err.Error(), "use another file with --audit-log"), err)
		text, _ := os.ReadFile(file)
		assert.Truef(t, string(text) == content, "it was changed: %q", text)
	}
	_, _, err := openAudit(t.TempDir(), "u")
	assert.True(t, err != nil, "a folder")
}

func TestALogIsForItsOwnerAlone(t *testing.T) {
	info, err := os.Stat(written(t))
	assert.Truef(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", err, info)
}

func TestOnlyARefusalSaysThatNothingWasWritten(t *testing.T) {
	refused := &kube.Failure{Code: http.StatusUnprocessableEntity}
	down := &kube.Failure{Code: http.StatusBadGateway}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, resultDone}, {refused, resultFailed}, {fmt.Errorf("x: %w", &rancher.Stale{}), resultFailed}, {fmt.Errorf("%w: %w", rancher.ErrRejected, down), resultFailed}, {&kube.Denied{}, resultFailed},
		{down, resultUnknown}, {fmt.Errorf("%w: %w", rancher.ErrLost, refused), resultUnknown}, {&kube.Unreached{Err: context.Canceled}, resultUnknown}, {errors.New("helm"), resultUnknown},
	} {
		assert.Equal(t, outcome(c.err), c.want, c.err)
	}
}

func TestAnEventSaysWhoDidWhat(t *testing.T) {
	e := entry("1", Result, "u")
	e.Stage, e.Digest, e.Result, e.Who, e.Object = "install-ccm", "abc", resultFailed, User{"anna", "desk"}, Ref{Kind: "Node", Name: "n"}
	e.Error = "refused"
	assert.Equal(t, message(e), "stage install-ccm: patch Node n, sha256 abc: failed, by anna on desk (refused)")
	for _, act := range []string{actPatch, actSnapshot, actKeep, actCordon, actRelease, actApply, actDelete, actHelm} {
		assert.Truef(t, reasons[act] != "", "%s has no reason", act)
	}
}
