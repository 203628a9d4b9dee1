/** Timestamps go out as ISO 8601 in UTC. */
export function showTime(at: Date | null): string | null {
  return at?.toISOString() ?? null
}
