"""The studies: one room each. `allocpool.campaign.registry` lists them."""
