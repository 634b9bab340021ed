"""Which parts the first page has for whom."""

from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from petstore_site.back_office.dashboard import animals, keys
from petstore_site.back_office.dashboard.activity import activity
from petstore_site.back_office.dashboard.attention import attention
from petstore_site.back_office.dashboard.tiles import of_days


def parts_for(user: User | AnonymousUser) -> dict[str, Any]:
    """Return what the page needs of each part that `user` can see. The others are None and cost no query."""
    stock = animals.in_stock() if user.has_perm("pets.view_pet") else None
    use = keys.in_use() if user.has_perms(("apikeys.view_apikey", "apikeys.view_keyusage")) else None
    return {
        "attention": attention(user),
        "activity": activity(user),
        "figures": of_days(stock, use),
        "stock": stock,
        "use": use,
    }
