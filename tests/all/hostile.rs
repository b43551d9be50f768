//! Peers that mean harm, or are set up wrongly. Both sides have to be able to read why they are turned away.
