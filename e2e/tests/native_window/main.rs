//! Journeys of native windows.
