"""The categories and statuses of a supplier's file become ours: by the page, by the command, and by a profile."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from categories.models import Category
from files import values
from pets.models import ColumnProfile, ImportRun, Pet
from tests.factories import CategoryFactory, PetFactory
from tests.files.conftest import Import, catalogue, counts, workbook
from tests.files.conftest import run_import as run_import  # noqa: PLC0414 - a fixture
from tests.files.test_admin_columns import answer, asked, given
from tests.files.test_admin_imports import confirm, send
from tests.pets.office import member

pytestmark = pytest.mark.django_db(transaction=True)

TITLES = ["Artikelnr.", "Bezeichnung", "Tierart", "Verfügbarkeit"]
ROWS = [
    ["Z-1", "Bärbel", "Hunde", "lieferbar"],
    ["Z-2", "Süße", "Hunde", "reserviert"],
    ["Z-3", "Krümel", "Nager", "verkauft"],
    ["Z-4", "Käthe", "Dogs", "Sold"],
]
FILE = "".join(f"{';'.join(row)}\n" for row in [TITLES, *ROWS])
COMMAND = [
    f"--map={title}={ours}"
    for title, ours in zip(TITLES, ("external_reference", "name", "category", "status"), strict=True)
]
STATUSES = {"lieferbar": "available", "reserviert": "pending", "verkauft": "sold"}


@pytest.fixture(autouse=True)
def dogs() -> Category:
    return CategoryFactory(name="Dogs")


def options(found: dict[str, dict[str, str]]) -> list[str]:
    return [f"--map-value={column}:{value}={ours}" for column, pairs in found.items() for value, ours in pairs.items()]


def fields(page: Any) -> dict[str, Any]:
    """Return the value and its field on the page by what the file says."""
    form = page.context["form"]
    columns = [*form.values(), *(form.former_values() if form.match.known else ())]
    return {value.text: field for _, _, pairs in columns for value, field in pairs}


def guesses(page: Any) -> dict[str, str]:
    return {text: field.value() for text, field in fields(page).items()}


def chosen(page: Any, **choices: str) -> dict[str, str]:
    by_text = fields(page)
    return {by_text[text].html_name: choice for text, choice in choices.items()}


CHOICES: dict[str, tuple[str, list[Any]]] = {
    "=Dogs": ("Dogs", [("Krümel", "Dogs", "sold", "Z-3")]),
    "+": ("Nager", [("Krümel", "Nager", "sold", "Z-3")]),
    "-": ("", []),
}
"""What Nager becomes on the page, what it is for the command, and its animal."""


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("by_page", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_values_become_ours(staff: Client, run_import: Import, name: str, choice: str, *, by_page: bool) -> None:
    becomes, animals = CHOICES[choice]
    content = FILE.encode() if name == "a.csv" else workbook(TITLES, *ROWS)
    pairs = {"category": {"Hunde": "Dogs", "Nager": becomes}, "status": STATUSES}
    if by_page:
        page = asked(staff, content, name)
        shown = answer(staff, page, **chosen(page, Hunde="=Dogs", Nager=choice))
        assert ("1 left out as you chose" in shown.content.decode()) is not bool(animals)
        confirm(staff, shown)
    else:
        result = run_import(content, *COMMAND, *options(pairs), name=name)
        assert (result.status, result.error) == (0, "")
        assert ("0 rejected, 1 left out" in result.out) is not bool(animals)
    known = [("Bärbel", "Dogs", "available", "Z-1"), ("Süße", "Dogs", "pending", "Z-2")]
    assert catalogue() == [*known, *animals, ("Käthe", "Dogs", "sold", "Z-4")]
    run = ImportRun.objects.get(state="done")
    assert (counts(run), run.left_out) == (("done", 4, 3 + len(animals), 0, 0, 0), 1 - len(animals))
    assert run.options["reading"]["values"] == pairs


def test_each_foreign_value_is_a_line_with_its_rows_and_animals(staff: Client) -> None:
    page = asked(staff, FILE)
    lines = [
        (column.header, title, column.ours, [(each.text, each.rows, each.animals) for each, _ in pairs])
        for column, title, pairs in page.context["form"].values()
    ]
    assert lines == [
        ("category", "Tierart", 1, [("Hunde", 2, ["Bärbel", "Süße"]), ("Nager", 1, ["Krümel"])]),
        (
            "status",
            "Verfügbarkeit",
            1,
            [("lieferbar", 1, ["Bärbel"]), ("reserviert", 1, ["Süße"]), ("verkauft", 1, ["Krümel"])],
        ),
    ]
    said = page.content.decode()
    assert "5 values aren\N{RIGHT SINGLE QUOTATION MARK}t ours. 2 are still open, the others are guesses." in said
    assert said.count('<tr class="is-open">') == 2


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("dogs", "=Dogs"),
        ("DOG", "=Dogs"),
        ("Dógs", "=Dogs"),
        ("Dgos", "=Dogs"),
        ("puppies", "=Puppy"),
        ("Hund", "=Dogs"),
        ("hunde", "=Dogs"),
        ("Vögel", ""),
        ("Welpen", ""),  # became a category that is gone
        ("Nager", ""),  # became a category of its own, which is gone
        ("Zubehör", "-"),
    ],
)
def test_a_category_is_guessed(staff: Client, text: str, guess: str) -> None:
    CategoryFactory(name="Puppy")
    kept = {"Hunde": "Dogs", "Welpen": "Whelps", "Nager": "Rodents", "Zubehör": ""}
    ColumnProfile.objects.create(
        name="Farm", header=["x"], columns=["name"], saved_by="root", values={"category": kept}
    )
    page = asked(staff, f"name,category\nRex,{text}\n")
    assert guesses(page) == {text: guess}
    by_farm = text.lower().startswith(("hund", "zub"))
    assert ('<small class="why">As for Farm</small>' in page.content.decode()) is by_farm


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            "available",
            "in stock, Lieferbar, disponible, en venta, disponibile, disponível, op voorraad, dostępny, skladem, в наличии",
        ),
        (
            "pending",
            "on hold, Reserviert, réservé, reservado, prenotato, pendente, gereserveerd, zarezerwowany, rezervováno, резерв",
        ),
        ("sold", "gone, VERKAUFT, vendu, vendido, venduto, esgotado, verkocht, sprzedany, prodáno, продан"),
    ],
)
def test_statuses_are_known_in_ten_languages(staff: Client, status: str, words: str) -> None:
    found = words.split(", ")
    page = asked(staff, "name,category,status\n" + "".join(f"Rex,Dogs,{word}\n" for word in found))
    assert guesses(page) == dict.fromkeys(found, f"={status}")


def test_a_guess_is_never_applied_unseen(run_import: Import, staff: Client) -> None:
    asked(staff, "name,category\nRex,dogs\n")
    assert catalogue() == []
    assert run_import("name,category\nRex,dogs\nTom,dogs\n").error.splitlines() == [
        'line 2: category "dogs" does not exist. Did you mean "Dogs"?',
        'line 3: category "dogs" does not exist. Did you mean "Dogs"?',
        "If a value is one of ours by another name, use --map-value category:dogs=OURS.",
        f"2 of 2 rows have errors. Nothing changed. ({ImportRun.objects.get()})",
    ]


def test_a_value_without_a_choice_is_asked_again(staff: Client) -> None:
    page = answer(staff, asked(staff, FILE))
    assert (page.status_code, page.content.decode().count("Choose what it becomes.")) == (400, 2)
    assert not ColumnProfile.objects.exists()


def test_the_values_of_another_column_are_asked_before_the_check(staff: Client) -> None:
    page = asked(staff, "name;category;Farbe\nRex;Katzen;Dogs\n")
    moved = answer(staff, page, **{"column-1": "", "column-2": "category", "remember": ""})
    preview = moved.context.get("found")
    assert preview is not None  # `Dogs` is ours
    page = asked(staff, "name;Farbe;category\nRex;Katzen;Dogs\n", "b.csv")
    moved = answer(staff, page, **{"column-1": "category", "column-2": ""})
    assert (moved.status_code, "Check this too." in moved.content.decode()) == (200, True)
    confirm(staff, answer(staff, moved, **chosen(moved, Katzen="+")))
    assert catalogue() == [("Rex", "Katzen", "available", None)]


def test_a_supplier_keeps_its_values_and_only_new_ones_are_asked(staff: Client, run_import: Import) -> None:
    page = asked(staff, FILE)
    confirm(staff, answer(staff, page, **chosen(page, Hunde="=Dogs", Nager="-"), called="Müller"))
    profile = ColumnProfile.objects.get()
    assert profile.values == {"category": {"Hunde": "Dogs", "Nager": ""}, "status": STATUSES}
    assert send(staff, FILE.replace("Z-", "Y-")).context["to_import"] == 3
    later = FILE.replace("Z-", "X-").replace("Käthe;Dogs", "Käthe;Fische")
    page = asked(staff, later)
    assert guesses(page) == {"Fische": "", "Hunde": "=Dogs", "Nager": "-"} | {
        text: f"={ours}" for text, ours in STATUSES.items()
    }
    assert given(page)["called"] == "Müller"
    confirm(staff, answer(staff, page, **chosen(page, Fische="+"), remember="on"))
    assert ColumnProfile.objects.get().values["category"] == {"Hunde": "Dogs", "Nager": "", "Fische": "Fische"}
    assert run_import(later.replace("X-", "W-"), "--profile", "Müller").status == 0
    assert run_import(later.replace("X-", "V-"), "--profile", "Müller", "--map-value=category:Nager=Dogs").status == 0
    assert [name for name, category, *_ in catalogue() if category == "Fische"] == ["Käthe"] * 3
    assert catalogue()[-2] == ("Krümel", "Dogs", "sold", "V-3")


def test_values_of_a_file_with_our_columns_are_not_remembered_unless_asked(staff: Client) -> None:
    page = asked(staff, "name,category\nRex,Katzen\n")
    assert "remember" not in given(page)
    answer(staff, page, **chosen(page, Katzen="-"))
    assert not ColumnProfile.objects.exists()


def test_a_value_is_asked_again_if_what_it_became_is_gone_and_else_hinders_nothing(
    staff: Client, run_import: Import, dogs: Category
) -> None:
    page = asked(staff, FILE)
    shown = answer(staff, page, **chosen(page, Hunde="=Dogs", Nager="+"), called="Müller")
    dogs.delete()
    assert "Match the columns</a>" in confirm(staff, shown).content.decode()
    assert guesses(staff.get(page.request["PATH_INFO"])) == guesses(asked(staff, FILE)) | {"Hunde": "", "Dogs": ""}
    others = f"{';'.join(TITLES)}\nY-1;Rex;Nager;verkauft\n"
    assert send(staff, others).context["to_import"] == 1
    assert run_import(others, "--profile", "Müller").status == 0
    Category.objects.update(name="Hunde")
    others = others.replace("Nager", "Hunde").replace("Y-", "X-")
    importer = member("importer", "add_importrun", "view_pet")  # who cannot add Nager
    assert send(importer, others).context["to_import"] == 1
    page = asked(staff, others.replace("Hunde", "Ratten"))
    Category.objects.create(name="Nager")
    assert answer(staff, page, **chosen(page, Ratten="=Hunde")).context["to_import"] == 1


def test_a_value_stays_what_was_chosen_when_a_category_gets_its_name(staff: Client, run_import: Import) -> None:
    page = asked(staff, FILE)
    confirm(staff, answer(staff, page, **chosen(page, Hunde="=Dogs", Nager="-"), called="Müller"))
    imported = catalogue()
    for name in ("Hunde", "Nager"):
        CategoryFactory(name=name)
    assert run_import(FILE, "--profile", "Müller").status == 0
    assert catalogue() == imported
    page = asked(staff, f"{';'.join(TITLES)}\nY-1;Rex;Hunde;verkauft\nY-2;Max;Welpen;verkauft\n")
    assert answer(staff, page, **chosen(page, Welpen="=Hunde")).context["to_import"] == 2


def test_a_value_follows_its_category_to_a_new_name(staff: Client, run_import: Import) -> None:
    page = asked(staff, FILE)
    confirm(staff, answer(staff, page, **chosen(page, Hunde="=Dogs", Nager="-"), called="Müller"))
    category = Pet.objects.earliest("pk").category
    for category.name in ("Welpen", "Hounds"):
        category.save()
    others = f"{';'.join(TITLES)}\nY-1;Rex;Hunde;verkauft\n"
    assert send(staff, others).context["to_import"] == 1
    assert run_import(others, "--profile", "Müller", "--create-categories").status == 0
    assert catalogue()[-1] == ("Rex", "Hounds", "sold", "Y-1")
    assert guesses(asked(staff, others.replace("Hunde", "Hund")))["Hund"] == "=Hounds"


def test_a_value_follows_no_category_that_only_had_its_name_before(staff: Client, dogs: Category) -> None:
    for dogs.name in ("Hunde", "Puppies"):
        dogs.save()
    CategoryFactory(name="Dogs")
    page = asked(staff, FILE)
    shown = answer(staff, page, **chosen(page, Hunde="+", Nager="=Dogs"), called="Müller")
    assert guesses(staff.get(page.request["PATH_INFO"]))["Hunde"] == "+"
    confirm(staff, shown)
    assert [category for _, category, _, _ in catalogue()] == ["Hunde", "Hunde", "Dogs", "Dogs"]
    Pet.objects.all().delete()
    Category.objects.get(name="Dogs").delete()
    assert guesses(asked(staff, FILE))["Nager"] == ""


def test_only_those_who_add_categories_can_choose_a_new_one(staff: Client) -> None:
    importer = member("importer", "add_importrun", "view_pet")
    page = asked(importer, FILE)
    assert "New category" not in page.content.decode()
    assert answer(importer, page, **chosen(page, Hunde="=Dogs", Nager="+")).status_code == 400
    page = asked(staff, FILE)
    shown = answer(staff, page, **chosen(page, Hunde="=Dogs", Nager="+"))
    assert "New category “Nager”" in page.content.decode()
    User.objects.filter(username="keeper").update(is_superuser=False)
    User.objects.get(username="keeper").user_permissions.set(Permission.objects.exclude(codename="add_category"))
    assert confirm(staff, shown).status_code == 403
    assert guesses(asked(importer, FILE))["Nager"] == ""  # though the profile has it
    assert not Category.objects.filter(name="Nager").exists()


def test_categories_that_are_all_added_are_not_asked_about(staff: Client) -> None:
    confirm(staff, send(staff, "name,category\nRex,Fish\n", create_categories="on"))
    page = send(staff, "Tier;Art\nTom;Birds\n", create_categories="on")
    assert guesses(page) == {"Birds": "+"}
    confirm(staff, answer(staff, page))
    assert [category for _, category, *_ in catalogue()] == ["Fish", "Birds"]


def test_the_first_of_many_values_are_asked_about(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"Rex {number},Kind {number}\n" for number in range(60)) + "Tom,Kind 59\n"
    page = asked(staff, f"name,category\n{rows}")
    texts = list(guesses(page))
    assert (texts[0], len(texts)) == ("Kind 59", 50)
    assert (
        "<strong>10 more values aren\N{RIGHT SINGLE QUOTATION MARK}t ours.</strong> Is this column really the category?"
        in page.content.decode()
    )
    monkeypatch.setattr(values, "MOST_OPTIONS", 20)
    CategoryFactory(name="Cats")
    assert len(guesses(asked(staff, f"name,category\n{rows}", "b.csv"))) == 10


def test_values_without_a_choice_are_asked_about_first(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ColumnProfile.objects.create(
        name="Farm",
        header=["tier", "art"],
        columns=["name", "category"],
        saved_by="root",
        values={"category": {"Hunde": "Dogs"}},
    )
    monkeypatch.setattr(values, "MOST_VALUES", 1)
    assert guesses(asked(staff, "Tier;Art\nRex;Hunde\nTom;Hunde\nMia;Nager\n")) == {"Nager": ""}


def test_only_the_beginning_of_a_file_is_looked_at(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_READ", 2)
    shown = send(staff, "name,category\nRex,Dogs\nTom,Dogs\nMia,Cats\n")
    assert (shown.context["run"].rejected, shown.context["to_import"]) == (1, 2)


@pytest.mark.parametrize(
    ("given_options", "status", "sentence"),
    [
        (["category:Hunde=Cats"], 3, 'The category "Hunde" cannot become "Cats": there is no such category.'),
        (["status:lieferbar=there"], 3, 'The status "lieferbar" cannot become "there": there is no such status.'),
        (
            ["category:Hunde=Dogs", "category:Dogs=Hunde"],
            3,
            'The category "Dogs" cannot become something else: "Hunde" becomes it.',
        ),
        (["name:Rex=Tom"], 1, "must be COLUMN:VALUE=OURS. Columns: category, status, external_reference."),
        (["category:Hunde"], 1, "must be COLUMN:VALUE=OURS. Columns: category, status, external_reference."),
        (["category:=Dogs"], 1, "must be COLUMN:VALUE=OURS. Columns: category, status, external_reference."),
    ],
)
def test_what_cannot_be_mapped_is_said(
    run_import: Import, given_options: list[str], status: int, sentence: str
) -> None:
    result = run_import("name,category\nRex,Hunde\n", *(f"--map-value={each}" for each in given_options))
    assert (result.status, sentence in result.error) == (status, True), result.error
    assert catalogue() == []


@pytest.mark.parametrize(
    ("pairs", "content", "status"),
    [
        ({"category": {"a=b": "Dogs"}}, "name,category\nRex,a=b\n", "available"),
        ({"category": {"a:b": "Dogs"}}, "name,category\nRex,a:b\n", "available"),
        ({"category": {"Dgos": "Dogs"}}, '{"name": "Rex", "category": "Dgos"}\n', "available"),
        ({"status": {"ja": "Sold"}}, "name,category,status\nRex,Dogs,ja\n", "sold"),
        (
            {"status": {"nein": ""}, "category": {"Dgos": "Dogs"}},
            "name,category,status\nRex,Dgos,\nTom,Dogs,nein\n",
            "available",
        ),
    ],
)
def test_the_command_maps_exact_values(
    run_import: Import, pairs: dict[str, dict[str, str]], content: str, status: str
) -> None:
    assert run_import(content, *options(pairs), name="a.jsonl" if content[0] == "{" else "a.csv").status == 0
    assert catalogue() == [("Rex", "Dogs", status, None)]


def test_the_command_takes_a_known_reference(run_import: Import) -> None:
    PetFactory(external_reference="00042")
    assert run_import("external_reference,status\n42,sold\n", "--map-value=external_reference:42=00042").status == 0
    assert [(status, reference) for *_, status, reference in catalogue()] == [("sold", "00042")]


def test_a_category_becomes_itself_though_it_looks_like_a_typo(run_import: Import) -> None:
    assert run_import("name,category\nRex,Dgos\n", "--map-value=category:Dgos=Dgos").status == 0
    assert catalogue() == [("Rex", "Dgos", "available", None)]


def test_rejects_are_imported_with_the_same_values(run_import: Import, tmp_path: Path) -> None:
    PetFactory(external_reference="Z-9")
    rejects = tmp_path / "rejects.csv"
    pairs = {"category": {"Hunde": "Dogs", "Nager": ""}, "status": STATUSES}
    rows = "name,category,status,external_reference\nRex,Hunde,verkauft,Z-1\nTom,Hunde,verkauft,Z-1\n,Hunde,reserviert,\nMia,Nager,verkauft,Z-1\n"
    run_import(rows, *options(pairs), "--on-error", "skip", "--rejects", str(rejects))
    assert rejects.read_text("utf-8-sig").splitlines()[1:] == [
        "4,validation_failed,name is required.,,Hunde,reserviert,",
        "3,validation_failed,external_reference is the same animal as line 2. An animal can be in a file only once.,Tom,Dogs,sold,Z-1",
    ]
    corrected = rejects.read_text("utf-8-sig").replace(",,Hunde", ",Pip,Hunde").replace("Z-1", "Z-2")
    assert run_import(corrected, *options(pairs)).status == 0
    assert catalogue()[1:] == [
        ("Rex", "Dogs", "sold", "Z-1"),
        ("Pip", "Dogs", "pending", None),
        ("Tom", "Dogs", "sold", "Z-2"),
    ]


def test_rows_that_are_left_out_count_as_not_in_the_file(run_import: Import) -> None:
    """A supplier can list an animal a second time, among its offers."""
    PetFactory(name="Old", external_reference="A-1")
    rows = "name,category,external_reference\nRex,Offers,A-1\nRex,Dogs,A-2\nRex,Offers,A-2\n"
    result = run_import(rows, "--map-value=category:Offers=", "--missing=report")
    assert (result.status, "Missing in the file: 1 animal." in result.out) == (0, True)
    assert counts() == ("done", 3, 1, 0, 0, 0)
