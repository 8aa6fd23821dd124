"""What must run the model again and again: how much each head, layer and kind of attention counts for an answer."""
