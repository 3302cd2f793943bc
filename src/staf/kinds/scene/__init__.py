"""Everything about scenes: posed photos, rays, radiance fields and their views."""
