"""From what a case base says to what goes over the wire: functions of a snapshot."""
