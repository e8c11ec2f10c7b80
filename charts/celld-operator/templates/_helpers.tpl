{{- define "celld-operator.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "celld-operator.webhook" -}}{{ include "celld-operator.fullname" . }}-webhook{{- end -}}
{{- define "celld-operator.controller" -}}{{ include "celld-operator.fullname" . }}-controller{{- end -}}
{{- define "celld-operator.controllerAccount" -}}{{ include "celld-operator.fullname" . }}-controller-manager{{- end -}}
{{- define "celld-operator.webhookAccount" -}}{{ include "celld-operator.webhook" . }}{{- end -}}
{{- define "celld-operator.certSecret" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{- required "certificates.secretName names your Secret when certificates.source is secret" .Values.certificates.secretName -}}
{{- else if eq .Values.certificates.source "certManager" -}}
{{ include "celld-operator.webhook" . }}-tls{{/* another type of Secret than ours, which cannot be changed: another name */}}
{{- else -}}
{{ include "celld-operator.webhook" . }}-cert
{{- end -}}
{{- end -}}

{{/* labels that select a part's pods: list of the root and the part */}}
{{- define "celld-operator.selectorOf" -}}
app.kubernetes.io/name: celld-operator
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* labels of an object: list of the root and the part */}}
{{- define "celld-operator.labels" -}}
{{- $root := index . 0 -}}
{{ include "celld-operator.selectorOf" . }}
app.kubernetes.io/part-of: celld-operator
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "celld-operator.image" -}}
{{- $image := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (index . 0).Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* what both pods have in common: list of the root, the values of the part, and its name */}}
{{- define "celld-operator.podCommon" -}}
{{- $root := index . 0 }}{{- $part := index . 1 -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
terminationGracePeriodSeconds: {{ $part.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
topologySpreadConstraints:
{{- $pods := dict "matchLabels" (include "celld-operator.selectorOf" (list $root (index . 2)) | fromYaml) }}
{{- range $part.topologySpreadConstraints | default (list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway")) }}
- {{ toYaml (merge (dict) . (dict "labelSelector" $pods)) | nindent 2 | trim }}
{{- end }}
{{- with $part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with $part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "celld-operator.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* flags out of values: list of a dict of flag to value; empty values are left out */}}
{{- define "celld-operator.flags" -}}
{{- range $flag, $value := . }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- {{ printf "--%s=%s" $flag (toString $value) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* what the controller is permitted to do with the fleets' objects, in all namespaces or in each that it watches */}}
{{- define "celld-operator.controllerRules" -}}
- apiGroups: [celld-operator.io]
  resources: [workerapps, celldobjectstores]
  verbs: [list, watch]
- apiGroups: [celld-operator.io]
  resources: [workerapps/status, celldobjectstores/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""] # by name alone: no list, no watch
  resources: [secrets]
  verbs: [get]
- apiGroups: [""] # volumes of fleets that keep one: whose data they hold, and that they grow
  resources: [persistentvolumeclaims]
  verbs: [get, list, patch]
- apiGroups: [""] # why pods cannot be made
  resources: [events]
  verbs: [list]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.istio.io]
  resources: [virtualservices]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [security.istio.io]
  resources: [authorizationpolicies]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* what apps may use, as flags of both programs: a dict of flag to text */}}
{{- define "celld-operator.allowed" -}}
{{- $o := .Values.operator -}}
{{- dict
  "allowed-image-prefixes" (join "," $o.allowedImagePrefixes)
  "allowed-iam-roles" (join "," $o.allowedIAMRoles)
  "allowed-azure-client-ids" (join "," $o.allowedAzureClientIDs)
  "allowed-gcp-service-accounts" (join "," $o.allowedGCPServiceAccounts)
  "allowed-bucket-endpoints" (join "," $o.allowedBucketEndpoints) | toJson -}}
{{- end -}}

{{/* Secret of the certificate that the controller's metrics are served with */}}
{{- define "celld-operator.metricsSecret" -}}
{{- if and (eq .Values.certificates.source "certManager") (not .Values.metrics.certSecretName) -}}
{{ include "celld-operator.controller" . }}-metrics-cert
{{- else -}}
{{- required "metrics.certSecretName names the certificate when metrics.secure is true" .Values.metrics.certSecretName -}}
{{- end -}}
{{- end -}}
