{{- define "parkway.fullname" -}}
{{- if contains "parkway" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-parkway" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "parkway.selector" -}}
app.kubernetes.io/name: parkway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "parkway.labels" -}}
{{ include "parkway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "parkway.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* Variables: a list for (dict "root" $ "credentials" SECRET "env" MAPS). Later maps go over earlier ones. */}}
{{- define "parkway.env" }}
{{- $root := .root }}
{{- $kafka := $root.Values.kafka }}
{{- $env := dict
  "PARKWAY_BOOTSTRAP_SERVERS" (required "kafka.bootstrapServers is required: host:port[,host:port...]" $kafka.bootstrapServers)
  "PARKWAY_NAMESPACE" $root.Values.namespace
  "PARKWAY_LOG_FORMAT" "json"
  "PARKWAY_DRAIN" (toString $root.Values.drain)
  "PARKWAY_SESSION_TIMEOUT" (toString $root.Values.sessionTimeout)
  "PARKWAY_KAFKA_SECURITY_PROTOCOL" $kafka.securityProtocol
}}
{{- if $kafka.saslMechanism }}{{ $_ := set $env "PARKWAY_KAFKA_SASL_MECHANISM" $kafka.saslMechanism }}{{ end }}
{{- if $kafka.caSecret }}{{ $_ := set $env "PARKWAY_KAFKA_SSL_CA_LOCATION" "/etc/parkway/ca/ca.crt" }}{{ end }}
{{- range $name, $value := $kafka.settings }}
{{- $_ := set $env (printf "PARKWAY_KAFKA_%s" ($name | replace "." "_" | upper)) (toString $value) }}
{{- end }}
{{- range $map := .env }}{{ range $name, $value := $map }}{{ $_ := set $env $name (toString $value) }}{{ end }}{{ end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .credentials }}
- name: PARKWAY_KAFKA_SASL_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ . }}, key: username}
- name: PARKWAY_KAFKA_SASL_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ . }}, key: password}
{{- end }}
{{- end }}

{{- define "parkway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "parkway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "parkway.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "parkway.podSecurity" . | nindent 2 }}
{{- end }}

{{- /* A process dies when its threads stand still; it is ready when it takes what it owns; and before that it may wait
       a session timeout for a dead predecessor of its name. */}}
{{- define "parkway.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: {{ add 12 (div (int .Values.sessionTimeout) 5) }}
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{- define "parkway.annotations" -}}
{{- $found := dict }}
{{- if not .root.Values.monitoring.podMonitor }}
{{- $found = dict "prometheus.io/scrape" "true" "prometheus.io/port" "9100" "prometheus.io/path" "/metrics" }}
{{- end }}
{{- if .planFile }}{{ $_ := set $found "checksum/plan" (.root.Values.plan.json | sha256sum) }}{{ end }}
{{- with merge $found (.values.podAnnotations | default dict) }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* A StatefulSet with its headless Service and its PodDisruptionBudget:
       (dict "root" $ "component" NAME "args" LIST "values" VALUES "credentials" SECRET "env" MAPS "replicas" N or nil) */}}
{{- define "parkway.process" -}}
{{- $root := .root }}
{{- $name := printf "%s-%s" (include "parkway.fullname" $root) .component }}
{{- $values := .values }}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "parkway.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  clusterIP: None
  # Names of the pods, for the StatefulSet; nobody talks to them but Prometheus.
  publishNotReadyAddresses: true
  selector: {{- include "parkway.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  ports:
    - {name: http, port: 9100, targetPort: http}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "parkway.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  serviceName: {{ $name }}
  # Pods are told apart by their names, and wait for nothing: a pod that comes back ends its own open transaction.
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate}
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "parkway.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      labels: {{- include "parkway.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with $root.Values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with include "parkway.annotations" . }}
      annotations: {{- . | nindent 8 }}
      {{- end }}
    spec: {{- include "parkway.pod" $root | trim | nindent 6 }}
      # Well above the drain: a SIGKILL in the middle of one counts as a death.
      terminationGracePeriodSeconds: {{ add (int $root.Values.drain) 20 }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "parkway.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .component }}
      containers:
        - name: parkway
          image: {{ include "parkway.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: {{- toYaml .args | nindent 12 }}
          env:
            - name: PARKWAY_INSTANCE
              valueFrom:
                fieldRef: {fieldPath: metadata.name}
            - {name: PARKWAY_HTTP_PORT, value: "9100"}
            {{- include "parkway.env" (dict "root" $root "credentials" .credentials "env" .env) | trim | nindent 12 }}
          {{- with .secrets }}
          envFrom:
            {{- range . }}
            - secretRef: {name: {{ . }}}
            {{- end }}
          {{- end }}
          ports:
            - {name: http, containerPort: 9100}
          {{- include "parkway.probes" $root | nindent 10 }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "parkway.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            # It survives a restart of the container: the lock file there says that the process before died.
            - {name: tmp, mountPath: /tmp}
            {{- if $root.Values.kafka.caSecret }}
            - {name: ca, mountPath: /etc/parkway/ca, readOnly: true}
            {{- end }}
            {{- if .planFile }}
            - {name: plan, mountPath: /etc/parkway/plan, readOnly: true}
            {{- end }}
            {{- if .parked }}
            - {name: parked, mountPath: /parked}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {}
        {{- with $root.Values.kafka.caSecret }}
        - name: ca
          secret: {secretName: {{ . }}}
        {{- end }}
        {{- if .planFile }}
        - name: plan
          configMap: {name: {{ include "parkway.fullname" $root }}-plan}
        {{- end }}
        {{- with .parked }}
        - name: parked
          emptyDir: {sizeLimit: {{ . }}}
        {{- end }}
{{- if $root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "parkway.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  maxUnavailable: {{ $root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "parkway.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- end }}
