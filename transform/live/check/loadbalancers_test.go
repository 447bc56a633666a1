// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
)

var clock = time.Date(2025, 3, 11, 10, 0, 0, 0, time.UTC)

// waiting is a Service that asked for a load balancer some time ago.
func waiting(since time.Duration, message string) observed.Service {
	s := observed.Service{Namespace: "shop", Name: "web", Asked: clock.Add(-since)}
	if message != "" {
		s.Failure = &observed.Failure{Reason: "SyncLoadBalancerFailed", Message: "Error syncing load balancer: " + message}
	}
	return s
}

// ofRule returns what one rule finds.
func ofRule(rule string, o *observed.Observation, c Choice) []transform.Finding {
	return lists.Where(Evaluate(o, c).Findings, func(f transform.Finding) bool { return f.Rule == rule })
}

// atClock returns what a rule of load balancers finds at the usual time.
func atClock(rule string, o observed.Observation, c Choice) []transform.Finding {
	o.Clock = clock
	return ofRule(rule, &o, c)
}

func TestAServiceIsPendingForMinutesByTheClusterOwnClock(t *testing.T) {
	had := waiting(time.Hour, "")
	had.Hosts = []string{"a.elb.amazonaws.com"}
	others, deleting := waiting(time.Hour, "m"), waiting(time.Hour, "m")
	others.OtherController, deleting.Deleting = true, true
	early := waiting(0, "")
	early.Asked = clock.Add(time.Hour) // a server whose clock is fast
	for _, c := range []struct {
		name    string
		service observed.Service
		says    string // "" for no finding
	}{
		{"for two days", waiting(50*time.Hour, "m"), "no load balancer 2 days after the request; its last warning is SyncLoadBalancerFailed: Error syncing load balancer: m"},
		{"for hours, and nothing says why", waiting(3*time.Hour, ""), "3 hours after the request; no Event of the last hour"},
		{"for five minutes", waiting(5*time.Minute, ""), "5 minutes after"},
		{"for less, although something failed", waiting(5*time.Minute-time.Second, "m"), ""},
		{"with a load balancer", had, ""},
		{"of another controller", others, ""},
		{"that is being deleted", deleting, ""},
		{"made by a server whose clock is fast", early, ""},
	} {
		found := atClock(idLoadBalancerPending, observed.Observation{Services: []observed.Service{c.service}}, Choice{})
		assert.Must(t, len(found) == min(len(c.says), 1), c.name, found)
		for _, f := range found {
			assert.True(t, f.Path == "shop/services/web" && strings.Contains(f.Message, c.says) && f.Fix != "", c.name, f)
		}
	}
	noClock := ofRule(idLoadBalancerPending, &observed.Observation{Services: []observed.Service{waiting(time.Hour, "")}}, Choice{})
	assert.True(t, len(noClock) == 0, "without a time of the API server", noClock)
}

func TestAPendingServiceIsAnErrorOfTheSwitchAndLater(t *testing.T) {
	kube := func(args ...string) []observed.Manager {
		return []observed.Manager{pod(observed.KubeManager, "m", args...), pod(observed.CloudManager, "m", "--cloud-provider=aws")}
	}
	was := &observed.Snapshot{LoadBalancers: []observed.Service{{Namespace: "shop", Name: "web"}}}
	had := &observed.Snapshot{LoadBalancers: []observed.Service{{Namespace: "shop", Name: "web", Hosts: []string{"a"}}}}
	other := &observed.Snapshot{LoadBalancers: []observed.Service{{Namespace: "bank", Name: "web"}}}
	inTree, external := kube("--cloud-provider=aws", "--enable-leader-migration"), kube("--cloud-provider=external")
	for _, c := range []struct {
		name     string
		managers []observed.Manager
		before   *observed.Snapshot
		stage    string
		want     transform.Severity
	}{
		{"in-tree", inTree, nil, "", transform.Warning},
		{"in-tree, for a stage before the switch", inTree, nil, stages.InstallCCM, transform.Warning},
		{"in-tree, for the switch", inTree, nil, stages.SwitchToExternal, transform.Error},
		{"external", external, nil, "", transform.Error},
		{"external, pending before", external, was, "", transform.Warning},
		{"external, pending before, for the last stage", external, was, stages.VerifyProviderIDs, transform.Warning},
		{"external, with a load balancer before", external, had, "", transform.Error},
		{"external, and another was pending before", external, other, "", transform.Error},
		{"a manager that is no pod, and none to switch to", nil, nil, "", transform.Warning},
		{"a manager that is no pod, and one to switch to", []observed.Manager{pod(observed.CloudManager, "m", "--cloud-provider=aws")}, nil, "", transform.Error},
	} {
		found := atClock(idLoadBalancerPending, observed.Observation{Managers: c.managers, Before: c.before, Services: []observed.Service{waiting(time.Hour, "m")}}, Choice{Check: stages.After(c.stage, transform.Target{})})
		assert.Truef(t, len(found) == 1 && found[0].Severity == c.want, "%s: %+v", c.name, found)
	}
	found := atClock(idLoadBalancerPending, observed.Observation{Managers: external, Services: []observed.Service{waiting(time.Hour, "m")}}, Choice{Accept: []string{idLoadBalancerPending}})
	assert.Truef(t, len(found) == 1 && !found[0].Stops(), "accepted: %+v", found)
}

func TestKnownCausesAreNamedWithWhatToDo(t *testing.T) {
	for message, fix := range map[string]string{
		"failed to ensure load balancer: Multiple tagged security groups found for instance i-0a4c19d2e7b35f801; ensure only the k8s security group is tagged; the tagged groups were sg-1(a) sg-2(b)": "but one",
		"failed to ensure load balancer: Multiple untagged security groups found for instance i-0a4c19d2e7b35f801; ensure the k8s security group is tagged":                                            "add to one security group of each instance the tag",
		"failed to ensure load balancer: could not find any suitable subnets for creating the ELB":                                                                                                     "kubernetes.io/role/elb=1",
		"failed to ensure load balancer: AccessDenied: User: arn:aws:sts::419306528174:assumed-role/cp/i-0a4c is not authorized to perform: elasticloadbalancing:CreateLoadBalancer on resource: *":    "the action elasticloadbalancing:CreateLoadBalancer is not allowed: add the missing permission to the IAM role",
		"failed to ensure load balancer: error creating security group: UnauthorizedOperation: You are not authorized to perform this operation.":                                                      "aws-ccm-policy.json",
		"failed to ensure load balancer: NoCredentialProviders: no valid providers in chain":                                                                                                           "hop limit",
		"failed to ensure load balancer: TooManyLoadBalancers: Exceeded quota of account":                                                                                                              "quota",
		"failed to ensure load balancer: something new": "kubectl -n shop describe service web",
	} {
		found := atClock(idLoadBalancerPending, observed.Observation{Services: []observed.Service{waiting(time.Hour, message)}}, Choice{})
		assert.Truef(t, len(found) == 1 && strings.Contains(found[0].Fix, fix) && strings.Contains(found[0].Message, message), "%s: %+v", message, found)
	}
}

// A dump of kubectl does not show when it was made.
func TestWhatADumpDoesNotShowOfPendingServicesIsNotChecked(t *testing.T) {
	for _, c := range []struct {
		name    string
		service observed.Service
		kinds   []string
		finds   string
		lacks   bool
	}{
		{"a warning of the service controller", waiting(0, "m"), []string{observed.Events}, "the Service has no load balancer; its last warning", false},
		{"nothing that tells for how long", waiting(0, ""), []string{observed.Events}, "", true},
		{"a newer time of the API server", waiting(time.Hour, ""), nil, "60 minutes after the request; the dump has no events", false},
	} {
		o := observed.Observation{Partial: true, Clock: clock, Kinds: append(c.kinds, observed.Services), Services: []observed.Service{c.service}}
		found := atClock(idLoadBalancerPending, o, Choice{})
		all, _ := unchecked(&o, "")
		lacks := strings.Contains(strings.Join(all, " "), idLoadBalancerPending)
		assert.Truef(t, (c.finds != "" || len(found) == 0) && (c.finds == "" || len(found) == 1 && strings.Contains(found[0].Message, c.finds) && found[0].Severity == transform.Error) && lacks == c.lacks, "%s: %t %+v", c.name, lacks, found)
	}
	denied := atClock(idLoadBalancerPending, observed.Observation{EventsDenied: true, Services: []observed.Service{waiting(time.Hour, "")}}, Choice{})
	assert.True(t, len(denied) == 1 && strings.Contains(denied[0].Message, "the cause is not checked, because the permission to list events is missing"), denied)
}

func TestALoadBalancerIsStaleForMinutesByTheClusterOwnClock(t *testing.T) {
	denied := "failed to delete load balancer: AccessDenied: User: arn:aws:sts::419306528174:assumed-role/cp/i-0a4c is not authorized to perform: elasticloadbalancing:DeleteLoadBalancer on resource: *"
	deleting, served := waiting(6*time.Minute, denied), waiting(6*time.Minute, "AccessDenied: register")
	deleting.Deleting, served.Hosts = true, []string{"a.elb.amazonaws.com"}
	deleting.Hosts = served.Hosts
	silent := deleting
	silent.Failure = nil
	short := deleting
	short.Asked = clock.Add(-pendingTime + time.Second)
	fine, others := served, served
	fine.Asked, fine.Failure, others.OtherController = time.Time{}, nil, true
	was := &observed.Snapshot{LoadBalancers: []observed.Service{{Namespace: "shop", Name: "web", Hosts: served.Hosts, Asked: clock.Add(-time.Hour)}}}
	had := &observed.Snapshot{LoadBalancers: []observed.Service{{Namespace: "shop", Name: "web", Hosts: served.Hosts}}}
	external := []observed.Manager{pod(observed.KubeManager, "m", "--cloud-provider=external"), pod(observed.CloudManager, "m", "--cloud-provider=aws")}
	inTree := []observed.Manager{pod(observed.KubeManager, "m", "--cloud-provider=aws")}
	for _, c := range []struct {
		name     string
		service  observed.Service
		managers []observed.Manager
		before   *observed.Snapshot
		severity transform.Severity
		says     string // "" for no finding
		fix      string
	}{
		{"that is to be deleted", deleting, external, had, transform.Error, "the load balancer of the Service still exists 6 minutes after the request; its last warning is SyncLoadBalancerFailed", "the action elasticloadbalancing:DeleteLoadBalancer is not allowed"},
		{"that is to be deleted, and no Event shows the cause", silent, external, had, transform.Error, "no Event of the last hour shows the cause", "kubectl -n shop describe service web"},
		{"whose changes fail", served, external, had, transform.Error, "does not have its last changes 6 minutes after the request", "aws-ccm-policy.json"},
		{"whose changes failed in the snapshot", served, external, was, transform.Warning, "does not have its last changes", "the snapshot has the same"},
		{"whose changes fail before the switch", served, inTree, nil, transform.Warning, "does not have its last changes", "the switch does not fix it"},
		{"for less than five minutes", short, external, had, transform.Error, "", ""},
		{"whose changes succeed", fine, external, had, transform.Error, "", ""},
		{"of another controller", others, external, had, transform.Error, "", ""},
	} {
		o := observed.Observation{Services: []observed.Service{c.service}, Managers: c.managers, Before: c.before}
		found := atClock(idLoadBalancerStale, o, Choice{})
		assert.Must(t, len(found) == min(len(c.says), 1) && len(atClock(idLoadBalancerPending, o, Choice{})) == 0, c.name, found)
		for _, f := range found {
			assert.True(t, f.Severity == c.severity && strings.Contains(f.Message, c.says) && strings.Contains(f.Fix, c.fix), c.name, f)
		}
	}
}

func TestWithoutEventsItIsNotCheckedWhetherChangesFail(t *testing.T) {
	served := observed.Service{Namespace: "shop", Name: "web", Hosts: []string{"a.elb.amazonaws.com"}}
	none := observed.Service{Namespace: "shop", Name: "web", Hosts: []string{}, OtherController: true}
	for name, c := range map[string]struct {
		o    observed.Observation
		want string
	}{
		"no permission":                {observed.Observation{EventsDenied: true, Services: []observed.Service{served}}, "the permission to list events is missing"},
		"a dump without events":        {observed.Observation{Partial: true, Kinds: []string{observed.Services}, Services: []observed.Service{served}}, "the dump has no events"},
		"a dump without services":      {observed.Observation{Partial: true}, "the dump has no services"},
		"no load balancer":             {observed.Observation{EventsDenied: true, Services: []observed.Service{none}}, ""},
		"events, and nothing is wrong": {observed.Observation{Partial: true, Kinds: []string{observed.Events, observed.Services}, Services: []observed.Service{served}}, ""},
	} {
		why := ""
		for _, n := range Evaluate(&c.o, Choice{}).NotChecked {
			if n.Rule == idLoadBalancerStale {
				why = n.Why
			}
		}
		assert.Equal(t, why, c.want, name)
	}
}

// A snapshot has what is compared with, in fields that earlier versions know.
func TestASnapshotHasSinceWhenALoadBalancerIsStale(t *testing.T) {
	served := waiting(time.Hour, "AccessDenied")
	served.Hosts = []string{"a.elb.amazonaws.com"}
	o := observed.Observation{Clock: clock, Services: []observed.Service{served}, Managers: []observed.Manager{pod(observed.KubeManager, "m", "--cloud-provider=external")}}
	before := o.Snapshot("")
	o.Before = &before
	found := atClock(idLoadBalancerStale, o, Choice{})
	assert.True(t, len(found) == 1 && found[0].Severity == transform.Warning, found)
}

func TestTheServiceIsInternalMarkedAndHasNoPods(t *testing.T) {
	raw, err := json.Marshal(CanaryService())
	var s corev1.Service
	assert.Mustf(t, err == nil && json.Unmarshal(raw, &s) == nil && IsCanary(raw), "%v %s", err, raw)
	assert.True(t, s.Namespace == CanaryName && s.Name == CanaryName && s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Spec.Selector) == 0 && s.Annotations[aws.LoadBalancerInternal] == "true", raw)
	raw, err = json.Marshal(CanaryNamespace())
	assert.True(t, err == nil && IsCanary(raw), err, raw)
	assert.True(t, !IsCanary([]byte(`{"metadata":{"name":"rke-lm-canary"}}`)) && !IsCanary([]byte(`no`)), "a namespace of another user has the mark")
}

func TestTheAddressIsThatOfTheLoadBalancer(t *testing.T) {
	for _, c := range []struct{ raw, address, fails string }{
		{`{"status":{}}`, "", ""},
		{`{"status":{"loadBalancer":{"ingress":[{}]}}}`, "", ""},
		{`{"status":{"loadBalancer":{"ingress":[{"hostname":"a.elb"}]}}}`, "a.elb", ""},
		{`{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}`, "10.0.0.1", ""},
		{`{"spec":{"loadBalancerClass":"service.k8s.aws/nlb"},"status":{"loadBalancer":{"ingress":[{"hostname":"a.elb"}]}}}`, "", "service.k8s.aws/nlb"},
		{`<html>`, "", "not a Service"},
	} {
		address, err := CanaryAddress([]byte(c.raw))
		assert.Truef(t, address == c.address && (err != nil) == (c.fails != "") && (err == nil || strings.Contains(err.Error(), c.fails)), "%s: %q %v", c.raw, address, err)
	}
}

func warning(uid string, count int32, component, message string) corev1.Event {
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Type: corev1.EventTypeWarning, Count: count, Reason: "SyncLoadBalancerFailed", Message: message,
		Source: corev1.EventSource{Component: component}, InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web"},
	}
}

func TestOnlyWhatIsNewIsAProblem(t *testing.T) {
	node := func(uid, id string) observed.Node {
		return observed.Node{Name: "n-" + uid, UID: uid, ProviderID: id}
	}
	normal, series := warning("f", 9, "service-controller", "ok"), warning("e", 1, "", "again")
	normal.Type = corev1.EventTypeNormal
	series.ReportingController = "service-controller"
	before := NewBaseline(
		[]observed.Node{node("1", "aws:///a/i-1"), node("2", ""), node("3", "aws:///a/i-3")},
		[]corev1.Event{warning("a", 3, "service-controller", "old"), warning("b", 3, "service-controller", "old"), series})
	series.Series = &corev1.EventSeries{Count: 2}
	got := before.Problems(
		[]observed.Node{node("1", "aws:///a/i-1"), node("2", "aws:///a/i-2"), node("3", "aws:///a/i-9"), node("4", "aws:///a/i-4")},
		[]corev1.Event{
			warning("a", 3, "service-controller", "old"), warning("b", 4, "service-controller", "more often, token=hunter2"),
			warning("c", 1, "route_controller", "new"), warning("d", 1, "kubelet", "not a cloud controller"), series, normal,
		})
	want := []string{
		`the provider ID of the node n-3 was aws:///a/i-3 and is "aws:///a/i-9"`,
		"route_controller on Service shop/web: SyncLoadBalancerFailed: new",
		"service-controller on Service shop/web: SyncLoadBalancerFailed: again",
		"service-controller on Service shop/web: SyncLoadBalancerFailed: more often, token=<redacted>",
	}
	assert.EqualSlices(t, got, want)
}
