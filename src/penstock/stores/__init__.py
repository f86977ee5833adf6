"""WHERE IT IS KEPT. One file (and one .sql) each; none knows another."""
