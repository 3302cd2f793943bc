"""Results about trainable sinusoids that need no training: one file each, in corrected and general form."""
