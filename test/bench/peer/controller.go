package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/signal"
	"sync"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	manager       = "celld-operator"
	statusManager = "celld-operator-status"
	appLabel      = "celld-operator.io/workerapp"
)

// keeper makes of each WorkerApp what celld-controller makes of it.
type keeper struct {
	client.Client
	events  events.EventRecorder
	applied sync.Map // kind and name -> digest of what was applied last
	told    sync.Map // name -> digest of the status that was written last: the cache may not have seen it yet
}

// put applies an object that is not there, or is wanted otherwise than it was applied last. Reports whether it did.
func (k *keeper) put(ctx context.Context, live client.Object, name types.NamespacedName, want runtime.ApplyConfiguration) (bool, error) {
	text, err := json.Marshal(want)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(text)
	key := fmt.Sprintf("%T %s", live, name)
	err = k.Get(ctx, name, live)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	last, seen := k.applied.Load(key)
	if seen && last == digest {
		return false, nil
	}
	if err == nil && !seen && live.GetLabels()[appLabel] != "" { // of a former life
		k.applied.Store(key, digest)
		return false, nil
	}
	if err := k.Apply(ctx, want, client.FieldOwner(manager)); err != nil {
		return false, err
	}
	k.applied.Store(key, digest)
	return true, nil
}

// Reconcile is one turn for one app.
func (k *keeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var app FleetApp
	if err := k.Get(ctx, req.NamespacedName, &app); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	w := wanted{app: &app, name: app.Name + "-celld"}
	internal := types.NamespacedName{Namespace: app.Namespace, Name: w.name + "-internal"}
	child := types.NamespacedName{Namespace: app.Namespace, Name: w.name}
	sts := &appsv1.StatefulSet{}
	for _, o := range []struct {
		live client.Object
		name types.NamespacedName
		want runtime.ApplyConfiguration
	}{
		{&corev1.ServiceAccount{}, child, w.serviceAccount()},
		{&corev1.Service{}, child, w.service()},
		{&corev1.Service{}, internal, w.internalService()},
		{&policyv1.PodDisruptionBudget{}, child, w.budget()},
		{&networkingv1.NetworkPolicy{}, child, w.networkPolicy()},
	} {
		if _, err := k.put(ctx, o.live, o.name, o.want); err != nil {
			return reconcile.Result{}, err
		}
	}
	made, err := k.put(ctx, sts, child, w.statefulSet())
	if err != nil {
		return reconcile.Result{}, err
	}
	if made {
		k.events.Eventf(&app, nil, corev1.EventTypeNormal, "FleetCreated", "Reconcile", "StatefulSet %s: replicas 1", w.name)
	}
	var pods corev1.PodList
	err = k.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingLabels{appLabel: app.Name})
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, k.tell(ctx, &app, w.status(sts, pods.Items))
}

// The status, when it is another one.
func (k *keeper) tell(ctx context.Context, app *FleetApp, status *FleetStatus) error {
	for i := range status.Conditions { // the time moves with the status alone
		for _, c := range app.Status.Conditions {
			if c.Type == status.Conditions[i].Type && c.Status == status.Conditions[i].Status {
				status.Conditions[i].LastTransitionTime = c.LastTransitionTime
			}
		}
	}
	if app.Status.Rollout != nil && status.Rollout != nil && app.Status.Rollout.WaitingOn == status.Rollout.WaitingOn {
		status.Rollout.Since = app.Status.Rollout.Since
	}
	want, err := json.Marshal(status)
	if err != nil {
		return err
	}
	is, err := json.Marshal(&app.Status)
	if err != nil || string(want) == string(is) {
		return err
	}
	plain := *status
	plain.Rollout, plain.Conditions = nil, nil
	text, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	for _, c := range status.Conditions {
		text = fmt.Appendf(text, "%s %s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	digest := sha256.Sum256(text)
	if last, seen := k.told.Load(app.Namespace + "/" + app.Name); seen && last == digest {
		return nil
	}
	if err := k.Status().Apply(ctx, newStatusOf(app, status), client.FieldOwner(statusManager), client.ForceOwnership); err != nil {
		return err
	}
	k.told.Store(app.Namespace+"/"+app.Name, digest)
	return nil
}

// runController is `peer controller`: until it is told to end.
func runController(probe string, workers int) error {
	scheme := runtime.NewScheme()
	group := schema.GroupVersion{Group: "celld-operator.io", Version: "v1alpha1"}
	scheme.AddKnownTypeWithName(group.WithKind("WorkerApp"), &FleetApp{})
	scheme.AddKnownTypeWithName(group.WithKind("WorkerAppList"), &FleetAppList{})
	metav1.AddToGroupVersion(scheme, group)
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit of the client's own
	ours, err := labels.Parse(appLabel)
	if err != nil {
		return err
	}
	byLabel := cache.ByObject{Label: ours}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: probe,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ServiceAccount{}: byLabel, &corev1.Service{}: byLabel, &corev1.Pod{}: byLabel, &appsv1.StatefulSet{}: byLabel,
				&policyv1.PodDisruptionBudget{}: byLabel, &networkingv1.NetworkPolicy{}: byLabel, &networkingv1.Ingress{}: byLabel,
			},
		},
	})
	if err != nil {
		return err
	}
	k := &keeper{Client: m.GetClient(), events: m.GetEventRecorder("celld-controller")}
	byName := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[appLabel]}}}
	})
	err = ctrl.NewControllerManagedBy(m).For(&FleetApp{}).Owns(&corev1.ServiceAccount{}).Owns(&corev1.Service{}).
		Owns(&appsv1.StatefulSet{}).Owns(&policyv1.PodDisruptionBudget{}).Owns(&networkingv1.NetworkPolicy{}).
		Owns(&networkingv1.Ingress{}).Watches(&corev1.Pod{}, byName).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(k)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	synced := func(r *http.Request) error {
		if !m.GetCache().WaitForCacheSync(r.Context()) {
			return errors.New("not in sync")
		}
		return nil
	}
	if err := m.AddReadyzCheck("cache", healthz.Checker(synced)); err != nil {
		return err
	}
	return m.Start(ctx)
}
