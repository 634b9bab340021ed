"""A supplier's sheet in the back office: its encoding, its header and its columns are matched, and remembered."""

import re
from typing import Any

import pytest
from django.test import Client

from categories.models import Category
from pets.models import ColumnProfile, ImportUpload, Pet
from tests.files.conftest import Import, book, catalogue, workbook
from tests.files.conftest import run_import as run_import  # noqa: PLC0414 - a fixture
from tests.files.test_admin_imports import ADD, confirm, ended, send
from tests.pets.office import member, told

pytestmark = pytest.mark.django_db(transaction=True)

TITLES = "Lime Tree Farm: delivery 47\nPrinted 20 Nov 2026\n\n"
ROWS = "No.;Pet name;Kind;State;Price\nLT-1;Żółwik;Dogs;sold;140,00\nLT-2;Ćwirek;Dogs;;35,00\nLT-3;Śnieżka;Dogs;\n"
DELIVERY = (TITLES + ROWS).encode("cp1250")
SHEET = [line.split(";") if line else [] for line in (TITLES + ROWS).splitlines()]
MATCHED = {f"column-{at}": name for at, name in enumerate(("external_reference", "name", "category", "status", ""))}
ANIMALS = [
    ("Żółwik", "Dogs", "sold", "LT-1"),
    ("Ćwirek", "Dogs", "available", "LT-2"),
    ("Śnieżka", "Dogs", "available", "LT-3"),
]


def asked(staff: Client, content: str | bytes, name: str = "delivery-47.csv") -> Any:
    """Send a file that is not clear; return the page that asks."""
    page = send(staff, content, name)
    assert page.request["PATH_INFO"].endswith("/columns/")
    return page


def given(page: Any) -> dict[str, str]:
    """Return what the form on the page would send."""
    form = page.content.decode().split('<form method="post" class="main-form', 1)[1]
    fields = {}
    for tag in re.findall(r"<input[^>]*>", form):
        of = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if of.get("type") not in {"radio", "checkbox"} or " checked" in tag:
            fields[of["name"]] = of.get("value", "on")
    for name, options in re.findall(r'<select name="([^"]*)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        first = re.search(r'<option value="([^"]*)"', options)
        fields[name] = (chosen or first)[1]  # type: ignore[index]
    return fields


def answer(staff: Client, page: Any, **fields: str) -> Any:
    return ended(staff, staff.post(page.request["PATH_INFO"], given(page) | fields))


def readings(page: Any) -> list[tuple[str, list[str]]]:
    return [(name, texts) for name, _, _, _, texts, _ in page.context["form"].encodings()]


@pytest.mark.parametrize("name", ["delivery-47.csv", "delivery-47.xlsx"])
def test_a_suppliers_sheet_becomes_animals(staff: Client, category: Category, name: str) -> None:
    page = asked(staff, DELIVERY if name.endswith("csv") else workbook(*SHEET), name)
    assert page.status_code == 200
    sent = given(page)
    assert {key: sent[key] for key in MATCHED} == MATCHED
    assert (sent["header"], sent["called"], sent["remember"]) == ("4", "Lime Tree Farm", "on")
    assert sent.get("encoding") == ("cp1250" if name.endswith("csv") else None)
    preview = answer(staff, page)
    assert preview.status_code == 200
    confirm(staff, preview)
    assert catalogue() == ANIMALS


@pytest.mark.parametrize(
    "text",
    [
        "No\0.;Pet name;Kind\nLT-1;Rex;Dogs\n",
        "No.;Pet name;Kind\nLT\0-1;Rex;Dogs\n",
        "Pet name;Kind;Price\nR\0ex;Dogs;1\n",
    ],
)
def test_a_nul_in_a_file_breaks_no_page(staff: Client, category: Category, text: str) -> None:
    assert answer(staff, asked(staff, text), remember="on").status_code == 200


@pytest.mark.parametrize("text", ['<p style="color:red;">Likes fish</p>', '{"age":3,"sex":"m"}', '3" long', "''"])
def test_quotes_in_cells_without_quotes_hide_no_column(staff: Client, category: Category, text: str) -> None:
    for delimiter in "\t|":
        rows = ["No.", "Pet name", "Kind", "Text"], *(["LT-1", "Rex", "Dogs", text], ["LT-2", "Max", "Dogs", text])
        page = asked(staff, "\n".join(map(delimiter.join, rows)))
        assert [column.title for column in page.context["form"].match.columns] == [*rows[0]]


def test_texts_of_many_lines_hide_no_column(staff: Client, category: Category) -> None:
    text = '"Likes:\n' + "fish, mice and\n" * 40 + '"'
    for delimiter in ",;":
        rows = ["No.", "Pet name", "Kind", "Text"], *(["LT-1", "Rex", "Dogs", text], ["LT-2", "Max", "Dogs", text])
        page = asked(staff, "\n".join(map(delimiter.join, rows)))
        assert [column.meaning for column in page.context["form"].match.columns] == [*[*MATCHED.values()][:3], ""]


def test_the_page_shows_how_names_would_read_where_all_bytes_fit(staff: Client, category: Category) -> None:
    page = asked(staff, DELIVERY)
    shown = dict(readings(page))
    assert shown["cp1250"] == ["Żółwik", "Ćwirek", "Śnieżka"]
    assert shown["cp1252"] == ["¯ó³wik", "Æwirek", "Œnie¿ka"]
    assert shown["cp1251"] == [text.encode("cp1250").decode("cp1251") for text in shown["cp1250"]]
    assert "cp932" not in shown
    first, more = page.content.decode().split('<details class="more-lines">')
    assert (first.count('name="encoding"'), more.count('name="encoding"')) == (3, len(shown) - 3)
    assert f"More: {len(shown) - 3} others can read this file" in more
    assert "The first line is our guess." in first


def test_only_names_that_encodings_read_differently_are_shown(staff: Client, category: Category) -> None:
    rows = "name,category\n" + "".join(f"Zoë {number},Dogs\n" for number in range(300)) + "Šimon,Dogs\n"
    page = asked(staff, rows.encode("iso8859-15"))
    shown = dict(readings(page))
    assert (shown["cp1252"], shown["iso8859-15"]) == (["¦imon", "Zoë 0", "Zoë 1"], ["Šimon", "Zoë 0", "Zoë 1"])
    confirm(staff, answer(staff, answer(staff, page, encoding="iso8859-15")))
    assert catalogue()[-1][0] == "Šimon"


TURKISH = ("Şeker", "Paşa", "Gümüş", "Ağaç")


def test_the_encoding_that_keeps_the_names_of_known_animals_comes_first(staff: Client, category: Category) -> None:
    for number, name in enumerate(TURKISH):
        Pet.objects.create(name=name, category=category, external_reference=f"T{number}")
    rows = "".join(f"T{number},{name},Dogs,sold\n" for number, name in enumerate(TURKISH))
    page = asked(staff, f"external_reference,name,category,status\n{rows}".encode("cp1254"))
    (first, names), *others = readings(page)
    assert (first, names, dict(others)["cp1252"]) == ("cp1254", ["Şeker", "Paşa", "Gümüş"], ["Þeker", "Paþa", "Gümüþ"])
    assert "Our guess keeps 4 of your 4 known names." in page.content.decode()
    assert answer(staff, page).context["work"]["found"]["altered"]["count"] == 0
    shown = answer(staff, answer(staff, page, encoding="cp1252"))
    assert shown.context["work"]["found"]["altered"]["count"] == 4
    confirm(staff, shown)
    assert [name for name, *_ in catalogue()] == [*TURKISH]


def test_encodings_that_read_all_of_a_file_the_same_share_a_line(staff: Client, category: Category) -> None:
    page = asked(staff, ("name,kind\n" + "Zoë,Dogs\n" * 300).encode("cp1252"))
    once = dict(readings(page))
    assert ("cp1252" in once, once.keys() & {"iso8859-15", "cp1250", "cp1254"}) == (True, set())
    same = page.context["form"].encodings()[0][3]
    assert f"Windows-1252, and {same} that read the same" in page.content.decode()
    answer(staff, page)
    profile = ColumnProfile.objects.get()
    profile.encoding = "cp1254"  # of the same line
    profile.save()
    assert send(staff, "name,kind\nChloë,Dogs\n".encode("cp1252")).context["run"].created == 1


def test_another_encoding_and_row_read_the_columns_again(staff: Client, category: Category) -> None:
    page = asked(staff, DELIVERY)
    again = answer(staff, page, encoding="cp1252", header="5", again="1")
    assert again.status_code == 200
    assert "The columns were read again." in again.content.decode()
    columns = [column.title for column, _ in again.context["form"].columns()]
    assert columns == ["LT-1", "¯ó³wik", "Dogs", "sold", "140,00"]
    assert given(again) | {"encoding": "cp1252", "header": "5"} == given(again)
    assert not Pet.objects.exists()


def test_another_row_without_reading_again_is_read_again_first(staff: Client, category: Category) -> None:
    """The columns that were sent are those of the former row."""
    page = answer(staff, asked(staff, DELIVERY), header="5")
    assert (page.status_code, "The columns were read again." in page.content.decode()) == (200, True)
    assert ImportUpload.objects.get().options.get("reading") is None


def test_what_was_matched_is_remembered_by_the_header(staff: Client, category: Category) -> None:
    answer(staff, asked(staff, DELIVERY), status="pending")
    profile = ColumnProfile.objects.get()
    assert (profile.name, profile.encoding, profile.saved_by) == ("Lime Tree Farm", "cp1250", "staff keeper")
    assert profile.header == ["no.", "pet name", "kind", "state", "price"]
    assert profile.columns == ["external_reference", "name", "category", "status", ""]
    assert profile.defaults == {"status": "pending"}
    next_one = ("Delivery 48\n" + ROWS.replace("LT-", "LT-9")).encode("cp1250")
    preview = send(staff, next_one, "delivery-48.csv")
    assert preview.status_code == 200
    confirm(staff, preview)
    assert catalogue()[1] == ("Ćwirek", "Dogs", "pending", "LT-92")


def test_a_profile_reads_utf_8_as_what_it_is(staff: Client, category: Category) -> None:
    answer(staff, asked(staff, DELIVERY))
    confirm(staff, send(staff, ROWS))
    assert catalogue() == ANIMALS


def test_profiles_are_listed_and_forgotten(staff: Client, category: Category) -> None:
    answer(staff, asked(staff, DELIVERY))
    profile = ColumnProfile.objects.get()
    assert "<strong>Lime Tree Farm</strong>" in staff.get(ADD).content.decode()
    gone = staff.post(f"{ADD}forget/{profile.pk}/", follow=True)
    assert told(gone) == ["Columns of “Lime Tree Farm” forgotten."]
    assert not ColumnProfile.objects.exists()
    assert asked(staff, DELIVERY).status_code == 200


def test_nothing_is_remembered_unless_it_is_wanted(staff: Client, category: Category) -> None:
    page = asked(staff, DELIVERY)
    fields = given(page)
    del fields["remember"]
    staff.post(page.request["PATH_INFO"], fields)
    assert not ColumnProfile.objects.exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"column-1": ""}, None),  # the rows have references
        ({"column-0": "", "column-1": ""}, "name is missing."),
        ({"column-4": "name"}, "name is there twice."),
        ({"called": ""}, "Say whose files these are"),
        ({"column-1": "colour"}, "Select a valid choice."),
    ],
)
def test_what_cannot_be_is_said_on_the_page(
    staff: Client, category: Category, fields: dict[str, str], sentence: str | None
) -> None:
    page = answer(staff, asked(staff, DELIVERY), **fields)
    assert page.status_code == (200 if sentence is None else 400)
    assert (sentence or "name is required.") in page.content.decode()
    assert not ColumnProfile.objects.filter(pk__gt=0).exists() or sentence is None


def test_a_sheet_of_many_columns_is_asked_about_the_first(staff: Client, category: Category) -> None:
    more = 1_500
    text = f"Pet name;Kind{''.join(f';Note {number}' for number in range(more))};status\nRex;Dogs{';x' * more};sold\n"
    confirm(staff, answer(staff, asked(staff, text)))
    assert catalogue() == [("Rex", "Dogs", "sold", None)]


def test_a_name_is_of_one_header(staff: Client, category: Category) -> None:
    answer(staff, asked(staff, DELIVERY))
    other = answer(staff, asked(staff, "Tier;Art\nRex;Dogs\n"), called="Lime Tree Farm")
    assert "&quot;Lime Tree Farm&quot; is the name of other columns." in other.content.decode()
    assert ColumnProfile.objects.count() == 1


def test_only_those_who_import_match_and_forget(staff: Client, category: Category) -> None:
    page = asked(staff, DELIVERY)
    profile = ColumnProfile.objects.create(name="Farm", header=["tier"], columns=["name"], saved_by="root")
    other = member("importer", "add_importrun", "view_pet")
    assert other.get(page.request["PATH_INFO"]).status_code == 404  # someone else sent it
    other = member("reader", "view_importrun", "view_pet")
    assert other.get(page.request["PATH_INFO"]).status_code == 403
    assert other.post(f"{ADD}forget/{profile.pk}/").status_code == 403
    assert ColumnProfile.objects.get() == profile


def farm() -> None:
    """Keep how a delivery is read."""
    header = ["no.", "pet name", "kind", "state", "price"]
    columns = ["external_reference", "name", "category", "status", ""]
    ColumnProfile.objects.create(name="Farm", header=header, columns=columns, encoding="cp1250", saved_by="root")


def test_the_command_uses_a_profile(run_import: Import, category: Category) -> None:
    farm()
    assert run_import(DELIVERY, "--profile", "Farm").status == 0
    changed = DELIVERY.replace(b";;35", b";sold;35").replace(b"\nPrinted", b"\n\n\nPrinted")
    assert run_import(changed, "--profile", "Farm").status == 0
    assert catalogue()[1] == ("Ćwirek", "Dogs", "sold", "LT-2")


def test_rejects_of_a_profile_are_read_by_it(run_import: Import, category: Category, tmp_path: Any) -> None:
    farm()
    rejects = tmp_path / "rejects.csv"
    wrong = DELIVERY.replace(b"sold", b"gone")
    assert run_import(wrong, "--profile", "Farm", "--rejects", str(rejects), "--on-error", "skip").status == 4
    assert rejects.read_text("utf-8-sig").splitlines()[0].endswith(";external_reference;name;category;status")
    assert run_import(rejects.read_text().replace("gone", "pending"), "--profile", "Farm").status == 0
    assert ("Żółwik", "Dogs", "pending", "LT-1") in catalogue()


def test_a_profile_must_be_there_and_fit(run_import: Import, category: Category) -> None:
    assert run_import(DELIVERY, "--profile", "Farm").error == 'There is no profile "Farm". Profiles: none.'
    farm()
    result = run_import("Tier;Art\nRex;Dogs\n", "--profile", "Farm")
    assert (result.status, result.error) == (
        3,
        'None of the first rows has the columns of "Farm": "no.", "pet name", "kind", "state", "price".',
    )
    for option in (["--header-row", "4"], ["--map", "No.=name"]):
        assert run_import(DELIVERY, "--profile", "Farm", *option).status == 2


def known(supplier: Client) -> None:
    confirm(supplier, answer(supplier, asked(supplier, ROWS)))
    Pet.objects.update(status="pending")


HEAD = "No.;Pet name;Kind;State;Price"
COMES = "delivery-47 has {}"
CHANGES = {
    "a column more": (f"{HEAD};Age", "LT-1;Żółwik;Dogs;sold;140;3", "a new column: Age"),
    "a column renamed": (
        HEAD.replace("No.", "Item"),
        "LT-1;Żółwik;Dogs;sold;1",
        "a new column: Item and no column no.",
    ),
    "a column fewer": ("No.;Pet name;Kind;Price", "LT-1;Żółwik;Dogs;1", "no column state"),
}
"""What a supplier changed: its header, a row, and what the page says is new."""


@pytest.mark.parametrize("change", CHANGES)
def test_only_what_a_supplier_changed_is_asked_and_kept(staff: Client, category: Category, change: str) -> None:
    known(staff)
    header, row, new = CHANGES[change]
    page = asked(staff, f"{header}\n{row}\n", "december.csv")
    assert page.context["title"] == COMES.format(new)
    assert [column.title for column, _ in page.context["form"].columns()] == re.findall("a new column: (\\w+)", new)
    confirm(staff, answer(staff, page, remember="on"))
    assert [(name, reference) for name, _, _, reference in catalogue()] == [(name, ref) for name, _, _, ref in ANIMALS]
    profile = ColumnProfile.objects.get()
    assert (profile.name, profile.header) == ("delivery-47", header.lower().split(";"))
    assert send(staff, f"{header}\n{row}\n\n", "january.csv").context["run"].unchanged == 1


def test_a_default_category_that_is_gone_is_asked_about(staff: Client, category: Category) -> None:
    Category.objects.create(name="Hares")
    page = asked(staff, "No.;Pet name\nLT-1;Rex\n")
    answer(staff, page, category="Hares")
    Category.objects.get(name="Hares").delete()
    page = asked(staff, "No.;Pet name\nLT-2;Max\n", "december.csv")
    assert page.context["title"] == COMES.format("a default category that is gone: Hares")
    assert "Category: none" in page.content.decode()
    confirm(staff, answer(staff, page, category="Dogs", remember="on"))
    assert catalogue() == [("Max", "Dogs", "available", "LT-2")]
    assert ColumnProfile.objects.get().defaults["category"] == "Dogs"


def test_fixed_rejects_of_a_supplier_with_a_default_category_are_asked_for_it(
    staff: Client, category: Category
) -> None:
    shown = answer(staff, asked(staff, "No.;Pet name\nLT-1;\n"), category="Dogs")
    fixed = bytes(shown.context["upload"].rejects).decode("utf-8-sig").replace("LT-1;", "LT-1;Rex")
    shown = send(staff, fixed, "delivery-47-rejected.csv")
    [columns] = re.findall('href="([^"]*)#id_category">Choose their category<', shown.content.decode())
    page = staff.get(columns)
    assert '<details class="card fold" open><summary>' in page.content.decode()
    confirm(staff, ended(staff, staff.post(columns, given(page) | {"category": "Dogs"})))
    assert catalogue() == [("Rex", "Dogs", "available", "LT-1")]


def test_a_file_of_ascii_changes_a_profile_but_not_its_encoding(staff: Client, category: Category) -> None:
    answer(staff, asked(staff, DELIVERY))
    answer(staff, asked(staff, f"{HEAD};Age\nLT-1;Rex;Dogs;sold;140;3\n"), remember="on")
    profile = ColumnProfile.objects.get()
    assert (profile.header[-1], profile.encoding) == ("age", "cp1250")
    preview = send(staff, f"{HEAD};Age\nLT-1;Żółwik;Dogs;sold;140;3\n".encode("cp1250"), "january.csv")
    confirm(staff, preview)
    assert catalogue() == ANIMALS[:1]
    answer(staff, asked(staff, f"{HEAD};Size\nLT-1;Żółwik;Dogs;sold;140;3\n"), remember="on")
    assert ColumnProfile.objects.get().encoding == "", "of UTF-8"


@pytest.mark.parametrize(
    ("titles", "values", "reference"),
    [
        ("Nr.;Artikelnr.", ["1;A-1", "2;A-2"], "Artikelnr."),
        ("Nr.;Artikelnr.", ["7;A-7", "9;A-9"], "Nr."),
        ("Nr.;SKU", ["1;1", "2;2"], "Nr."),
        ("SKU;Nr.", ["1;17"], "SKU"),
        ("external_reference;Nr.", ["1;77", "2;78"], "external_reference"),
    ],
)
def test_a_column_that_numbers_the_rows_is_not_the_reference_beside_one(
    staff: Client, category: Category, titles: str, values: list[str], reference: str
) -> None:
    rows = [f"{codes};Rex;Dogs" for codes in values]
    page = asked(staff, "\n".join([f"{titles};Name;Art", *rows, ";;Total;"]))
    columns = page.context["form"].match.columns
    assert [column.title for column in columns if column.meaning == "external_reference"] == [reference]


def test_a_change_can_be_for_this_time_only(staff: Client, category: Category) -> None:
    known(staff)
    confirm(staff, answer(staff, asked(staff, f"{HEAD};Age\nLT-1;Żółwik;Dogs;sold;140;3\n", "december.csv")))
    assert ColumnProfile.objects.get().header == HEAD.lower().split(";")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Kind;No.;Pet name;State;Price", "Dogs;LT-1;Żółwik;sold;140"),  # moved
        ("No.;Pet name;Kind;State", "LT-1;Żółwik;Dogs;sold"),  # without what was left out
    ],
)
def test_columns_that_moved_or_say_nothing_are_not_asked_about(
    staff: Client, category: Category, run_import: Import, header: str, row: str
) -> None:
    known(staff)
    assert send(staff, f"{header}\n{row}\n", "december.csv").context["run"].updated == 1
    assert run_import(f"{header}\n{row}\n", "--profile", "delivery-47").status == 0
    assert catalogue()[0] == ("Żółwik", "Dogs", "sold", "LT-1")


@pytest.mark.parametrize(
    "header", ["name;category;external_reference", "Tier;Art;Nummer", "No.;Tier;Art;Farbe;Gewicht"]
)
def test_another_supplier_is_not_taken_for_one_that_is_known(staff: Client, category: Category, header: str) -> None:
    known(staff)
    page = send(staff, f"{header}\n{';'.join('ABCDEFG'[: header.count(';') + 1])}\n", "other.csv")
    assert page.context["form"].match.known is None


def test_the_command_takes_no_new_or_missing_column_unseen(
    run_import: Import, staff: Client, category: Category
) -> None:
    known(staff)
    more, renamed, fewer = (f"{header}\n{row}\n" for header, row, _ in CHANGES.values())
    see = '"delivery-47" is known with other columns. Send it in the back office to update the profile.'
    for content, what in (
        (more, 'has new columns: "Age"'),
        (renamed, 'has new columns: "Item" and lacks "no."'),
        (fewer, 'lacks "state"'),
    ):
        result = run_import(content, "--profile", "delivery-47")
        assert (result.status, result.error.startswith(f"The file {what}. {see}")) == (3, True)
    assert run_import(more, "--profile", "delivery-47", "--ignore-unknown-columns").status == 0
    ours = more.replace("Age", "external_reference")
    assert (
        'has new columns: "external_reference"'
        in run_import(ours, "--profile", "delivery-47", "--ignore-unknown-columns").error
    )
    assert [reference for *_, reference in catalogue()] == ["LT-1", "LT-2", "LT-3"]


def test_animals_that_are_here_already_are_named_if_no_column_is_the_reference(
    staff: Client, category: Category
) -> None:
    known(staff)
    page = asked(staff, "Tier;Art\nŻółwik;Dogs\nRex;Dogs\n", "b.csv")
    assert page.context["form"].match.doubled == ["Żółwik"]
    assert "No column is the reference, but Żółwik is an animal here already." in page.content.decode()
    assert asked(staff, "Tier;Art;Nr.\nŻółwik;Dogs;1\n", "b.csv").context["form"].match.doubled == []


@pytest.mark.parametrize(
    ("values", "is_reference"),
    [
        (["ZM-01000", "ZM-01001"], True),
        (["978014", "978015"], True),
        (["a1", "b2"], True),
        (["978014", "97801"], False),
        (["ZM-1", "ZM-1"], False),
        (["ZM-1", ""], False),
        (["140,00", "35,00"], False),
        (["2026-11-21", "2026-11-22"], False),
        (["21.11.2026", "22.11.2026"], False),
        (["brown", "white"], False),
        (["12", "13"], False),
    ],
)
def test_a_column_of_different_codes_is_the_reference(
    staff: Client, category: Category, values: list[str], *, is_reference: bool
) -> None:
    one, two = values
    page = asked(staff, f"Tier;Art;Xyz\nRex;Dogs;{one}\nTom;Dogs;{two}\n")
    assert given(page)["column-2"] == ("external_reference" if is_reference else "")
    page = asked(staff, f"Xyz;Tier;Art;Nr.\n{one};Rex;Dogs;7\n{two};Tom;Dogs;8\n")
    assert given(page)["column-0"] == ""


@pytest.mark.parametrize(
    ("title", "meaning"),
    [
        ("Artikelnr.", "external_reference"),
        ("Art. No.", "external_reference"),
        ("Bezeichnung", "name"),
        ("Verfügbarkeit", "status"),
        ("Gattung", "category"),
    ],
)
def test_common_titles_are_guessed(staff: Client, category: Category, title: str, meaning: str) -> None:
    assert given(asked(staff, f"Zeile;{title}\nx;y\n"))["column-1"] == meaning


FARM_ROWS = [["No.", "Pet name", "Kind", "State"], ["LT-1", "Żółwik", "Dogs", "sold"], ["LT-2", "Ćwirek", "Dogs", None]]
COVER = [["Lime Tree Farm"], ["Delivery 47"]]
PRICES = [["No.", "Price"], ["LT-1", "140"]]
OLD = [FARM_ROWS[0], ["LT-0", "Łatka", "Dogs", "sold"]]


SHEETS = {"Old": OLD, "Info": COVER, "Prices": PRICES, "Animals": FARM_ROWS, "Blank": []}


def sheets(page: Any) -> tuple[list[Any], str]:
    """Return what is shown of each sheet, and which is chosen."""
    shown = [(number, each.name, each.is_hidden, *rest) for number, each, *rest in page.context["form"].sheets()]
    return shown, page.context["form"].match.how.sheet


def test_the_sheet_that_looks_like_a_table_of_animals_is_chosen(staff: Client, category: Category) -> None:
    page = asked(staff, book(SHEETS, hidden="Old"), "farm.xlsx")
    assert sheets(page) == (
        [
            (1, "Info", False, "2", 1, "Lime Tree Farm"),
            (2, "Prices", False, "2", 2, "No., Price"),
            (3, "Animals", False, "3", 4, "No., Pet name, Kind, State"),
            (4, "Old", True, "2", 4, "No., Pet name, Kind, State"),
        ],
        "Animals",
    )
    confirm(staff, answer(staff, page))
    assert [name for name, *_ in catalogue()] == ["Żółwik", "Ćwirek"]
    assert (ColumnProfile.objects.get().sheet, ImportUpload.objects.get().options["sheet"]) == ("Animals", "Animals")


def test_another_sheet_is_read_from_its_own_header(staff: Client, category: Category) -> None:
    other = [["Last month"], [], *OLD]
    page = asked(staff, book(SHEETS | {"Old": other}, hidden="Old"), "farm.xlsx")
    again = answer(staff, page, sheet="4")  # with script, "again" is sent too
    assert "The columns were read again." in again.content.decode()
    assert 'id="s-4" checked autofocus' in again.content.decode()
    assert (sheets(again)[1], given(again)["header"], given(again)["read"]) == ("Old", "3", ":4:3")
    confirm(staff, answer(staff, again))
    assert [name for name, *_ in catalogue()] == ["Łatka"]


@pytest.mark.parametrize("number", ["0", "5", "-1", "99999"])
def test_a_sheet_that_is_not_there_is_not_chosen(staff: Client, category: Category, number: str) -> None:
    page = asked(staff, book(SHEETS, hidden="Old"), "farm.xlsx")
    assert sheets(answer(staff, page, sheet=number, again="again"))[1] == "Animals"


def test_a_sheet_of_this_name_is_read_at_once_next_time(staff: Client, category: Category, run_import: Import) -> None:
    answer(staff, asked(staff, book(SHEETS, hidden="Old"), "farm.xlsx"))
    moved = {"New": COVER, "Old": OLD, "Animals": [*FARM_ROWS, ["LT-3", "Śnieżka", "Dogs", None]]}
    assert send(staff, book(moved), "next.xlsx").context["run"].created == 3
    assert run_import(book(moved), "--profile", "farm", name="next.xlsx").status == 0
    assert [name for name, *_ in catalogue()] == ["Żółwik", "Ćwirek", "Śnieżka"]
    page = asked(staff, book({"October": OLD, "November": FARM_ROWS}), "months.xlsx")
    assert (sheets(page)[1], page.context["form"].match.supplier) == ("October", "farm")


def test_a_sheet_beside_blank_ones_is_not_asked_about(staff: Client, category: Category) -> None:
    ours = [["name", "category"], ["Rex", "Dogs"]]
    for names in ({"Blank": [], "Data": ours}, {"Data": ours, "Blank": []}):
        assert send(staff, book(names), "a.xlsx").context["run"].created == 1
    page = asked(staff, book({"Blank": [], "Data": ours}, hidden="Data"), "a.xlsx")
    assert [name for _, name, *_ in sheets(page)[0]] == ["Data"]
    assert asked(staff, book({"Data": ours, "Other": ours}), "a.xlsx").status_code == 200


MERGED = [
    *[["Ref", "name", "category"], ["M-1", "Ada", "Cats"], ["M-2", "Bob"], ["M-3", "Cid"], ["M-4", "Dot", "Dogs"]],
    ["M-5", "Eve"],
]
OURS = [["external_reference", "name", "category"], *MERGED[1:]]


def merged_book(rows: list[list[str]] = MERGED) -> bytes:
    return book({"Sheet": rows}, merged="C2:C4 C5:C6")


@pytest.fixture
def cats(category: Category) -> Category:
    return Category.objects.create(name="Cats")


FILLED = ["Cats", "Cats", "Cats", "Dogs", "Dogs"]


@pytest.mark.parametrize("rows", [MERGED, OURS])
def test_merged_cells_are_filled_down_as_the_page_shows(
    staff: Client, cats: Category, rows: list[list[str]], run_import: Import
) -> None:
    page = asked(staff, merged_book(rows), "farm.xlsx")
    said = " ".join(page.content.decode().split())
    assert "Column C has merged cells: fill the first value down" in said
    assert "2 merged cells cover 5 rows. Unticked, 3 of these rows have no category, which is an error." in said
    shown = [cells[2:3] for _, cells in page.context["form"].rows()][1:]
    assert shown == [[(name, at in {1, 2, 4})] for at, name in enumerate(FILLED)]
    assert said.count('class="merged" title="Filled down from the merged cell"') == 3
    confirm(staff, answer(staff, page, remember="on", called="Farm"))
    assert [category for _, category, *_ in catalogue()] == FILLED
    assert send(staff, merged_book(rows), "next.xlsx").context["run"].unchanged == 5
    assert run_import(merged_book(rows), "--profile", "Farm", name="a.xlsx").status == 0


@pytest.mark.parametrize(
    ("merged", "columns", "lack"),
    [
        ("D2:D3", "Column D has", "1 merged cell covers 2 rows. Unticked, 1 of these rows has no status."),
        ("D2:D3 C2:C3", "Columns C, D have", "2 of these rows have no category or status, which is an error."),
    ],
)
def test_what_merged_cells_lack_is_said(
    staff: Client, category: Category, merged: str, columns: str, lack: str
) -> None:
    rows = [["No.", "Pet name", "Kind", "State"], ["F-1", "Rex", "Dogs", "sold"], ["F-2", "Max", "Dogs", "sold"]]
    has, said = asked(staff, book({"Sheet": rows}, merged=merged), "farm.xlsx").context["form"].merged()
    assert (has, said.endswith(lack)) == (columns, True)


def test_merged_cells_can_be_left_as_they_are(staff: Client, cats: Category) -> None:
    page = asked(staff, merged_book(), "farm.xlsx")
    sent = given(page) | {"category": "Dogs"}  # which takes no place of a merged cell
    del sent["fill_merged"]
    shown = ended(staff, staff.post(page.request["PATH_INFO"], sent))
    assert (shown.context["run"].created, shown.context["run"].rejected) == (2, 3)
    assert ColumnProfile.objects.get().fill_merged is False
    assert send(staff, merged_book(), "next.xlsx").context["run"].rejected == 3  # as the supplier's profile says
    upload = staff.get(f"{ADD}{shown.context['upload'].pk}/columns/")
    assert "fill_merged" not in given(upload)
    assert [cells[2:3] for _, cells in upload.context["form"].rows()][2] == []


def test_merged_cells_that_the_page_did_not_show_are_shown_first(staff: Client, cats: Category) -> None:
    page = asked(staff, merged_book(), "farm.xlsx")
    sent = {name: value for name, value in given(page).items() if name not in {"merged", "fill_merged"}}
    again = staff.post(page.request["PATH_INFO"], sent)
    shown = {"csrfmiddlewaretoken": sent["csrfmiddlewaretoken"], "merged": "1", "fill_merged": "on"}
    assert (again.status_code, given(again) | shown) == (200, sent | shown)
    assert "Check this too." in again.content.decode()
    left_out = answer(staff, again, **{"column-2": "", "category": "Dogs"})
    assert left_out.context["run"].created == 5


def test_a_known_supplier_that_begins_to_merge_cells_is_asked(staff: Client, cats: Category) -> None:
    answer(staff, asked(staff, book({"Sheet": [MERGED[0], MERGED[1]]}), "farm.xlsx"))
    page = asked(staff, merged_book(), "farm.xlsx")
    assert page.context["title"] == "farm has merged cells"
    confirm(staff, answer(staff, page, remember="on"))
    assert [category for _, category, *_ in catalogue()] == FILLED
    assert ColumnProfile.objects.get().fill_merged is True


SHOP = [("Bärbel", "ZM-1"), ("Süße", "ZM-2"), ("Günther", "ZM-3")]


@pytest.mark.parametrize(
    ("ours", "count"),
    [
        ([("Olive", "A-1"), ("Rex", None), ("Mia", "A-3")], 3),
        ([("Olive", "A-1"), ("Rex", None), ("Günther", "A-3")], 2),
        ([("Olive", "A-1"), ("Süße", None), ("Günther", "A-3")], 0),
        ([("Olive", "ZM-1"), ("Rex", "ZM-2"), ("Mia", "ZM-3")], 0),  # they were renamed
        ([], 0),
    ],
)
def test_ids_of_another_catalogue_are_left_out_and_stay_so(
    staff: Client, category: Category, ours: list[tuple[str, str | None]], count: int
) -> None:
    pets = [Pet.objects.create(name=name, category=category, external_reference=ref) for name, ref in ours]
    ids = [pet.pk for pet in pets] or [7, 8, 9]
    rows = "".join(f"{pk};{ref};{name};Dogs\n" for pk, (name, ref) in zip(ids, SHOP, strict=True))
    page = asked(staff, f"ID;Artikelnr.;Bezeichnung;Tierart\n{rows}", "shop.csv")
    said = " ".join(re.sub("<[^>]*>", " ", page.content.decode()).split())
    assert given(page)["column-0"] == ("" if count else "id")
    proof = f"{count} of its first 3 IDs belong to other animals here. {ids[0]} is Bärbel in the file and Olive here."
    assert (proof in said) == bool(count)
    if count:
        confirm(staff, answer(staff, page))
        assert catalogue()[: len(ours)] == [(name, "Dogs", "available", ref) for name, ref in ours]
        assert Pet.objects.count() == len(ours) + 3
        assert send(staff, f"ID;Artikelnr.;Bezeichnung;Tierart\n{rows}\n", "next.csv").context["run"].unchanged == 3


def test_ids_that_a_person_wants_are_taken(staff: Client, category: Category) -> None:
    pet = Pet.objects.create(name="Olive", category=category)
    page = asked(staff, f"ID;Bezeichnung;Tierart\n{pet.pk};Bärbel;Dogs\n99999999999999999999;Tom;Dogs\n", "shop.csv")
    assert given(page)["column-0"] == "id"  # one of two
    page = asked(staff, f"ID;Bezeichnung;Tierart\n{pet.pk};Bärbel;Dogs\n", "shop.csv")
    assert given(page)["column-0"] == ""
    confirm(staff, answer(staff, page, **{"column-0": "id"}))
    assert catalogue() == [("Bärbel", "Dogs", "available", None)]
