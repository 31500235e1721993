"""A loaded machine makes a property slow, not wrong: no deadlines."""

from hypothesis import settings

settings.register_profile("nnirp", deadline=None)
settings.load_profile("nnirp")
