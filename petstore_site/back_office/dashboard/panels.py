"""Which parts the first page has for whom."""

from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from database import replica
from petstore_site.back_office.dashboard import animals, keys
from petstore_site.back_office.dashboard.activity import activity
from petstore_site.back_office.dashboard.attention import attention
from petstore_site.back_office.dashboard.tiles import of_days


def parts_for(user: User | AnonymousUser) -> dict[str, Any]:
    """Return what the page needs of each part that `user` can see. The others are None and cost no query."""
    work = {"attention": attention(user), "activity": activity(user)}  # what people act on is never behind
    return replica.read(lambda using: _figures(user, using)) | work


def _figures(user: User | AnonymousUser, using: str) -> dict[str, Any]:
    stock = animals.in_stock(using) if user.has_perm("pets.view_pet") else None
    return {
        "figures": of_days(user, stock, using),
        "stock": stock,
        "use": keys.busiest(using) if user.has_perms(("apikeys.view_apikey", "apikeys.view_keyusage")) else None,
    }
