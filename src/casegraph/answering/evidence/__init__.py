"""The kinds of evidence, one module each behind one interface: how evidence is explained."""
