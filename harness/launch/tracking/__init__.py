"""What people browse: the ledger's projection into MLflow, and its server. The only imports of mlflow."""
