"""Each promise of docs/reliability.md, and what docs/serving.md says will happen, has a test."""

import re

import pytest

from tests.server import ROOT
from tests.test_named import is_there

TESTS = {
    "reliability.md": {
        "An acknowledged animal is never lost.": [
            "tests/operating/test_bounded_time.py::test_a_commit_that_waits_for_a_lost_standby",
            "lab/tests/test_trial.py::test_no_acknowledged_animal_is_lost",
        ],
        "An addition with an `Idempotency-Key` is stored once": [
            "tests/properties/test_idempotency.py::test_callers_at_the_same_time_add_one_animal_for_each_key",
            "tests/operating/test_bounded_time.py::test_a_key_adds_one_animal_whatever_broke",
        ],
        "A 503 on POST has `Request-Outcome: not-done` or `unknown`": [
            "tests/serving/test_commits.py::test_a_commit_that_postgresql_rejects_is_not_done",
            "tests/serving/test_commits.py::test_a_commit_that_no_standby_confirmed_may_be_done",
        ],
        "Every request gets a response within 7 s": [
            "tests/operating/test_bounded_time.py::test_a_frozen_database_holds_no_request_longer_than_the_limit",
            "tests/serving/test_live.py::test_a_form_may_take_longer_than_other_requests",
        ],
        "Overload is rejected early": [
            "tests/serving/test_live.py::test_overload_is_rejected_early_and_what_is_accepted_ends_soon",
        ],
        "Every response is in the API description.": ["tests/contract/test_description_holds.py"],
        "A rate limit is exact": [
            "tests/properties/test_limits.py::test_exactly_the_limit_passes_however_many_ask",
            "tests/operating/test_two_instances.py::test_a_limit_is_exact_over_both",
        ],
        "A revoked key is dead after 1 s.": [
            "tests/test_live.py::test_a_revocation_is_effective_on_every_worker_within_a_second",
            "tests/apikeys/test_authentication.py::test_a_replaced_key_in_its_grace_and_the_new_one",
        ],
        "A killed worker is replaced within 3 s.": [
            "tests/test_gunicorn.py::test_a_killed_worker_is_replaced_while_the_other_serves",
        ],
        "A restart or a release fails no request.": [
            "tests/test_gunicorn.py::test_a_restart_loses_no_request",
            "tests/operating/test_two_instances.py::test_restarted_one_after_the_other_no_request_fails",
        ],
        "The service recovers within 2 s": [
            "tests/operating/test_bounded_time.py::test_a_stopped_database_fails_soon_and_then_at_once",
        ],
        "It recovers by itself after a full disk.": ["lab/chaos/database.py::disk_full"],
        "While Redis is lost": [
            "tests/api/test_limits.py::test_a_lost_cache_does_not_close_the_shop",
            "tests/operating/test_lost_redis.py::test_only_one_request_in_five_seconds_waits",
        ],
        "An import that is killed and run again": [
            "tests/files/test_runs.py::test_killed_at_any_moment_all_or_nothing_is_there",
        ],
        "A restored backup has every row": [
            "tests/operating/test_restore_drill.py::test_everything_is_back_while_others_write",
        ],
        "With three machines": ["lab/tests/test_trial.py::test_no_acknowledged_animal_is_lost"],
        "The release before works with the new schema.": [
            "tests/test_release_before.py::test_both_work_with_the_new_schema",
        ],
    },
    "serving.md": {
        "`systemctl restart petstore`": ["tests/test_gunicorn.py::test_a_restart_loses_no_request"],
        "a release that can't be loaded is started": [
            "tests/test_gunicorn.py::test_a_release_that_cannot_be_loaded_loses_no_request",
        ],
        "SIGTERM": ["tests/operating/test_bounded_time.py::test_a_server_that_is_told_to_stop_amid_a_hang"],
        "a worker dies": ["tests/test_gunicorn.py::test_a_killed_worker_is_replaced_while_the_other_serves"],
        "the master dies": ["tests/test_gunicorn.py::test_a_killed_master_loses_no_request"],
        "`collectstatic` never ran": [
            "tests/test_settings.py::test_production_does_not_start_without_its_static_files"
        ],
        "`manage.py purge_expired`": ["tests/idempotency/test_idempotent_create.py::test_purge_expired"],
        "`manage.py clearsessions`": ["tests/staff/test_sessions.py::test_ended_sessions_are_deleted_once_a_day"],
        "`manage.py recount_stock`": ["tests/pets/test_stock.py::test_a_recount_makes_them_few"],
        "`manage.py list_api_keys --expiring-within 14d`": ["tests/apikeys/test_commands.py::test_table"],
    },
}
"""A document → how a promise of it begins → its tests."""

PROMISE = {
    "reliability.md": re.compile(r"^- (.+)$", re.MULTILINE),
    "serving.md": re.compile(r"^\| (?!---|event |command )(.+?) \|", re.MULTILINE),
}


@pytest.mark.parametrize("document", TESTS)
def test_each_promise_has_a_test(document: str) -> None:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8").split("## What we can't promise")[0]
    promises = PROMISE[document].findall(text)
    begins = list(TESTS[document])
    assert [promise[: len(begin)] for promise, begin in zip(promises, begins, strict=True)] == begins


@pytest.mark.parametrize("document", TESTS)
def test_the_tests_exist(document: str) -> None:
    assert [test for tests in TESTS[document].values() for test in tests if not is_there(test)] == []
