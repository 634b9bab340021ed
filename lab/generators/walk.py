"""A walk with what datamodel-code-generator makes: list all pages, add an animal, get it. Pydantic checks each body."""

import json
import sys

import httpx
from models import NewPet, Pet, Pets

BASE, KEY, CATEGORY = sys.argv[1:]


def all_ids(client: httpx.Client) -> list[int]:
    """Return the IDs of all pages."""
    ids: list[int] = []
    url = f"{BASE}/pets?limit=7"
    while url:
        page = client.get(url).raise_for_status()
        ids += [pet.id for pet in Pets.model_validate_json(page.content).root]
        url = page.links.get("next", {}).get("url", "")
    return ids


with httpx.Client(headers={"Authorization": f"Bearer {KEY}"}) as client:
    ids = all_ids(client)
    new = NewPet(name="Señor 🐶", categoryId=int(CATEGORY))
    added = client.post(f"{BASE}/pets", json=new.model_dump(mode="json", exclude_unset=True)).raise_for_status()
    pet = Pet.model_validate_json(added.content)
    found = Pet.model_validate_json(client.get(f"{BASE}/pets/{pet.id}").raise_for_status().content)
    print(json.dumps({"ids": ids, "added": added.json(), "found": found.model_dump(mode="json")}))
