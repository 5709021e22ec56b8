"""The studies: one package each. `allocpool.campaign.registry` lists them."""
