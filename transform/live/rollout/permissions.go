// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Access is one verb on one resource.
type Access struct {
	Cluster   string // the ID of a cluster of Rancher; "" for Rancher's own
	Namespace string // "" for all of them, or for a resource that has none
	Group     string // "" for the core
	Resource  string
	Name      string // "" for all
	Verb      string
}

// GatePermission is what Rancher asks of a user before it passes a request for management.cattle.io
// on to its own cluster, in addition to the permission on the object itself: 2.6.10 and later, but
// not 2.7.0 (rancher pkg/api/steve/proxy/proxy.go).
var GatePermission = Access{Group: management, Resource: "clusters", Name: "local", Verb: "get"}

// ClusterPermission is what Rancher asks of a user before it hands a request on to another cluster than its own, given
// that cluster's ID (rancher pkg/k8slookup, 2.7 to 2.14).
func ClusterPermission(id string) Access {
	return Access{Group: management, Resource: "clusters", Name: id, Verb: "get"}
}

// String says a permission as people do: "patch clusters.provisioning.cattle.io in
// fleet-default".
func (r Access) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	if r.Cluster != "" {
		text += " of the cluster " + r.Cluster
	}
	return text
}

// Subject is the cluster that a run is about.
type Subject struct {
	Kind transform.ObjectKind
	Home string   // the namespace of what belongs to it, on Rancher's own cluster
	Name string   // of its object
	ID   string   // in Rancher
	When []string // the conditions of rows that are met
	// Needs are those of the actions of the run.
	Needs []action.Permission
}

// The conditions of rows, in addition to those of actions.
const (
	WithCanaryService = "canary-service" // a Service proves that the cloud controllers work
	WithLocal         = "local"          // the cluster is Rancher's own
)

// Permissions returns the permissions that a verb needs for a cluster, each once.
func Permissions(verb string, of Subject) []Access {
	return of.permissions(verb, func(r action.Permission) (action.Permission, bool) {
		r.Namespace = cmp.Or(r.Least, r.Namespace)
		return r, !r.Optional
	})
}

// WidePermissions returns those of all namespaces that show more than the permissions of one namespace
// that Permissions has in their place.
func WidePermissions(verb string, of Subject) []Access {
	return of.permissions(verb, func(r action.Permission) (action.Permission, bool) { return r, r.Least != "" })
}

// permissions are those of the rows that choose keeps, each once.
func (of Subject) permissions(verb string, choose func(action.Permission) (action.Permission, bool)) []Access {
	own := map[string]string{action.Home: of.Home, action.Own: of.Name, action.ID: of.ID}
	with := func(value string) string {
		if is, marked := own[value]; marked {
			return is
		}
		return value
	}
	var list []Access
	for _, r := range append(ofEveryRun(), of.Needs...) {
		r, chosen := choose(r)
		if !chosen || !r.Needed(verb, of.Kind.Group) || r.When != "" && !slices.Contains(of.When, r.When) {
			continue
		}
		for _, do := range r.Verbs {
			permission := Access{Namespace: with(r.Namespace), Group: r.Group, Resource: r.Resource, Name: with(r.Name), Verb: do}
			if !r.Rancher {
				permission.Cluster = of.ID
			}
			list = append(list, permission)
		}
	}
	return lists.Distinct(list)
}

const (
	kubeSystem = "kube-system"
	rbac       = "rbac.authorization.k8s.io"
	management = action.ManagementGroup

	controllerSpace = "rke-lm" // the default of --namespace
	ownGroup        = "rke-lm.io"
)

var (
	controller = []string{"controller"}                                                // in addition to what its runs need
	one        = []string{"plan", "apply", "verify", "leaders", "migrate", "rollback"} // verbs about named clusters
	writing    = []string{"apply", "migrate", "rollback"}
	whole      = []string{"migrate", "rollback"}
	forward    = []string{"migrate"}
	reading    = []string{"verify", "migrate", "rollback"}
	undoing    = []string{"rollback"}
	leading    = []string{"verify", "leaders", "migrate", "rollback"}
)

// Requirements is the one table of permissions: those of every run, and those of runs with some actions.
func Requirements() []action.Permission {
	return requirements(func(a action.Action) []action.Permission { return a.Needs })
}

// ofEveryRun are the permissions that do not depend on the actions of a plan.
func ofEveryRun() []action.Permission {
	return requirements(func(action.Action) []action.Permission { return nil })
}

// requirements are the permissions, with what needs returns for the actions that need more than every run does.
func requirements(needs func(action.Action) []action.Permission) []action.Permission {
	return slices.Concat([]action.Permission{
		{For: []string{"status"}, Rancher: true, Group: action.ProvisioningGroup, Resource: "clusters", Verbs: []string{"list"}, Why: "the clusters; other verbs need it to find one by its name, its ID or its labels"},
		{For: []string{"status"}, Rancher: true, Group: management, Resource: "clusters", Verbs: []string{"list"}, Why: "the same for RKE1"},
		{For: []string{"status"}, Rancher: true, Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Verbs: []string{GatePermission.Verb}, Why: letThrough},
		{For: []string{"status"}, Rancher: true, Group: ownGroup, Resource: "leadermigrations", Verbs: []string{"list"}, Optional: true, Why: "the LeaderMigrations, if the controller is used; without it they are not shown"},
		{For: one, Of: action.ManagementGroup, Rancher: true, Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Verbs: []string{GatePermission.Verb}, Why: letThrough},
		{For: one, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: action.ProvisioningGroup, Resource: "clusters", Name: action.Own, Verbs: []string{"get"}, Why: "the cluster's object"},
		{For: one, Of: action.ManagementGroup, Rancher: true, Group: management, Resource: "clusters", Name: action.Own, Verbs: []string{"get"}, Why: "the cluster's object"},
		{For: leading, Of: action.ProvisioningGroup, Rancher: true, Group: management, Resource: "clusters", Name: action.ID, Verbs: []string{"get"}, Why: "Rancher requires it for every request to the cluster itself"},
		{For: writing, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: action.ProvisioningGroup, Resource: "clusters", Name: action.Own, Verbs: []string{"patch"}, Why: "the edits of the stages"},
		{For: writing, Of: action.ManagementGroup, Rancher: true, Group: management, Resource: "clusters", Name: action.Own, Verbs: []string{"patch"}, Why: "the edits of the stages"},
		{For: writing, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "rke.cattle.io", Resource: "rkecontrolplanes", Name: action.Own, Verbs: []string{"get"}, Why: "whether a change is applied"},
		{For: writing, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "cluster.x-k8s.io", Resource: "clusters", Name: action.Own, Verbs: []string{"get"}, Why: "whether the cluster is paused"},
		{For: writing, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "cluster.x-k8s.io", Resource: "machines", Verbs: []string{"list"}, Why: "whether a change is applied"},
		{For: []string{"plan"}, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "cluster.x-k8s.io", Resource: "machines", Verbs: []string{"list"}, Optional: true, Why: "the names of Nodes and machines; without it they are not compared"},
		{For: append([]string{"plan"}, writing...), Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "rke-machine-config.cattle.io", Resource: aws.MachineConfigs, Verbs: []string{"get"}, Optional: true, Why: "whether the user data of a pool sets host names; without it that is not known"},
		{For: writing, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Resource: "secrets", Verbs: []string{"get"}, Why: "the plans of machines, whether a change is applied; each by its name; not with `apply --accept cluster-not-settled`"},
		{For: whole, Rancher: true, Namespace: action.Home, Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"get", "create", "update", "delete"}, Why: "the lock that prevents two runs at the same time"},
		{For: whole, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Resource: "events", Verbs: []string{"create"}, Why: "the audit log, on the cluster's object"},
		{For: whole, Of: action.ManagementGroup, Rancher: true, Namespace: "default", Resource: "events", Verbs: []string{"create"}, Why: "the audit log, on the cluster's object, which is in no namespace"},
	}, needs(action.ApplyConfigMap("", "", "")), []action.Permission{
		{For: controller, Rancher: true, Group: action.ProvisioningGroup, Resource: "clusters", Verbs: []string{"list", "watch"}, Why: "the clusters, by their labels"},
		{For: controller, Rancher: true, Group: management, Resource: "clusters", Verbs: []string{"list"}, Why: "the same for RKE1"},
		{For: controller, Rancher: true, Group: management, Resource: GatePermission.Resource, Name: GatePermission.Name, Verbs: []string{GatePermission.Verb}, Why: letThrough},
		{For: controller, Rancher: true, Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrations", Verbs: []string{"list", "watch"}, Why: "what is to be migrated"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrations/status", Verbs: []string{"patch"}, Why: "how far it is"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Group: ownGroup, Resource: "leadermigrationapprovals", Verbs: []string{"list", "watch"}, Why: "what is approved; the controller cannot approve"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Resource: "configmaps", Verbs: []string{"create", "patch", "delete"}, Why: "the next change of a cluster that another program manages"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Resource: "events", Verbs: []string{"create"}, Why: "what happened to a cluster, on the LeaderMigration"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"create"}, Why: "which controller is active"},
		{For: controller, Rancher: true, Namespace: controllerSpace, Group: "coordination.k8s.io", Resource: "leases", Name: "rke-lm-controller", Verbs: []string{"get", "update"}, Why: "which controller is active"},
		{For: controller, Rancher: true, Group: "authentication.k8s.io", Resource: "tokenreviews", Verbs: []string{"create"}, Optional: true, Why: "who reads /metrics; without it no one can"},
		{For: controller, Rancher: true, Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verbs: []string{"create"}, Optional: true, Why: "whether this user has permission to"},
		{For: forward, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "rke-machine.cattle.io", Resource: aws.Machines, Verbs: []string{"patch"}, Optional: true, Why: "the provider ID of a machine whose Node registered again; without it the command is shown"},
		{For: forward, Of: action.ProvisioningGroup, Rancher: true, Namespace: action.Home, Group: "rke.cattle.io", Resource: "custommachines", Verbs: []string{"patch"}, Optional: true, Why: "the same for machines that were registered by their own command"},
		{For: whole, Of: action.ManagementGroup, Rancher: true, Namespace: action.Home, Group: management, Resource: "etcdbackups", Verbs: []string{"create", "get"}, Why: "a snapshot before the first write"},
		{For: reading, Resource: "nodes", Verbs: []string{"list"}, Why: "names and provider IDs"},
		{For: reading, Resource: "services", Verbs: []string{"list"}, Why: "load balancers"},
		{For: reading, Resource: "events", Verbs: []string{"list"}, Optional: true, Why: "why a Service has no load balancer, and whether changes of load balancers fail; only used if there are any, and a run continues without it"},
		{For: reading, Resource: "persistentvolumes", Verbs: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "storage.k8s.io", Resource: "storageclasses", Verbs: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "storage.k8s.io", Resource: "csinodes", Verbs: []string{"list"}, Why: "in-tree volumes"},
		{For: reading, Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verbs: []string{"create"}, Why: "who has permission on the migration lease"},
		{For: leading, Least: kubeSystem, Resource: "pods", Verbs: []string{"list"}, Why: "the managers and their arguments, in all namespaces; with a Role in kube-system the others are not checked"},
		{For: leading, Namespace: kubeSystem, Resource: "configmaps", Verbs: []string{"get"}, Why: "the managers' configurations, and the snapshot"},
		{For: leading, Least: kubeSystem, Group: "apps", Resource: "daemonsets", Verbs: []string{"list"}, Why: "the cloud-controller-manager"},
		{For: leading, Least: kubeSystem, Group: "apps", Resource: "deployments", Verbs: []string{"list"}, Why: "the cloud-controller-manager"},
		{For: leading, Namespace: kubeSystem, Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"list"}, Why: "which manager runs the cloud controllers"},
		{For: whole, Namespace: kubeSystem, Resource: "configmaps", Verbs: []string{"create"}, Why: "the snapshot of nodes and load balancers; `verify` needs it with `--snapshot`"},
	}, needs(action.CordonNodes("", "")), needs(action.InitializeNodes()), needs(action.RegisterNodes()), needs(action.Copy(action.CopySecret{})), []action.Permission{
		{For: forward, When: WithCanaryService, Resource: "namespaces", Verbs: []string{"create"}, Why: "only with `--canary-service`: the namespace `" + check.CanaryName + "`"},
		{For: forward, When: WithCanaryService, Resource: "namespaces", Name: check.CanaryName, Verbs: []string{"get", "patch", "delete"}, Why: "only with `--canary-service`: the namespace `" + check.CanaryName + "`"},
		{For: forward, When: WithCanaryService, Resource: "services", Verbs: []string{"create"}, Why: "only with `--canary-service`: the Service in that namespace, which does not exist before the run"},
		{For: forward, When: WithCanaryService, Resource: "services", Name: check.CanaryName, Verbs: []string{"get", "patch", "delete"}, Why: "only with `--canary-service`: the Service in that namespace"},
		{For: forward, When: WithCanaryService, Resource: "events", Verbs: []string{"list"}, Why: "only with `--canary-service`: errors of the cloud controllers"},
		{For: undoing, Of: action.ProvisioningGroup, Namespace: kubeSystem, Group: "helm.cattle.io", Resource: "helmcharts", Verbs: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: undoing, Namespace: kubeSystem, Group: "apps", Resource: "daemonsets", Verbs: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: undoing, Namespace: kubeSystem, Group: rbac, Resource: "roles", Verbs: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: undoing, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Verbs: []string{"get"}, Why: "whether what was removed from the manifest is deleted in the cluster"},
		{For: undoing, Of: action.ManagementGroup, Namespace: kubeSystem, Group: rbac, Resource: "roles", Verbs: []string{"delete"}, Why: "RKE does not delete what was removed from addons"},
		{For: undoing, Of: action.ManagementGroup, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Verbs: []string{"delete"}, Why: "RKE does not delete what was removed from addons"},

		// For the observation of Rancher's own cluster; without it cluster-not-settled is not checked.
		{For: []string{"verify"}, When: WithLocal, Group: "rke.cattle.io", Resource: "rkecontrolplanes", Verbs: []string{"list"}, Why: "whether clusters have settled"},
		{For: []string{"verify"}, When: WithLocal, Group: "cluster.x-k8s.io", Resource: "machines", Verbs: []string{"list"}, Why: "the names of machine plans"},
		{For: []string{"verify"}, When: WithLocal, Namespace: "fleet-default", Resource: "secrets", Verbs: []string{"get"}, Why: "the plans of machines, each by its name; so in each namespace with clusters"},
	}, needs(action.ApplyFile("", "")), needs(action.Upgrade(action.HelmUpgrade{}, "")))
}

const letThrough = "Rancher requires it for every request to management.cattle.io"
