/** The first `count` entries of a list that is newest first, turned around: oldest first. */
export async function newest<Entry>(list: AsyncIterable<Entry>, count: number): Promise<Entry[]> {
  const found: Entry[] = []
  for await (const entry of list) {
    found.unshift(entry)
    if (found.length === count) break
  }
  return found
}
