"""What every test shares."""

from hypothesis import settings

# A slow machine is not a bug: examples are bounded by their number, never by the time one takes.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")
