/*
 * syntax.h - the forms of names that a WorkerApp holds. Pure (tier 2). All accept any text, NULL excepted, and compare
 * ASCII only, whatever the locale.
 */
#ifndef COMMON_SYNTAX_H
#define COMMON_SYNTAX_H

#include "common/base.h"

/* Characters of valid UTF-8, as maxLength of a schema counts them. */
size_t syntax_length(const char *s);
/* min to max letters, digits, and characters of others. */
bool syntax_word(const char *s, size_t min, size_t max, const char *others);
/* DNS-1035 label: begins with a lower-case letter; a-z, 0-9, '-'; ends with no dash; at most 63. */
bool syntax_dns_label(const char *s);
/* DNS-1123 subdomain, as names of Kubernetes objects are: lower case, at most 253, any length of its parts. */
bool syntax_object_name(const char *s);
/* A DNS name: the same with parts of at most 63. */
bool syntax_dns_name(const char *s);
/* A host name that a route takes: a DNS name, or "*." and one; not an IPv4 address. */
bool syntax_host_name(const char *s);
/* http:// or https://, a host (name, IPv4, [IPv6]), maybe a port, maybe a path; no user, query, fragment. */
bool syntax_url(const char *s);
/*
 * A URL's path as every kind of route takes it: begins with '/'; no empty, "." or ".." segments, which a proxy would
 * resolve; no query, fragment, blanks, "%2F"; at most 1024.
 */
bool syntax_path(const char *s);
/* 8-4-4-4-12 hexadecimal digits. */
bool syntax_uuid(const char *s);
bool syntax_email(const char *s);
/* "arn:aws:iam::123456789012:role/NAME", in any AWS partition. */
bool syntax_role_arn(const char *s);
/* A key of labels and annotations: "name" or "prefix.example.com/name". */
bool syntax_key(const char *s);
/* A label's value: at most 63, may be empty. */
bool syntax_label_value(const char *s);
/* An address range such as "10.0.0.0/8", "2001:db8::/64". */
bool syntax_cidr(const char *s);
/* Two ranges, the second a smaller one inside the first. */
bool syntax_cidr_holds(const char *range, const char *part);

#endif
