"""An icon for each category. The release before writes rows without one: the database fills in the paw."""

from django.db import migrations, models

ICONS = ["bird", "bug", "cat", "dog", "fish", "rabbit", "rat", "shrimp", "snail", "squirrel", "turtle", "worm"]


def icon() -> models.Field:
    return models.CharField(
        max_length=20,
        choices=[("", "Paw"), *((name, name.capitalize()) for name in ICONS)],
        blank=True,
        default="",
        db_default="",
        help_text="Beside the animals of the category, for staff only: the API does not show it.",
    )


class Migration(migrations.Migration):
    dependencies = [("categories", "0001_categories")]

    operations = [
        migrations.AddField("category", "icon", icon()),
        migrations.AddField("categorychange", "icon", icon()),
    ]
