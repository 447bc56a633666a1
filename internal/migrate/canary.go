// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/check"
)

// canaryService proves, with a Service of its own, that the cloud controllers of a cluster
// do their work. It is deleted however the run ends, or by the next run.
type canaryService struct {
	*run
	before  *check.Baseline
	made    bool   // there may be something to delete
	address string // of the load balancer
}

func (c *canaryService) namespace() Ref { return c.own("Namespace", "", check.CanaryName) }

func (c *canaryService) service() Ref { return c.own("Service", check.CanaryName, check.CanaryName) }

// begin deletes what a run that was killed has left, and keeps what is compared at the end.
func (c *canaryService) begin(ctx context.Context) error {
	if err := c.sweep(ctx); err != nil {
		c.note(err.Error())
	}
	if !c.CanaryService {
		return nil
	}
	events, err := c.observer.Warnings(ctx)
	if err != nil {
		return err
	}
	c.before = check.NewBaseline(c.seen.Nodes, events)
	return nil
}

// sweep deletes the namespace of an earlier run. A user who has no permission to see it
// has made none.
func (c *canaryService) sweep(ctx context.Context) error {
	raw, err := c.read(ctx, c.namespace())
	if err != nil || !check.IsCanary(raw) {
		return nil
	}
	c.note("an earlier run was killed during its canary check; deleting the namespace " + check.CanaryName)
	c.made = true
	return c.left(c.delete(ctx))
}

// read reads an object; none where it does not exist.
func (c *canaryService) read(ctx context.Context, o Ref) ([]byte, error) {
	a, err := c.request(ctx, o, kube.Request{Method: http.MethodGet, Optional: true})
	return kube.Found(a.Body, err)
}

// prove makes the Service, waits for its address, deletes it, and compares.
func (c *canaryService) prove(ctx context.Context) (err error) {
	if !c.CanaryService {
		return nil
	}
	c.progress.enter("") // all stages are done
	defer func() {
		if c.made {
			err = errors.Join(err, c.left(cleanUp(ctx, func(ctx context.Context) error { return forEach(ctx, c.objects(), c.drop) })))
		}
	}()
	if err := inOrder(ctx, c.create, c.awaitAddress, c.delete, c.compare); err != nil {
		return err
	}
	c.emit(Event{Type: Checked, Message: "the canary Service got the address " + c.address + " and was deleted; no provider ID changed, and the cloud controllers reported no errors"})
	return nil
}

// create makes the namespace and the Service in it.
func (c *canaryService) create(ctx context.Context) error {
	raw, err := c.read(ctx, c.namespace())
	if err != nil {
		return err
	}
	if raw != nil && !check.IsCanary(raw) {
		return check.ErrForeignCanary
	}
	c.made = true
	if err := c.applyObject(ctx, c.namespace(), check.CanaryNamespace()); err != nil {
		return err
	}
	return c.applyObject(ctx, c.service(), check.CanaryService())
}

// awaitAddress waits until the Service has the address of a load balancer.
func (c *canaryService) awaitAddress(ctx context.Context) error {
	return c.await(ctx, func(ctx context.Context) (condition, error) {
		raw, err := c.read(ctx, c.service())
		if err != nil {
			return condition{}, err
		}
		if raw == nil {
			return condition{}, errors.New("the canary Service was deleted by another user; run the command again")
		}
		c.address, err = check.CanaryAddress(raw)
		return condition{done: c.address != "", waiting: "the canary Service has no load balancer yet; to see why: " + action.Command("kubectl -n %s describe service %s", check.CanaryName, check.CanaryName)}, err
	})
}

// delete deletes the Service, and then its namespace, and waits for each until it is deleted:
// the Service stays until its load balancer is.
func (c *canaryService) delete(ctx context.Context) error {
	err := forEach(ctx, c.objects(), func(ctx context.Context, o Ref) error {
		if err := c.drop(ctx, o); err != nil {
			return err
		}
		return c.await(ctx, func(ctx context.Context) (condition, error) {
			raw, err := c.read(ctx, o)
			return condition{done: raw == nil, waiting: "the " + o.String() + " is not deleted yet"}, err
		})
	})
	c.made = c.made && err != nil
	return err
}

// objects are what is deleted, in this order.
func (c *canaryService) objects() []Ref { return []Ref{c.service(), c.namespace()} }

// left reports what it means that they could not be deleted.
func (c *canaryService) left(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the namespace %s of the canary check is not deleted yet; the next run deletes it: %w", check.CanaryName, err)
}

// compare fails where something has happened since the beginning that must not.
func (c *canaryService) compare(ctx context.Context) error {
	seen, err := c.observer.Observe(ctx)
	if err != nil {
		return err
	}
	events, err := c.observer.Warnings(ctx)
	if err != nil {
		return err
	}
	if problems := c.before.Problems(seen.Nodes, events); len(problems) > 0 {
		return transform.NewError(transform.ExitFailed, "the canary check failed: "+strings.Join(problems, "; ")+"; check the log of the cloud-controller-manager")
	}
	return nil
}
