// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

var errNoVersion = errors.New("the response is not a version of Kubernetes")

// readReviews checks what the identities of the managers may do with their leases.
func (o *Observer) readReviews(ctx context.Context, out *observed.Observation) error {
	out.Reviews = check.Questions(out.Managers)
	return kube.ForEach(len(out.Reviews), func(i int) (err error) {
		r := &out.Reviews[i]
		r.Allowed, err = o.mayLock(ctx, r.User, r.Verb, r.Lease)
		return err
	})
}

// mayLock asks the authorizer. A create has no name yet.
func (o *Observer) mayLock(ctx context.Context, user, verb, lease string) (bool, error) {
	about := &authorizationv1.ResourceAttributes{Namespace: managersNamespace, Group: "coordination.k8s.io", Resource: "leases", Verb: verb, Name: lease}
	if verb == "create" {
		about.Name = ""
	}
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec:     authorizationv1.SubjectAccessReviewSpec{User: user, Groups: leadermigration.Groups(user), ResourceAttributes: about},
	}
	var said authorizationv1.SubjectAccessReview
	r := kube.Request{What: "create subjectaccessreviews.authorization.k8s.io", Method: http.MethodPost, Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", Body: review}
	err := o.Get(ctx, r, "SubjectAccessReview", &said)
	return said.Status.Allowed, err
}
