/*
 * wire.h - how requests and answers of the API server look: URLs and errors. Shared by client and
 * watch.
 */
#ifndef COMMON_KUBE_WIRE_H
#define COMMON_KUBE_WIRE_H

#include "common/base.h"
#include "common/err.h"

struct buf;
struct http_response;
struct json;
struct kube_kind;

/* "/apis/apps/v1/namespaces/shop/statefulsets/kv/status"; ns, name, subresource may be NULL or ""
 * (left out). Every segment is percent-encoded. */
void wire_path(const struct kube_kind *k, const char *ns, const char *name, const char *subresource,
	       struct buf *to);
/* Appends "?name=value" or "&name=value", the value percent-encoded; NULL or "": nothing happens. */
void wire_query(struct buf *url, const char *name, const char *value);
/* apiVersion of the kind: "v1", "apps/v1"; the caller's. */
char *wire_api_version(const struct kube_kind *k) must_use;

/* What an answer that is not 2xx means: fills e as client.h lists the codes and returns the negated
 * code. The body may be anything. */
int wire_error(const struct http_response *r, struct err *e);
/* The same of a Status object that came inside an answer of status 200 (watch ERROR events). */
int wire_status_error(const struct json *status, struct err *e);

#endif
