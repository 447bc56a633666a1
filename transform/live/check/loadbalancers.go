// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// idLoadBalancerPending is the rule that finds Services without a load balancer.
const idLoadBalancerPending = "load-balancer-pending"

// pendingTime is for how long a Service may be without a load balancer. The service
// controller tries again after 5 s, and after 5 min at most (cloud-provider
// controllers/service, minRetryDelay and maxRetryDelay), no stage leaves the
// controllers without an owner for a minute, and AWS makes a load balancer in seconds.
const pendingTime = 5 * time.Minute

const idLoadBalancerStale = "load-balancer-stale"

// loadBalancerRules are about Services of type LoadBalancer.
var loadBalancerRules = []rule{
	// It measures by the API server's clock alone, which wrote when the
	// Service asked and what time it is. It errs on the side of too short.
	{Rule: transform.Rule{ID: idLoadBalancerPending, Severity: transform.Error, Guards: always,
		Doc: "A Service of type LoadBalancer has had none for 5 minutes, by the API server's clock, and its Events show the cause. A warning before the switch, because the migration has not changed anything for it yet, and if it had none in the snapshot either. Services of another controller are ignored: those with a loadBalancerClass, and those of the AWS Load Balancer Controller."}.Because(
		"The Service is not reachable from outside.", aws.Source, "Do what the finding names in AWS.", "If the migration is not the cause, and the Service had no load balancer before."),
		Check: func(j *evaluation, found *transform.Findings) {
			j.owed(found, idLoadBalancerPending, observed.Service.Pending, func(observed.Service) string { return "the Service has no load balancer" })
		}, Lacks: clocked(observed.Service.Pending)},
	// It finds what is owed for the same time to Services that have a load balancer.
	{Rule: transform.Rule{ID: idLoadBalancerStale, Severity: transform.Error, Guards: always,
		Doc: "The cloud controllers have not done for 5 minutes, by the API server's clock, what a Service with a load balancer asks for. The Service is deleted or has another type, and the finalizer of its load balancer is still there. Or its changes fail, according to its Events. A warning in the cases of load-balancer-pending."}.Because(
		"A load balancer that stays costs money, and its Service and its namespace cannot be deleted. One whose changes fail sends requests to nodes that are gone.", aws.Source, "Do what the finding names in AWS; the cloud controllers try again every 5 minutes.", "If the migration is not the cause, and the same was the case before."),
		Check: func(j *evaluation, found *transform.Findings) {
			j.owed(found, idLoadBalancerStale, observed.Service.Stale, func(s observed.Service) string {
				if s.Deleting {
					return "the load balancer of the Service still exists"
				}
				return "the load balancer of the Service does not have its last changes"
			})
		}, Lacks: eventsRead},
	{Rule: transform.Rule{ID: "load-balancer-changed", Severity: transform.Warning, Guards: always,
		Doc: "A Service has another load balancer than in the snapshot."}.Because(
		"Clients use the host name of the old load balancer.", aws.Source, "Update what refers to the old name, or restore the Service.", "If the Service was made again on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			if j.Before == nil {
				return
			}
			was := lists.By(j.Before.LoadBalancers, servicePath)
			for _, s := range j.Services {
				if before := was[servicePath(s)].Hosts; len(before) > 0 && !slices.Equal(before, s.Hosts) {
					now := cmp.Or(strings.Join(s.Hosts, ", "), "nothing")
					found.On(servicePath(s), fmt.Sprintf("its load balancer was %s and is %s", strings.Join(before, ", "), now), "update DNS records to the new one, and find the old one in AWS")
				}
			}
		}, Lacks: compared(observed.Services)},
}

// owed are the Services for which the cloud controllers have not done what they ask for.
func (j *evaluation) owed(found *transform.Findings, rule string, is func(observed.Service) bool, what func(observed.Service) string) {
	for _, s := range j.Services {
		if !is(s) || !j.overdue(s) {
			continue
		}
		f := found.On(servicePath(s), what(s)+after(s.For(j.Clock))+"; "+j.reason(s), remedy(s))
		switch {
		case j.owedBefore(s):
			f.Severity, f.Fix = transform.Warning, f.Fix+"; the snapshot has the same, so the migration is not the cause"
		case j.inTree():
			f.Severity, f.Fix = transform.Warning, f.Fix+"; the switch does not fix it, and from then on it is an error unless the snapshot also has it"
		default:
			f.Fix += "; if the migration is not the cause, use --accept " + rule
		}
	}
}

// overdue uses the clock, and in a dump of kubectl, which does not show when it was
// made, by what the service controller said.
func (j *evaluation) overdue(s observed.Service) bool {
	return s.For(j.Clock) >= pendingTime || j.Partial && s.Failure != nil
}

// after reports for how long, where that is known.
func after(d time.Duration) string {
	switch {
	case d < pendingTime:
		return ""
	case d < 2*time.Hour:
		return fmt.Sprintf(" %d minutes after the request", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf(" %d hours after the request", d/time.Hour)
	}
	return fmt.Sprintf(" %d days after the request", d/(24*time.Hour))
}

// reason quotes the last Event. Kubernetes keeps Events for an hour.
func (j *evaluation) reason(s observed.Service) string {
	switch {
	case s.Failure != nil:
		return "its last warning is " + s.Failure.Reason + ": " + s.Failure.Message
	case j.EventsDenied:
		return "the cause is not checked, because the permission to list events is missing"
	case !j.Saw(observed.Events):
		return "the dump has no events, which show the cause"
	}
	return "no Event of the last hour shows the cause"
}

// owedBefore reports whether the same was owed to the Service in the snapshot.
func (j *evaluation) owedBefore(s observed.Service) bool {
	return j.Before != nil && slices.ContainsFunc(j.Before.LoadBalancers, func(b observed.Service) bool {
		return servicePath(b) == servicePath(s) && (s.Pending() && len(b.Hosts) == 0 || s.Stale() && !b.Asked.IsZero())
	})
}

// inTree reports whether kube-controller-manager is seen to run the cloud controllers,
// or no cloud-controller-manager is there that could. After the switch it is no excuse.
func (j *evaluation) inTree() bool {
	if j.Check.External {
		return false
	}
	if len(j.of(observed.KubeManager)) > 0 {
		return j.any(observed.KubeManager, hasLoops)
	}
	if owner := j.lease().Owner; owner != "" {
		return owner == observed.KubeManager
	}
	return j.Saw(observed.Pods) && len(j.cloud()) == 0
}

// clocked requires that a dump tells since when something is owed to Services. Without
// an Event only a newer time of the API server does.
func clocked(is func(observed.Service) bool) func(*evaluation) string {
	return func(j *evaluation) string {
		if why := seen(observed.Services)(j); why != "" {
			return why
		}
		short := func(s observed.Service) bool { return is(s) && !j.overdue(s) }
		if !j.Partial || !slices.ContainsFunc(j.Services, short) {
			return ""
		}
		return "the dump does not show for how long Services have waited for their load balancers; add events to it, or check the cluster itself"
	}
}

// eventsRead also requires Events where a Service has a load balancer, for nothing else shows that its changes fail.
func eventsRead(j *evaluation) string {
	served := func(s observed.Service) bool { return len(s.Hosts) > 0 && !s.OtherController && !s.Deleting }
	switch {
	case !slices.ContainsFunc(j.Services, served):
	case j.EventsDenied:
		return "the permission to list events is missing"
	case !j.Saw(observed.Events):
		return seen(observed.Events)(j)
	}
	return clocked(observed.Service.Stale)(j)
}

func servicePath(s observed.Service) string { return s.Namespace + "/services/" + s.Name }

// remedy reports what to do about a Service that is pending.
func remedy(s observed.Service) (fix string) {
	if s.Failure != nil {
		fix = aws.Fix(s.Failure.Message)
	}
	return cmp.Or(fix, "check its Events and the log of the manager that holds the lease: "+action.Command("kubectl -n %s describe service %--%s", s.Namespace, s.Name))
}

// CanaryName is that of the namespace of a canary, a Service that shows whether the cloud controllers work,
// and of the Service in it. Only objects with the mark are deleted.
const CanaryName = "rke-lm-canary"

// canaryMark is a label of both. A namespace without it is another user's.
const canaryMark = "rke-lm.io/canary"

// port is one at which nothing listens: the Service has no pods.
const port = 9

var marks = map[string]string{canaryMark: "true"}

// CanaryNamespace is the namespace of the Service.
func CanaryNamespace() any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": CanaryName, "labels": marks}}
}

// CanaryService is a Service of the type LoadBalancer without pods.
func CanaryService() any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": CanaryName, "name": CanaryName, "labels": marks, "annotations": map[string]string{aws.LoadBalancerInternal: "true"}},
		"spec":     corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "canary", Port: port, Protocol: corev1.ProtocolTCP}}},
	}
}

// IsCanary reports whether an object is one that a run made.
func IsCanary(raw []byte) bool {
	var o metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &o) == nil && o.Labels[canaryMark] == "true"
}

// ErrForeignCanary refuses a namespace of another user.
var ErrForeignCanary = transform.NewError(transform.ExitRefused, "the cluster has a namespace "+CanaryName+" that rke-lm did not create; rename or delete it, or run without --canary-service")

// CanaryAddress returns the address of the load balancer of the Service; "" while it has none.
// It fails where another program than the cloud controllers makes the load balancer.
func CanaryAddress(raw []byte) (string, error) {
	var s corev1.Service
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("the response is not a Service: %w", err)
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		return "", fmt.Errorf("a webhook has set loadBalancerClass %s on the canary Service, so it proves nothing about the cloud controllers; exempt the namespace %s from the webhook, or run without --canary-service", *class, CanaryName)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if address := cmp.Or(i.Hostname, i.IP); address != "" {
			return address, nil
		}
	}
	return "", nil
}

// sources are the names under which cloud controllers write Events, of both managers
// (k8s.io/cloud-provider/controllers).
var sources = []string{"service-controller", "route_controller", "cloud-node-controller", "cloud-node-lifecycle-controller"}

// Baseline is what a cluster had before a run. No clock is needed: what is new is what it does not have.
type Baseline struct {
	providerIDs map[node]string
	events      map[types.UID]int32 // how often each happened
}

// node is one Node: another one can have its name later.
type node struct{ name, uid string }

// NewBaseline keeps what is compared at the end.
func NewBaseline(nodes []observed.Node, events []corev1.Event) *Baseline {
	b := &Baseline{map[node]string{}, map[types.UID]int32{}}
	for _, n := range nodes {
		if n.ProviderID != "" {
			b.providerIDs[node{n.Name, n.UID}] = n.ProviderID
		}
	}
	for _, e := range failures(events) {
		b.events[e.UID] = times(e)
	}
	return b
}

// Problems reports what has happened since that must not.
func (b *Baseline) Problems(nodes []observed.Node, events []corev1.Event) []string {
	var list []string
	for _, n := range nodes {
		if was, known := b.providerIDs[node{n.Name, n.UID}]; known && was != n.ProviderID {
			list = append(list, fmt.Sprintf("the provider ID of the node %s was %s and is %q", n.Name, was, n.ProviderID))
		}
	}
	seen := map[string]bool{}
	for _, e := range failures(events) {
		if was, known := b.events[e.UID]; known && times(e) <= was {
			continue
		}
		o := e.InvolvedObject
		seen[fmt.Sprintf("%s on %s %s: %s: %s", source(e), o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), e.Reason, redact.Text(e.Message))] = true
	}
	return append(list, slices.Sorted(maps.Keys(seen))...)
}

// failures are the Events with errors of cloud controllers.
func failures(events []corev1.Event) []corev1.Event {
	return lists.Where(events, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && slices.Contains(sources, source(e))
	})
}

// source is the controller that wrote an Event.
func source(e corev1.Event) string { return cmp.Or(e.Source.Component, e.ReportingController) }

// times is how often an Event happened.
func times(e corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Count, e.Series.Count)
	}
	return e.Count
}
