"""Conversion of results into response models: functions of a snapshot."""
