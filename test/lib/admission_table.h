/*
 * admission_table.h - the cases of test/admission/ (its README.md says what a case is), read and laid over their bases.
 */
#ifndef TEST_LIB_ADMISSION_TABLE_H
#define TEST_LIB_ADMISSION_TABLE_H

#include "common/json.h"
#include "common/yaml.h"

struct admission_case {
	char *id; /* "names.yaml: an underscore in a host name" */
	const char *kind, *operation, *subresource;
	bool allowed;
	bool broken; /* no review that can be answered: HTTP 400 */
	bool everywhere; /* false: it speaks of the request or of other objects, so only a webhook can judge it */
	struct json *object, *old; /* NULL: null */
	const struct json *row;	   /* lent by docs */
};

struct admission_cases {
	struct admission_case *v;
	size_t n;
	struct yaml_doc *docs; /* one for each file */
	size_t n_docs;
};

/* Every file of the folder, in the order of their names. A case that is not as the README says fails the test. */
void admission_read(const char *folder, struct admission_cases *ret);
void admission_done(struct admission_cases *l);

/* The whole AdmissionReview that an API server would send for it; the caller's. */
char *admission_review(const struct admission_case *c) must_use;
/* A text of the case's object or list, as YAML files of the product are read; "" when there is none. The caller's. */
char *admission_text(const struct admission_case *c, const char *member) must_use;
/* said holds the parts of wanted, which stand between " ... ", in their order, and begins with the first. */
bool admission_says(const char *wanted, const char *said);

#endif
