"""What people type into the search for words that the pages don't use: the vocabulary of other APIs, by topic."""

SYNONYMS = {
    "Add animals safely": (
        "idempotent idempotency idempotence duplicate deduplicate dedupe twice exactly once at least once double post "
        "replay uuid guid unique race condition concurrent concurrency transaction atomic lost response crash network"
    ),
    "All pages": "iterate iterator loop auto pagination paging",
    "Asynchronous": "async asyncio await concurrency parallel",
    "Authentication": (
        "authenticate login sign log in oauth jwt sso basic auth bearer token access token key credentials password "
        "username session unauthorized unauthorised authorization authorise scopes permissions"
    ),
    "Bulk requests": "batch many at once concurrency concurrent parallel bulk operations mass upload insert",
    "Build on the Pet Store API": (
        "overview about basics stateless concepts best practices production checklist json rest https"
    ),
    "Categories": "category species breed breeds kind type group tag taxonomy",
    "Conditional requests": (
        "cache caching not modified 304 polling interval unchanged fresh stale bandwidth traffic save validator"
    ),
    "Deprecations": (
        "deprecated removed removal end of life eol obsolete legacy old sunset decommission retire retired retirement "
        "discontinue migrate migration"
    ),
    "Environments": (
        "sandbox test mode testing demo sample data mock dummy fake playground try development dev localhost staging "
        "live production base url host server domain region key prefix credentials"
    ),
    "Error codes": "http status codes list of errors dictionary reference table",
    "Errors": (
        "exception handling catch try throw raise problem failure fail debug debugging troubleshoot troubleshooting "
        "diagnose"
    ),
    "Filters": (
        "filter where query parameter criteria narrow by category search by status no results empty result stock in "
        "stock availability reserved multiple"
    ),
    "Follow changes": "changes feed follow",
    "Get an animal": "fetch retrieve read one single pet by id lookup details",
    "Import and export as CSV": "upload download excel spreadsheet xlsx file dump report",
    "Keep a copy in step": (
        "sync synchronize synchronise mirror replicate replica replication changes feed delta diff incremental "
        "nightly daily hourly job cron schedule scheduled background worker etl pipeline warehouse ingest local "
        "database cache invalidation search index elasticsearch cdc change data capture event log tail stream live "
        "real time realtime near poll polling backfill checkpoint resume restart crash recovery history historical "
        "stock"
    ),
    "Keep keys secret": (
        "security secure leak leaked compromised stolen hacked exposed revoke deactivate disable browser cors "
        "frontend front end react vue angular mobile app blocked ip allowlist whitelist https tls ssl encrypt "
        "encryption certificate vault env environment variable config secret scanning github git commit version "
        "control"
    ),
    "List animals": "get all pets index",
    "List changes": "changes feed events stream audit log history",
    "Lists and paging": (
        "pagination paginate auto page number per page pages size next previous last offset skip cursor total count "
        "link header infinite scroll load more has more keyset collection result set batch all records iterate loop"
    ),
    "Names": (
        "unicode utf 8 emoji accents charset encoding length characters character limit maximum whitespace spaces "
        "trim blank special symbols validation rules"
    ),
    "NewPet": "request body payload fields required optional mandatory default values create",
    "Objects": "schema model data types entity structure definition",
    "Other SDKs": (
        "sdk library libraries client java go php ruby rust c# dotnet net kotlin swift scala perl elixir language"
    ),
    "Quick start": (
        "quickstart getting started get start begin tutorial hello world first request introduction example curl "
        "basics setup"
    ),
    "Rate limits": (
        "throttle throttling throttled quota too many requests per minute second hour day burst traffic load test "
        "stress benchmark capacity volume usage allowance cap exceeded reset remaining blocked banned ratelimit"
    ),
    "Replace a key without downtime": (
        "rotate rotation renew renewal expire expires expiry expiration expired validity lifetime monitor new key "
        "change credential policy"
    ),
    "Request IDs and support": (
        "correlation trace tracing contact help debug log logging email phone ticket report bug issue question human "
        "customer service audit investigate diagnose troubleshoot troubleshooting"
    ),
    "Retries and timeouts": (
        "retry backoff exponential jitter timeout resilience network error latency slow fast performance speed "
        "response time wait hang hangs hanging stuck sla reliability availability failover outage circuit breaker "
        "connection refused reset dropped lost offline best practices"
    ),
    "Search, sorting and page size": (
        "sort order by order find by name full text limit random sample latest oldest alphabetical ascending descending"
    ),
    "Tools and clients": (
        "bigint int64 rounding precision postman insomnia bruno openapi swagger code generator generate client "
        "libraries library http file editor vscode"
    ),
    "Update and delete": (
        "put patch remove pet animal edit modify change status sell buy reserve mark rename undo restore archive "
        "destroy correct mistake"
    ),
    "Versioning": (
        "breaking changes compatibility compatible semver stability stable upgrade v1 v2 new version beta migrate "
        "migration"
    ),
    "Webhooks and events": (
        "callback notification notify push subscribe subscription websocket graphql sse kafka queue message event alert"
    ),
    "What changed, and what will": "changelog release notes news history rss atom feed updates roadmap",
    "What we don't offer": (
        "unsupported missing feature price prices photo photos image images order orders user users customer tag tags "
        "payment inventory review comment"
    ),
    "Every operation": (
        "endpoints endpoint methods http methods routes paths urls resources reference operations documentation docs "
        "interactive explorer try it"
    ),
    "api_key_expired": "expired key token",
    "api_key_invalid": "wrong key bad invalid token password unauthorized unauthorised",
    "api_key_missing": "no key token header unauthorized unauthorised",
    "api_key_revoked": "deactivated disabled blocked key token",
    "bad_request": "malformed header host url too long",
    "body_too_large": "payload too large maximum size",
    "cursor_expired": "restored backup disaster recovery reset resync",
    "insufficient_scope": "read only key permission permissions denied access scopes write role",
    "internal_error": "internal server error crash bug",
    "invalid_cursor": "expired damaged token",
    "malformed_json": "invalid json syntax error parse quotes comma escape encoding charset",
    "method_not_allowed": "http methods method put patch delete verb",
    "petstore-client for Python": "pip install pypi python typed types mypy sdk library libraries wheel httpx",
    "petstore-client for TypeScript": (
        "npm install node nodejs javascript js ts typed types sdk library libraries browser fetch"
    ),
    "pet_not_found": "missing deleted gone",
    "route_not_found": "unknown path trailing slash wrong url broken dead link page endpoint",
    "unsupported_media_type": "gzip compression content encoding type media types charset form json multipart",
    "unavailable": (
        "down downtime uptime offline maintenance window outage failover overload overloaded health check status page "
        "restart incident bad gateway"
    ),
    "validation_failed": "null missing field required invalid wrong type bad input constraint",
    "animal": "pet",
    "status": "enum values allowed",
    "animals": "pets",
    "add": "create post insert new",
}
"""A title, or words of one → what to find it by."""
