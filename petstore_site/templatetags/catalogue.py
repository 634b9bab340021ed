"""What the templates of apps that know no animals show of them."""

from django import template

from petstore_site.back_office.added import added_by

register = template.Library()
register.simple_tag(added_by)
