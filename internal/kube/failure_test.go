// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// Rancher answers 403 and nothing else; an API server always gives a reason.
func TestARefusalWithoutAReasonIsRanchersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, gated := range map[int]bool{http.StatusForbidden: true, http.StatusUnauthorized: false, http.StatusNotFound: false} {
			_, err := answering(t, code(status)).Do(t.Context(), get)
			assert.Truef(t, Gated(err) == gated && HasStatus(err, status), "%d: %v", status, err)
		}
		assert.True(t, !Gated(errors.New("another error")) && !Gated(nil), "what is no refusal is Rancher's")
	})
}

func TestARefusalSaysItsMessageAndItsWarningsWithoutSecrets(t *testing.T) {
	const secret = "token-abcde:k7m2x9w4q8z3v6b1n5c7f2h4j6t8p3s9"
	synctest.Test(t, func(t *testing.T) {
		for name, body := range map[string]string{
			"an API server": `{"kind":"Status","apiVersion":"v1","message":"the token ` + secret + ` is not good"}`,
			"a Rancher":     `{"type":"error","status":"400","message":"the token ` + secret + ` is not good"}`,
		} {
			client := answering(t, answer(http.StatusBadRequest, body, "Warning", `299 - "the token `+secret+` is old"`))
			_, err := client.Do(t.Context(), get)
			assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), "get nodes: the API server answers 400: the token ") && !strings.Contains(err.Error(), secret), "%s: %v", name, err)
			printed := Warnings(err)
			assert.Truef(t, len(printed) == 1 && !strings.Contains(printed[0], secret) && strings.HasPrefix(printed[0], "the token "), "%s: %q", name, printed)
		}
		rest.SetDefaultWarningHandler(loud{t})
		defer rest.SetDefaultWarningHandler(rest.WarningLogger{})
		client := answering(t, answer(200, "{}", "Warning", `299 - "unknown field"`))
		a, err := client.Do(t.Context(), get)
		assert.Truef(t, err == nil && len(a.Warnings) == 1 && Warnings(err) == nil, "%q %v", a.Warnings, err)
	})
}

// loud is where client-go writes warnings by itself.
type loud struct{ *testing.T }

func (l loud) HandleWarningHeader(_ int, _, text string) { l.Errorf("client-go writes %q", text) }

// A server that cannot be reached is said with its address, and without more of the request.
func TestWhatTheNetworkSaysIsReportedWithTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := answering(t, fall)
		l.retry.allowed = time.Second
		_, err := l.Do(t.Context(), get)
		assert.True(t, err != nil && strings.Contains(err.Error(), "https://127.0.0.1:") && strings.HasSuffix(err.Error(), ": get nodes: EOF; check the network and the API server, and run the command again"), err)
	})
}

func TestARefusalHasItsOwnExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want transform.ExitCode
	}{
		{&Failure{Code: http.StatusForbidden, by: byAdmission}, transform.ExitRefused},
		{&Failure{Code: http.StatusInternalServerError}, transform.ExitFailed},
		{&Failure{Code: http.StatusFound}, transform.ExitFailed}, // a login page
		{&Denied{}, transform.ExitRefused},
		{&Unreached{Err: errors.New("EOF")}, transform.ExitFailed},
	} {
		assert.Equal(t, transform.ExitCodeOf(c.err), int(c.want), c.err)
	}
}

func TestErrorsOfSeveralRequestsAreOne(t *testing.T) {
	missing := func(what string) error { return &Failure{What: what, Code: http.StatusForbidden, by: byAuthorizer} }
	expired := &Failure{What: "list pods", Code: http.StatusUnauthorized, server: "https://a.example.com"}
	other := errors.New("another error")
	err := Joined([]error{nil, missing("list pods"), other, missing("list nodes"), missing("list pods"), &Denied{Missing: []string{"get secrets"}}})
	want := "missing permissions: get secrets, list nodes, list pods; request them, docs/permissions.md has the roles"
	assert.True(t, err != nil && err.Error() == want, err)
	for server, first := range map[string]error{"https://a.example.com": expired, "the API server": &Denied{Expired: true}} {
		err := Joined([]error{missing("list nodes"), first})
		want := server + " does not accept the credentials; log in again, they may have expired"
		assert.True(t, err != nil && err.Error() == want, err)
	}
	assert.True(t, errors.As(Joined([]error{nil, other, expired}), new(*Denied)), "an expired token is lost")
	assert.True(t, Joined([]error{nil, other}) == other && Joined(nil) == nil, "one error is another")
	denied := &Denied{Missing: []string{"get secrets"}}
	assert.True(t, Refusal(denied) == error(denied) && Refusal(nil) == nil, "a denial is said in other words")
}

// Rancher makes a user's requests in its own name, and may lack the right to.
func TestWhatRancherCannotDoForAUserIsNoRightThatTheUserLacks(t *testing.T) {
	f := &Failure{What: "list nodes", Code: http.StatusForbidden, by: byUnready, Message: "it cannot impersonate"}
	err := Refusal(f)
	assert.True(t, err == error(f) && !errors.As(err, new(*Denied)), err)
}

// client-go asks a refusal whether a list expired; what a webhook says with the same code
// is about something else.
func TestOnlyAnAPIServersOwnRefusalMeansThatAListExpired(t *testing.T) {
	for _, c := range []struct {
		f    Failure
		want bool
	}{
		{Failure{Code: http.StatusGone}, true},
		{Failure{Code: http.StatusGone, by: byAdmission}, false},
		{Failure{Code: http.StatusConflict}, false},
	} {
		assert.True(t, apierrors.IsResourceExpired(&c.f) == c.want && int(c.f.Status().Code) == c.f.Code, c.f)
	}
}

func TestAllOfManyAreDoneAndNoMoreThanAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		done := make([]bool, 20)
		err := ForEach(len(done), func(i int) error {
			time.Sleep(time.Second)
			done[i] = true
			if i == 13 {
				return errors.New("the thirteenth")
			}
			return nil
		})
		assert.True(t, !slices.Contains(done, false), done)
		assert.Truef(t, err != nil && err.Error() == "the thirteenth" && time.Since(start) == 3*time.Second, "%v after %s", err, time.Since(start))
	})
}
