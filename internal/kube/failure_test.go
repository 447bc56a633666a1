// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
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
	"github.com/rke-lm/rke-lm/internal/memnet"
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

func TestWhoDeniedARequestIsReadOffTheMessage(t *testing.T) {
	for _, c := range []struct {
		message string
		want    denial
	}{
		{`clusters.provisioning.cattle.io "orchard" is forbidden: User "u-x7k2p" cannot patch resource "clusters" in API group "provisioning.cattle.io" in the namespace "fleet-default"`, byAuthorizer},
		{`services is forbidden: User "u-42" cannot list resource "services" in API group "" at the cluster scope`, byAuthorizer},
		{`secrets is forbidden: User "u-42" cannot list resource "secrets" in API group "" in the namespace "fleet-default": RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`, byAuthorizer},
		{`forbidden: User "system:anonymous" cannot get path "/apis/provisioning.cattle.io/v1"`, byAuthorizer},

		{`admission webhook "rancher.cattle.io.clusters.provisioning.cattle.io" denied the request: spec is wrong`, byAdmission},
		{`admission webhook "rancher.cattle.io.clusters.provisioning.cattle.io" denied the request: "CATTLE_AGENT_VAR_DIR" cannot be set within "cluster.Spec.RKEConfig.AgentEnvVars"`, byAdmission},
		{`admission webhook "rancher.cattle.io.clusters.provisioning.cattle.io" denied the request: clusters "a" is forbidden: User "u-1" cannot get resource "secrets"`, byAdmission},
		{`admission webhook "validate.kyverno.svc-fail" denied the request without explanation`, byAdmission},
		{`admission webhook "mutate.example.com" does not support dry run`, byAdmission},
		{`clusters.provisioning.cattle.io "orchard" is forbidden: ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: a User "x" cannot change it on Fridays`, byAdmission},
		{`pods "ccm" is forbidden: violates PodSecurity "restricted:latest": hostNetwork=true`, byAdmission},
		{`pods "ccm" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10`, byAdmission},
		{`pods "ccm" is forbidden: maximum cpu usage per Container is 1, but limit is 2`, byAdmission},
		{`configmaps "a" is forbidden: unable to create new content in namespace kube-system because it is being terminated`, byAdmission},
		{`roles.rbac.authorization.k8s.io "a" is forbidden: user "u-1" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:`, byAdmission},

		{`configmaps "a" is forbidden: not yet ready to handle request`, byUnready},
		{`configmaps "a" is forbidden: status unknown for quota: compute, resources: configmaps`, byUnready},
		{`userextras.authentication.k8s.io "admin" is forbidden: User "system:serviceaccount:cattle-impersonation-system:cattle-impersonation-u-x7k2p" cannot impersonate resource "userextras/username" in API group "authentication.k8s.io" at the cluster scope`, byUnready},
		{`users "u-42" is forbidden: User "u-x7k2p" cannot impersonate resource "users" in API group "" at the cluster scope`, byAuthorizer},

		{`the server rejected our request due to an error in our request: testing path /spec/a: test failed`, byNoOne},
		{`Cluster.provisioning.cattle.io "orchard" is invalid: spec.a: Forbidden: may not be changed`, byNoOne},
		{`Cluster.provisioning.cattle.io "orchard" is invalid: spec.a: a key is forbidden`, byNoOne},
		{`Internal error occurred: failed calling webhook "rancher.cattle.io.clusters": Post "https://rancher-webhook.cattle-system.svc": EOF`, byNoOne},
		{`Unauthorized`, byNoOne},
		{`Forbidden`, byNoOne},
		{``, byNoOne},
	} {
		assert.Equal(t, deniedBy(c.message), c.want, c.message)
	}
}

// refusing answers every request in the same way, and counts.
func refusing(t *testing.T, code int, message string) (*Client, *int) {
	t.Helper()
	body := assert.Value(json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1", "message": message}))(t)
	handler, asked := counted(answer(code, string(body), "Content-Type", "application/json"))
	return answering(t, handler), asked
}

// answering is a client of a server that answers in one way.
func answering(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	return assert.Value(Connect(Connection{Rancher: memnet.Serve(t, answer).URL, Token: "a-token-for-tests", Insecure: true, RetryFor: time.Second, Dial: memnet.Dial}))(t)
}

// A denial is tried again where it passes by itself, and nowhere else.
func TestADenialIsTriedAgainWhereItPasses(t *testing.T) {
	const (
		authorizer = `nodes "a" is forbidden: User "u-1" cannot patch resource "nodes" in API group "" at the cluster scope`
		hook       = `admission webhook "w" denied the request: it cannot be changed`
		young      = `configmaps "a" is forbidden: not yet ready to handle request`
		first      = `users "u-1" is forbidden: User "system:serviceaccount:cattle-impersonation-system:cattle-impersonation-u-1" cannot impersonate resource "users" in API group "" at the cluster scope`
	)
	for _, c := range []struct {
		name              string
		code              int
		message           string
		reviewed, renewed bool
		again             bool
	}{
		{"a right that is missing", 403, authorizer, false, false, false},
		{"a right that was there", 403, authorizer, true, false, true},
		{"a webhook, although the rights were there", 403, hook, true, false, false},
		{"a webhook that says 401, although a program renews the token", 401, hook, false, true, false},
		{"a token that a program renews", 401, "Unauthorized", false, true, true},
		{"a webhook that says 409", 409, hook, false, false, false},
		{"a webhook with troubles of its own", 500, hook, false, false, true},
		{"an API server that has just started", 403, young, false, false, true},
		{"a user's first request through Rancher", 403, first, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, asked := refusing(t, c.code, c.message)
				client.retry.tokens.renewed = c.renewed
				client.retry.reviewed.Store(c.reviewed)
				_, err := client.Do(t.Context(), Request{What: "patch nodes", Method: http.MethodPatch})
				assert.Truef(t, *asked > 1 == c.again && errors.As(err, new(*Failure)), "asked %d times: %v", *asked, err)
			})
		})
	}
}

// Rancher hands nothing on to another cluster for a user who cannot get that one, and from 2.9 on for a token that it does
// not accept.
func TestWhomRancherDoesNotLetToAClusterLacksARightOrALogin(t *testing.T) {
	body := func(user string) string {
		return `{"Code":{"Code":"Forbidden","Status":403},"Message":"clusters.management.cattle.io \"c-m-x7k2p\" is forbidden: User \"` + user + `\" cannot get resource \"clusters\" in API group \"management.cattle.io\" at the cluster scope","Cause":null,"FieldName":""}`
	}
	for _, c := range []struct {
		user                    string
		renewed, expired, again bool
	}{
		{"system:unauthenticated", false, true, false},
		{"system:unauthenticated", true, true, true},
		{"u-x7k2p", true, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler, asked := counted(answer(http.StatusForbidden, body(c.user)))
			client := answering(t, handler)
			client.retry.tokens.renewed = c.renewed
			_, err := client.Do(t.Context(), Request{What: "list nodes", Method: http.MethodGet})
			var d *Denied
			assert.Truef(t, errors.As(Refusal(err), &d) && d.Expired == c.expired && d.Forbidden == c.expired && *asked > 1 == c.again && (c.expired || slices.Equal(d.Missing, []string{"get clusters.management.cattle.io c-m-x7k2p"})), "%s, renewed %t: asked %d times: %v", c.user, c.renewed, *asked, Refusal(err))
			assert.Equal(t, strings.Contains(Refusal(err).Error(), "Rancher 2.9.0 and later does if a token has expired"), c.expired, c.user)
		})
	}
}

// What a webhook denies is neither a missing right nor an expired token, nor an object
// that is gone, there already or changed, whatever code it chooses.
func TestWhatIsDeniedIsNotTakenForSomethingElse(t *testing.T) {
	for _, code := range []int{400, 401, 403, 404, 409, 410, 422, 500} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, _ := refusing(t, code, `admission webhook "w" denied the request: it is frozen`)
				_, err := client.Do(t.Context(), Request{What: "patch nodes", Method: http.MethodPatch})
				var f *Failure
				assert.Truef(t, errors.As(err, &f) && f.NotTaken() && !HasStatus(err, code), "%T %v", err, err)
				assert.Truef(t, !errors.As(err, new(*Unreached)) && !errors.As(Refusal(err), new(*Denied)) && Refusal(err) != nil, "%T %v", Refusal(err), Refusal(err))
			})
		})
	}
}

// A proxy or a Rancher that has no route answers in JSON as well; that says
// nothing about an object.
func TestOnlyAStatusOfKubernetesShowsThatSomethingIsRemoved(t *testing.T) {
	for body, gone := range map[string]bool{
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"nodes \"a\" not found","code":404}`: true,
		noSuchPath: true,
		``:         true,
		`{"type":"error","status":"404","code":"NotFound","message":"No cluster available"}`: false,
		`<html>`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := answering(t, answer(http.StatusNotFound, body, "Content-Type", "application/json"))
			_, err := client.Do(t.Context(), Request{What: "get nodes", Method: http.MethodGet})
			assert.Truef(t, HasStatus(err, http.StatusNotFound) == gone && errors.As(err, new(*Unreached)) != gone, "%s: %v", body, err)
		})
	}
}

// A gateway that wants a login of its own knows nothing of rights, nor of the token.
func TestThePageOfAProxyIsNoMissingRight(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) {
			handler, asked := counted(answer(code, "\n<!doctype html><title>Sign in</title>"))
			client := answering(t, handler)
			_, err := client.Do(t.Context(), Request{What: "get nodes", Method: http.MethodGet})
			assert.Truef(t, !errors.As(Refusal(err), new(*Denied)) && errors.As(err, new(*Unreached)) && strings.Contains(err.Error(), "a proxy before the API server") && *asked == 1, "%d, asked %d times: %v", code, *asked, err)
		})
	}
}
