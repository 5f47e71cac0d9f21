/** Bounds of uploads in parts, as clients know them: every part but the last has one size within these. */
export const multipartLimits = {
  minBytes: 5 * 1024 * 1024,
  maxBytes: 500 * 1024 * 1024,
  maxParts: 10_000,
} as const;
