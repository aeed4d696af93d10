"""The bundled example graph: scientists, where they lived and worked, and the countries around them."""
