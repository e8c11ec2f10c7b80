package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
)

// wanted makes the objects of one app, each with the fields that celld-controller gives it and no others.
type wanted struct {
	app  *FleetApp
	name string
}

func (w wanted) labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/component": "fleet", "app.kubernetes.io/instance": w.app.Name,
		"app.kubernetes.io/managed-by": manager, "app.kubernetes.io/name": "celld", appLabel: w.app.Name,
	}
}

func (w wanted) selector() map[string]string { return map[string]string{appLabel: w.app.Name} }

func (w wanted) owner() *metaac.OwnerReferenceApplyConfiguration {
	return metaac.OwnerReference().WithAPIVersion("celld-operator.io/v1alpha1").WithKind("WorkerApp").WithName(w.app.Name).
		WithUID(w.app.UID).WithController(true)
}

func (w wanted) serviceAccount() *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(w.name, w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithAutomountServiceAccountToken(false)
}

func (w wanted) service() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(w.name, w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithSpec(corev1ac.ServiceSpec().WithType(corev1.ServiceTypeClusterIP).WithSelector(w.selector()).
			WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
			WithPorts(corev1ac.ServicePort().WithName("http").WithPort(8080).WithProtocol(corev1.ProtocolTCP)))
}

func (w wanted) internalService() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(w.name+"-internal", w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithSpec(corev1ac.ServiceSpec().WithClusterIP("None").WithSelector(w.selector()).WithPublishNotReadyAddresses(true).
			WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
			WithPorts(corev1ac.ServicePort().WithName("internal").WithPort(8081).WithProtocol(corev1.ProtocolTCP).
				WithAppProtocol("tcp")))
}

func (w wanted) budget() *policyac.PodDisruptionBudgetApplyConfiguration {
	return policyac.PodDisruptionBudget(w.name, w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithSpec(policyac.PodDisruptionBudgetSpec().WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metaac.LabelSelector().WithMatchLabels(w.selector())))
}

func (w wanted) networkPolicy() *netac.NetworkPolicyApplyConfiguration {
	operator := map[string]string{"app.kubernetes.io/component": "controller", "app.kubernetes.io/name": "celld-operator"}
	namespace := map[string]string{"kubernetes.io/metadata.name": "celld-operator-system"}
	port := func(n int32) *netac.NetworkPolicyPortApplyConfiguration {
		return netac.NetworkPolicyPort().WithPort(intstr.FromInt32(n)).WithProtocol(corev1.ProtocolTCP)
	}
	return netac.NetworkPolicy(w.name, w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithSpec(netac.NetworkPolicySpec().WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithPodSelector(metaac.LabelSelector().WithMatchLabels(w.selector())).
			WithIngress(netac.NetworkPolicyIngressRule().WithPorts(port(8080)),
				netac.NetworkPolicyIngressRule().WithPorts(port(8081)).WithFrom(
					netac.NetworkPolicyPeer().WithPodSelector(metaac.LabelSelector().WithMatchLabels(w.selector())),
					netac.NetworkPolicyPeer().WithNamespaceSelector(metaac.LabelSelector().WithMatchLabels(namespace)).
						WithPodSelector(metaac.LabelSelector().WithMatchLabels(operator)))))
}

func env(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

func fromName(name string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(
		corev1ac.ObjectFieldSelector().WithFieldPath("metadata.name")))
}

func (w wanted) container() *corev1ac.ContainerApplyConfiguration {
	memory := int64(1)
	if w.app.Spec.Resources.MemoryGi != nil {
		memory = int64(*w.app.Spec.Resources.MemoryGi)
	}
	cpu := int64(100)
	if w.app.Spec.Resources.CPUMillis != nil {
		cpu = int64(*w.app.Spec.Resources.CPUMillis)
	}
	limits := corev1.ResourceList{
		corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
		corev1.ResourceMemory:           *resource.NewQuantity(memory<<30, resource.BinarySI),
	}
	requests := limits.DeepCopy()
	requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpu, resource.DecimalSI)
	tcp := func() *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(8080)))
	}
	return corev1ac.Container().WithName("celld").WithImage(w.app.Spec.Celld.Image).
		WithEnv(fromName("POD_NAME"), fromName("CELLD_NODE"), env("CELLD_BUCKET", w.app.Spec.Bucket.Name),
			env("CELLD_ADDR", "0.0.0.0:8080"), env("CELLD_INTERNAL_ADDR", "0.0.0.0:8081"),
			env("CELLD_ADVERTISE", fmt.Sprintf("$(POD_NAME).%s-internal.%s.svc.cluster.local:8081", w.name, w.app.Namespace)),
			env("CELLD_WATCH", "/var/lib/celld"), env("CELLD_MAX_RSS_MB", strconv.FormatInt(memory*1024*8/10, 10)),
			env("CELLD_MAX_RESIDENT_CELLS", "1000"), env("CELLD_DURABILITY", "bucket"), env("CELLD_OTEL", "1"),
			env("CELLD_OTEL_RETENTION", "30d"), env("OTEL_SERVICE_NAME", w.app.Name), env("CELLD_SHUTDOWN_TOTAL_MS", "40000")).
		WithLivenessProbe(tcp().WithFailureThreshold(3).WithPeriodSeconds(10).WithTimeoutSeconds(5)).
		WithStartupProbe(tcp().WithFailureThreshold(300).WithPeriodSeconds(2).WithTimeoutSeconds(3)).
		WithReadinessProbe(corev1ac.Probe().WithFailureThreshold(3).WithPeriodSeconds(5).WithTimeoutSeconds(3).
			WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/.well-known/celld/health").WithPort(intstr.FromInt32(8080)))).
		WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP),
			corev1ac.ContainerPort().WithName("internal").WithContainerPort(8081).WithProtocol(corev1.ProtocolTCP)).
		WithResources(corev1ac.ResourceRequirements().WithLimits(limits).WithRequests(requests)).
		WithSecurityContext(corev1ac.SecurityContext().WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("data").WithMountPath("/var/lib/celld"),
			corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp"))
}

func (w wanted) pod() *corev1ac.PodTemplateSpecApplyConfiguration {
	term := corev1ac.PodAffinityTerm().WithTopologyKey("kubernetes.io/hostname").
		WithLabelSelector(metaac.LabelSelector().WithMatchLabels(w.selector()))
	return corev1ac.PodTemplateSpec().WithLabels(w.labels()).
		WithAnnotations(map[string]string{"celld-operator.io/app-version": w.app.Spec.AppVersion,
			"celld-operator.io/celld-version": w.version()}).
		WithSpec(corev1ac.PodSpec().WithContainers(w.container()).WithServiceAccountName(w.name).
			WithAutomountServiceAccountToken(false).WithEnableServiceLinks(false).WithTerminationGracePeriodSeconds(60).
			WithAffinity(corev1ac.Affinity().WithPodAntiAffinity(corev1ac.PodAntiAffinity().
				WithPreferredDuringSchedulingIgnoredDuringExecution(
					corev1ac.WeightedPodAffinityTerm().WithWeight(100).WithPodAffinityTerm(term)))).
			WithSecurityContext(corev1ac.PodSecurityContext().WithFSGroup(10001).WithRunAsGroup(10001).WithRunAsUser(10001).
				WithRunAsNonRoot(true).
				WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
			WithVolumes(corev1ac.Volume().WithName("data").WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
				corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource())))
}

func (w wanted) version() string {
	v := versionOf(w.app.Spec.Celld.Image)
	if v == nil {
		return ""
	}
	return "v" + v[1] + "." + v[2] + "." + v[3]
}

func (w wanted) statefulSet() *appsac.StatefulSetApplyConfiguration {
	replicas := int32(1)
	if w.app.Spec.Replicas != nil {
		replicas = *w.app.Spec.Replicas
	}
	intent := sha256.Sum256([]byte(w.app.Spec.Celld.Image + "\n" + w.app.Spec.Bucket.Name))
	return appsac.StatefulSet(w.name, w.app.Namespace).WithLabels(w.labels()).WithOwnerReferences(w.owner()).
		WithAnnotations(map[string]string{"celld-operator.io/expected-app-version": w.app.Spec.AppVersion,
			"celld-operator.io/intent": hex.EncodeToString(intent[:]), "celld-operator.io/renderer": "1"}).
		WithSpec(appsac.StatefulSetSpec().WithReplicas(replicas).WithServiceName(w.name + "-internal").
			WithPodManagementPolicy(appsv1.ParallelPodManagement).WithRevisionHistoryLimit(5).
			WithSelector(metaac.LabelSelector().WithMatchLabels(w.selector())).WithTemplate(w.pod()).
			WithPersistentVolumeClaimRetentionPolicy(appsac.StatefulSetPersistentVolumeClaimRetentionPolicy().
				WithWhenDeleted(appsv1.RetainPersistentVolumeClaimRetentionPolicyType).
				WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)).
			WithUpdateStrategy(appsac.StatefulSetUpdateStrategy().WithType(appsv1.RollingUpdateStatefulSetStrategyType).
				WithRollingUpdate(appsac.RollingUpdateStatefulSetStrategy().WithPartition(2147483647))))
}
