"""Scripts and small tables behind pages of the documentation; README.md lists their commands."""
