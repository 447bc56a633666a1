// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

type answer struct {
	status      int
	contentType string
	body        []byte
}

type marshaler interface {
	runtime.Object
	Marshal() ([]byte, error)
}

// answer answers a request that nothing goes wrong with.
func (s *Server) answer(r *http.Request) answer {
	q := r.URL.Query()
	switch strings.TrimPrefix(r.URL.Path, "/apis") {
	case "/api/v1/nodes":
		return page("NodeList", s.nodes(q), q, func(l []corev1.Node, m metav1.ListMeta) marshaler { return &corev1.NodeList{ListMeta: m, Items: l} })
	case "/coordination.k8s.io/v1/namespaces/kube-system/leases":
		return page("LeaseList", s.renewed(), q, func(l []coordinationv1.Lease, m metav1.ListMeta) marshaler {
			return &coordinationv1.LeaseList{ListMeta: m, Items: l}
		})
	case "/api/v1/services":
		return page("ServiceList", s.Services, q, func(l []corev1.Service, m metav1.ListMeta) marshaler {
			return &corev1.ServiceList{ListMeta: m, Items: l}
		})
	case "/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets":
		return page("SecretList", matching(s.Secrets, q, func(o corev1.Secret) map[string]string { return o.Labels }), q, func(l []corev1.Secret, m metav1.ListMeta) marshaler { return &corev1.SecretList{ListMeta: m, Items: l} })
	}
	if a, is := s.workloads(r, q); is {
		return a
	}
	return s.storage(r, q)
}

// workloads answers lists of what lies in namespaces: in all of them, or in one.
func (s *Server) workloads(r *http.Request, q url.Values) (answer, bool) {
	path, all := strings.TrimPrefix(r.URL.Path, "/apis"), true
	root, in, _ := strings.Cut(path, "namespaces/")
	namespace, name, named := strings.Cut(in, "/")
	if named {
		path, all = root+name, false
	}
	here := func(m metav1.ObjectMeta) bool { return all || m.Namespace == namespace }
	switch path {
	case "/apps/v1/daemonsets":
		sets := slices.DeleteFunc(slices.Clone(s.DaemonSets), func(d appsv1.DaemonSet) bool { return !here(d.ObjectMeta) })
		return page("DaemonSetList", sets, q, func(l []appsv1.DaemonSet, m metav1.ListMeta) marshaler {
			return &appsv1.DaemonSetList{ListMeta: m, Items: l}
		}), true
	case "/apps/v1/deployments":
		deployments := slices.DeleteFunc(slices.Clone(s.Deployments), func(d appsv1.Deployment) bool { return !here(d.ObjectMeta) })
		return page("DeploymentList", deployments, q, func(l []appsv1.Deployment, m metav1.ListMeta) marshaler {
			return &appsv1.DeploymentList{ListMeta: m, Items: l}
		}), true
	case "/api/v1/pods":
		pods := slices.DeleteFunc(s.selected(q), func(p corev1.Pod) bool { return !here(p.ObjectMeta) })
		return page("PodList", pods, q, func(l []corev1.Pod, m metav1.ListMeta) marshaler { return &corev1.PodList{ListMeta: m, Items: l} }), true
	case "/api/v1/events":
		events := slices.DeleteFunc(s.warned(q), func(e corev1.Event) bool { return !here(e.ObjectMeta) })
		return page("EventList", events, q, func(l []corev1.Event, m metav1.ListMeta) marshaler { return &corev1.EventList{ListMeta: m, Items: l} }), true
	}
	return answer{}, false
}

// warned returns the Events that the field selector of a request matches
// (k8s.io/kubernetes/pkg/registry/core/event).
func (s *Server) warned(q url.Values) []corev1.Event {
	selector, err := fields.ParseSelector(q.Get("fieldSelector"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Events), func(e corev1.Event) bool {
		about := e.InvolvedObject
		return !selector.Matches(fields.Set{"involvedObject.kind": about.Kind, "involvedObject.namespace": about.Namespace, "involvedObject.name": about.Name, "type": e.Type})
	})
}

func (s *Server) storage(r *http.Request, q url.Values) answer {
	switch strings.TrimPrefix(r.URL.Path, "/apis") {
	case "/api/v1/persistentvolumes":
		return page("PersistentVolumeList", s.Volumes, q, func(l []corev1.PersistentVolume, m metav1.ListMeta) marshaler {
			return &corev1.PersistentVolumeList{ListMeta: m, Items: l}
		})
	case "/storage.k8s.io/v1/storageclasses":
		return page("StorageClassList", s.Classes, q, func(l []storagev1.StorageClass, m metav1.ListMeta) marshaler {
			return &storagev1.StorageClassList{ListMeta: m, Items: l}
		})
	case "/storage.k8s.io/v1/csinodes":
		return page("CSINodeList", s.CSINodes, q, func(l []storagev1.CSINode, m metav1.ListMeta) marshaler {
			return &storagev1.CSINodeList{ListMeta: m, Items: l}
		})
	}
	return s.objects(r)
}

// renewed lets those who are alive renew their leases.
func (s *Server) renewed() []coordinationv1.Lease {
	now := metav1.NewMicroTime(time.Now())
	for i := range s.Leases {
		if s.Renews[s.Leases[i].Name] {
			s.Leases[i].Spec.RenewTime = &now
			s.Leases[i].ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "lab", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now.Time}}}
		}
	}
	return s.Leases
}

func (s *Server) selected(q url.Values) []corev1.Pod {
	where, err := fields.ParseSelector(q.Get("fieldSelector"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(matching(s.Pods, q, func(p corev1.Pod) map[string]string { return p.Labels }), func(p corev1.Pod) bool {
		return !where.Matches(fields.Set{"spec.nodeName": p.Spec.NodeName})
	})
}

func (s *Server) nodes(q url.Values) []corev1.Node {
	return matching(s.Nodes, q, func(n corev1.Node) map[string]string { return n.Labels })
}

// matching returns the objects that the label selector of a request matches.
func matching[T any](all []T, q url.Values, of func(T) map[string]string) []T {
	selector, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return !selector.Matches(labels.Set(of(o))) })
}

// page answers with as much of a list as the request wants.
func page[T any](kind string, all []T, q url.Values, list func([]T, metav1.ListMeta) marshaler) answer {
	from, _ := strconv.Atoi(q.Get("continue"))
	to := len(all)
	meta := metav1.ListMeta{ResourceVersion: "1"}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 && from+limit < to && q.Get("resourceVersion") != "0" {
		to = from + limit
		meta.Continue = fmt.Sprint(to)
	}
	return asProtobuf(kind, list(all[from:to], meta))
}

func asProtobuf(kind string, m marshaler) answer {
	raw, err := m.Marshal()
	if err != nil {
		return refusal(http.StatusInternalServerError, err.Error())
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(m)
	if err != nil {
		return refusal(http.StatusInternalServerError, err.Error())
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kinds[0].GroupVersion().String(), Kind: kind}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		return refusal(http.StatusInternalServerError, err.Error())
	}
	return answer{http.StatusOK, "application/vnd.kubernetes.protobuf", append([]byte("k8s\x00"), body...)}
}

func asJSON(code int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{http.StatusInternalServerError, "text/plain", []byte(err.Error())}
	}
	return answer{code, "application/json", body}
}

// ofRancher answers with machines, and with Secrets by their names.
func (s *Server) ofRancher(r *http.Request) answer {
	if strings.HasSuffix(r.URL.Path, "/cluster.x-k8s.io/v1beta1/machines") && s.Machines != "" {
		return answer{http.StatusOK, "application/json", []byte(s.Machines)}
	}
	for i := range s.Secrets {
		if o := &s.Secrets[i]; r.URL.Path == "/api/v1/namespaces/"+o.Namespace+"/secrets/"+o.Name {
			return asProtobuf("Secret", o)
		}
	}
	return refusal(http.StatusNotFound, "there is no such object")
}
