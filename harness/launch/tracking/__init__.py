"""The ledger's projection into MLflow, which people browse, and its server. The only imports of mlflow."""
